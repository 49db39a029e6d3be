import type { ErrorCode } from '../client.ts';

/** What the exit codes of the command line mean. 1, 3 and 4 are the run's own: failed, stopped, paused. */
export const EXIT = {
  ok: 0,
  failed: 1,
  usage: 2,
  /** A wait timed out, or what was asked for exists only after the end. */
  notEnded: 5,
  /** Corrupt, written by a newer version, or the owner is lost. */
  unreadable: 6,
  missing: 7,
  /** A command was refused, or got no verdict in time. */
  refused: 8,
  /** Done, but the record or the proof is incomplete. */
  incomplete: 9,
  interrupted: 130,
} as const;

const CODES: Record<ErrorCode, number> = {
  'plan-invalid': EXIT.usage,
  'config-invalid': EXIT.usage,
  'root-refused': EXIT.usage,
  'run-exists': EXIT.usage,
  'bad-id': EXIT.usage,
  'nest-refused': EXIT.usage,
  'run-ambiguous': EXIT.usage,
  'record-failed': EXIT.failed,
  'runner-start': EXIT.failed,
  'run-missing': EXIT.missing,
};

export function exitCodeForError(code: ErrorCode): number {
  return CODES[code];
}
