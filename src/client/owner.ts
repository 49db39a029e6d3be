import type { Owner, RunOutcome, Status } from '../../machines/protocol.ts';
import { type Standing, standingOf } from '../host/light.ts';
import { type RunDir, lastEpoch, readOwner } from '../record/light.ts';

/**
 * Who looks after a run. `released`: it has ended, nobody has to. `alive`: a process on this machine. `lost`: that
 * process is gone and the run has not ended. `elsewhere`: another machine's, which cannot be looked at from here.
 */
export type OwnerState = 'released' | 'alive' | 'lost' | 'elsewhere';

/** A run directory without a status is believed to be just beginning for so long. */
const BEGINNING_MS = 10_000;

const ENDED: ReadonlySet<string> = new Set<RunOutcome['state']>(['completed', 'failed', 'stopped', 'paused']);

/** Whether a status is that of a run that has ended: nothing of it goes on. */
export function hasEnded(status: Status): status is Status & { state: RunOutcome['state'] } {
  return ENDED.has(status.state);
}

export function ownerOf(status: Status): OwnerState {
  return hasEnded(status) ? 'released' : lookFor(status.owner);
}

/** The same for a run that has no status yet. `now` in milliseconds since 1970. */
export function ownerOfUnwritten(dir: RunDir, since: string, now = Date.now()): OwnerState {
  const owner = readOwner(dir, lastEpoch(dir));
  if (owner !== null) return lookFor(owner);
  return now - Date.parse(since) > BEGINNING_MS ? 'lost' : 'alive';
}

const AS_OWNER = {
  alive: 'alive',
  dead: 'lost',
  // Nothing of before is left.
  rebooted: 'lost',
  elsewhere: 'elsewhere',
} as const satisfies Record<Standing, OwnerState>;

const lookFor = (owner: Owner): OwnerState => AS_OWNER[standingOf(owner)];
