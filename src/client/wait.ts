import { basename } from 'node:path';
import type { Owner, RunOutcome, Status } from '../../machines/protocol.ts';
import { type RunDir, lastEpoch, readOwner } from '../record/light.ts';
import { exitCodeOf } from '../runtime/exit.ts';
import { Bell } from './bell.ts';
import { answerLate } from './late.ts';
import { hasEnded } from './owner.ts';
import { type NotFound, type Place, find } from './place.ts';
import { type Unreadable, statusIn } from './read.ts';

export interface WaitOptions extends Place {
  /** Milliseconds. Default: none, as long as it takes. */
  timeoutMs?: number | undefined;
  /** Aborting it ends the waiting; the run is left alone. */
  signal?: AbortSignal | undefined;
}

export type Waited =
  | {
      type: 'ended';
      id: string;
      dir: RunDir;
      status: Status & { state: RunOutcome['state'] };
      /** 0 completed, 1 failed, 3 stopped, 4 paused. */
      exitCode: number;
    }
  /** It goes on. `status` is the last one read; null where there is none yet. */
  | { type: 'timed-out' | 'aborted'; id: string; dir: RunDir; status: Status | null }
  /** The run directory was removed meanwhile. */
  | { type: 'gone'; id: string; directory: string }
  /** The process that ran it is dead and the run has not ended. */
  | { type: 'owner-lost'; id: string; dir: RunDir; status: Status | null; owner: Owner | null }
  | Unreadable
  | NotFound;

/** A look at intervals, for when the system does not tell of changes. */
const POLL_MS = 500;

/**
 * Waits for the end of a run, and returns within a second of it. A run that has ended already returns at once.
 * A run owned by another machine is waited for as long as its status says that it goes on: its owner cannot be seen.
 *
 * @throws CoxswainError `root-refused`
 */
export async function wait(idOrPrefix: string, options: WaitOptions = {}): Promise<Waited> {
  const { timeoutMs = Number.POSITIVE_INFINITY, signal } = options;
  const found = find(idOrPrefix, options);
  if (found.type !== 'found') return found;
  const { id, dir } = found;
  const end = performance.now() + timeoutMs;
  const bell = new Bell(dir.path, (name) => name === basename(dir.status) || name === basename(dir.path));
  try {
    for (;;) {
      const seen = lookAt(dir);
      if (seen.type !== 'goes-on') return seen;
      if (signal?.aborted === true) return { type: 'aborted', id, dir, status: seen.status };
      const left = end - performance.now();
      if (left <= 0) return { type: 'timed-out', id, dir, status: seen.status };
      await bell.wait(Math.min(left, POLL_MS), signal);
    }
  } finally {
    bell.close();
  }
}

type Ended = Exclude<Waited, { type: 'timed-out' | 'aborted' } | NotFound>;

/** Whether a run that was there goes on, and if not, why not. */
export function lookAt(dir: RunDir): Ended | { type: 'goes-on'; status: Status | null } {
  const { id } = dir;
  const reading = statusIn(dir);
  switch (reading.type) {
    case 'ok': {
      const { status, owner } = reading;
      if (hasEnded(status)) {
        answerLate(dir);
        return { type: 'ended', id, dir, status, exitCode: exitCodeFor(status) };
      }
      return owner === 'lost'
        ? { type: 'owner-lost', id, dir, status, owner: status.owner }
        : { type: 'goes-on', status };
    }
    case 'unwritten':
      return reading.owner === 'lost'
        ? { type: 'owner-lost', id, dir, status: null, owner: readOwner(dir, lastEpoch(dir)) }
        : { type: 'goes-on', status: null };
    case 'missing':
    case 'ambiguous':
      return { type: 'gone', id, directory: dir.path };
    case 'corrupt':
    case 'newer':
      return reading;
  }
}

function exitCodeFor({ state, cause, partial }: Status & { state: RunOutcome['state'] }): number {
  const known = cause ?? { type: 'completed', at: '' };
  return exitCodeOf({ outcome: { state, cause: known, partial: partial ?? false }, recorded: true });
}
