/**
 * Times in milliseconds, with where they come from. "Reference" is the measured behaviour of the runner this one
 * replaces; "measured" is a figure taken for this project.
 */

/** After the agent's own end record, how long its process may take to exit (reference: 1,000). */
export const EXIT_GRACE = 1_000;
/** After that record, how long the background review of a child is waited for (reference: 120,000). */
export const REVIEW_LIMIT = 120_000;
/** The child port drains in 8,000 at most; this is the net under a port that never says so. */
export const DRAIN_LIMIT = 10_000;
/** After the tree is gone, how long the exit and the last bytes may take to be reported. */
export const REAP_LIMIT = 10_000;
/** From SIGKILL to the look that verifies it (reference: 1,000). */
export const KILL_VERIFY = 1_000;
/** A search that takes longer than this has failed; a search of 700 processes takes about 15 (measured). */
export const LOOK_LIMIT = 10_000;
/** Looks that may find somebody before the survivors are named. */
export const MAX_ROUNDS = 6;
/** Finalizing: first wait after a record could not be written, its growth, and when to give up. */
export const RETRY_FIRST = 250;
export const RETRY_MAX = 8_000;
export const RETRY_TOTAL = 60_000;
/** Without progress for so long an attempt is called quiet (reference: idle attention after 60,000). */
export const QUIET_AFTER = 60_000;
/** An agent that can be told is told to come to an end: so long before it, but not in the first half of the time. */
export const WRAP_UP = 60_000;
/** A command file that is no JSON yet may still be being written by hand: until it is so old (reference: none). */
export const UNFINISHED = 250;
/** Where a plan has messages recovered: how long nothing may be heard of one that was handed over (reference: 3,000). */
export const RECOVER_AFTER = 3_000;
