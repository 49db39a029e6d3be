import type { Instant, Member, ProofLevel, SentSignal, StepId, Verdict } from '../../machines/protocol.ts';
import { type OwnerState, ownerOfUnwritten } from '../client/owner.ts';
import { type NotFound, type Place, find } from '../client/place.ts';
import { type Unreadable, statusIn } from '../client/read.ts';
import { type Sweeper, bootId, createSweeper, hostPlatform } from '../process/index.ts';
import { type Redactor, type RunDir, createRedactor, readJournal, readOwner, removeActive } from '../record/index.ts';
import { endRecorded } from './end-recorded.ts';
import { now } from './kit.ts';
import { type Launch, launchesIn, tracesOf } from './recorded.ts';
import { definedOnly } from './start.ts';

export interface LookAgainOptions extends Place {
  /** End whoever is there: TERM, a grace, KILL, each only while its identity is the one that was found. Default: nobody is signalled. */
  end?: boolean;
  /** From TERM to KILL, in milliseconds. @default 3_000 */
  graceMs?: number;
}

/** What there is of one attempt now. */
export interface AttemptAgain {
  step: StepId;
  attempt: number;
  /** `gone` also when those are there who were to stay. */
  verdict: Verdict;
  level: ProofLevel;
  /** Who is still there and was not to be. */
  members: Member[];
  /** Who is there by the wish of the plan, or of the program itself. */
  kept: Member[];
  /** What was sent; with `end` only. */
  signals: SentSignal[];
  /** Why it is unknown, or why nobody had to look. */
  reason?: string;
}

export interface SeenAgain {
  type: 'looked';
  id: string;
  at: Instant;
  /** `running`: what is there is as it should be. `owner-lost`: its runner went before the end was on record. */
  run: 'running' | 'ended' | 'owner-lost';
  /** Of all attempts together; `not-started`: nothing was launched. */
  verdict: Verdict | 'not-started';
  attempts: AttemptAgain[];
  /** Why it is unknown, where that is not an attempt's. */
  reason?: string;
}

export type LookedAgain =
  | SeenAgain
  /**
   * `running`: it is to be stopped, not ended from outside. `elsewhere`: its processes are on another machine.
   * `no-identity`: this system does not tell one process from another with the same number, so nobody can be ended.
   */
  | { type: 'refused'; reason: 'running' | 'elsewhere' | 'no-identity'; message: string }
  | Unreadable
  | NotFound;

/**
 * Looks again for everything that a run has started, by its record: a search now for every launch of its journal. For
 * a run that ended without proof, that let somebody stay, or whose runner was killed.
 *
 * Signals nobody unless `end` is given; those who were to stay are ended then, too. When nobody is left of a run that has
 * ended, its marker in `active/` is removed. A run whose runner was lost keeps it: its end is not on record. Nothing
 * else of the record changes. Not found is what the proof could not find, and who belonged by the group alone of
 * a leader that has gone since.
 *
 * @throws CoxswainError `root-refused`
 */
export async function lookAgain(idOrPrefix: string, options: LookAgainOptions = {}): Promise<LookedAgain> {
  const found = find(idOrPrefix, options);
  if (found.type !== 'found') return found;
  const { id, dir } = found;
  const status = statusIn(dir);
  if (status.type === 'newer' || status.type === 'missing' || status.type === 'ambiguous') return status;
  // A status that cannot be read does not hide who owns the run.
  const owner = status.type === 'corrupt' ? ownerOfUnwritten(dir, new Date(0).toISOString()) : status.owner;
  const { end = false, graceMs = 3_000 } = options;
  const refused = refusalOf(owner, end);
  if (refused !== null) return refused;

  const { records, corrupt } = readJournal(dir.journal, { maxBytes: Number.MAX_SAFE_INTEGER });
  const looking: Looking = {
    dir,
    running: owner === 'alive',
    graceMs: end ? graceMs : null,
    sweeper: createSweeper({ now: () => performance.now() }),
    redact: createRedactor(definedOnly(options.env ?? process.env)),
  };
  const attempts = await Promise.all(launchesIn(records).map((launch) => lookAt(launch, looking)));
  const gap = corrupt.length > 0 ? `${corrupt.length} lines of the journal cannot be read` : null;
  const lack = records.length === 0 && status.type !== 'unwritten' ? 'the journal is missing' : null;
  const seen = summarized(attempts, gap ?? lack);
  const run = RUN[owner];
  if (run === 'ended' && (seen.verdict === 'gone' || seen.verdict === 'not-started')) removeActive(dir);
  return { type: 'looked', id, at: now(), run, ...seen };
}

const RUN = {
  alive: 'running',
  released: 'ended',
  lost: 'owner-lost',
  // Refused before.
  elsewhere: 'running',
} as const satisfies Record<OwnerState, SeenAgain['run']>;

function refusalOf(owner: OwnerState, end: boolean): Extract<LookedAgain, { type: 'refused' }> | null {
  if (owner === 'elsewhere') {
    return { type: 'refused', reason: 'elsewhere', message: 'the run is on another machine: look there' };
  }
  if (!end) return null;
  if (owner === 'alive') {
    return { type: 'refused', reason: 'running', message: 'the run goes on: stop it, and its runner ends everything' };
  }
  if (hostPlatform().list === 'proc') return null;
  const message = 'this system does not tell when a process started, so a number may be another process by now';
  return { type: 'refused', reason: 'no-identity', message };
}

interface Looking {
  dir: RunDir;
  running: boolean;
  /** Null: nobody is ended. */
  graceMs: number | null;
  sweeper: Sweeper;
  redact: Redactor;
}

async function lookAt(launch: Launch, { dir, running, graceMs, sweeper, redact }: Looking): Promise<AttemptAgain> {
  const { step, attempt, epoch } = launch;
  const nobody = { step, attempt, members: [], kept: [], signals: [] };
  const boot = readOwner(dir, epoch)?.bootId ?? bootId();
  if (boot !== bootId()) {
    return { ...nobody, verdict: 'gone', level: 'searched', reason: 'the machine was started anew since' };
  }
  const traces = await tracesOf(dir, launch);
  const look = await sweeper.look(traces.target);
  const { level } = look;
  if (look.type === 'blind') return { ...nobody, verdict: 'unknown', level, reason: look.reason };
  const named = (members: readonly Member[]): Member[] =>
    members.map((member) => ({ ...member, command: redact(member.command) }));
  // In a run that goes on a group may be empty because its program is about to enter.
  const tidy = (): void => void (running || traces.target.container?.remove());
  if (look.members.length === 0) {
    tidy();
    return { ...nobody, verdict: 'gone', level };
  }
  if (graceMs === null) {
    const there = named(look.members);
    return traces.keeps
      ? { ...nobody, verdict: 'gone', level, kept: there }
      : { ...nobody, verdict: 'survived', level, members: there };
  }
  const { verdict, signals, reason, ...proof } = await endRecorded(traces, sweeper, graceMs);
  if (verdict === 'gone') tidy();
  const why = reason === undefined ? {} : { reason };
  return { ...nobody, verdict, level: proof.level, members: named(proof.members), signals, ...why };
}

function summarized(
  attempts: AttemptAgain[],
  unread: string | null,
): Pick<SeenAgain, 'verdict' | 'attempts' | 'reason'> {
  const verdicts = new Set(attempts.map(({ verdict }) => verdict));
  if (verdicts.has('survived')) return { verdict: 'survived', attempts };
  if (unread !== null) return { verdict: 'unknown', attempts, reason: unread };
  if (verdicts.has('unknown')) return { verdict: 'unknown', attempts };
  return { verdict: attempts.length === 0 ? 'not-started' : 'gone', attempts };
}
