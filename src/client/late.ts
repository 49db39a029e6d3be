import { existsSync } from 'node:fs';
import { standingOf } from '../host/light.ts';
import { answerLeftovers, hasLeftovers } from '../inbox/late/index.ts';
import { type RunDir, lastEpoch, readOwner, readStatus } from '../record/light.ts';
import { hasEnded } from './owner.ts';

/**
 * Answers what was dropped into the inbox of a run after its end: nobody else does it. For a run that has not ended, is another
 * machine's, or whose owner is not known, nothing is done.
 */
export function answerLate(dir: RunDir): void {
  if (hasLeftovers(dir)) answerLeftovers(dir, () => isOver(dir));
}

function isOver(dir: RunDir): boolean {
  const reading = readStatus(dir);
  if (reading.type !== 'ok' || !hasEnded(reading.value) || !existsSync(dir.closed)) return false;
  const { epoch } = reading.value;
  // Who claims the next epoch takes the run up again.
  if (lastEpoch(dir) !== epoch) return false;
  const owner = readOwner(dir, epoch);
  return owner !== null && standingOf(owner) !== 'elsewhere';
}
