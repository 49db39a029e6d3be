import { Folding } from './fold.ts';
import type { JournalRecord, PathStep, StepId } from './protocol.ts';

/**
 * The path of states and events that led here, from the journal: each change of state of the run and of its steps with
 * the event that made it, and what would have changed something and did not. `step`: only of this one.
 */
export function why(records: Iterable<JournalRecord>, { step: only }: { step?: StepId } = {}): PathStep[] {
  const folding = new Folding();
  const path: PathStep[] = [];
  for (const record of records) {
    const step = 'step' in record ? record.step : undefined;
    const stateOf = (): string | null => (step === undefined ? folding.run : folding.step(step));
    const from = stateOf();
    folding.take(record);
    const to = stateOf();
    if (only !== undefined && step !== only) continue;
    if (to === null || (from === to && !isTelling(record))) continue;
    path.push({
      seq: record.seq,
      at: record.ts,
      ...(step === undefined ? {} : { step }),
      from,
      to,
      record,
    });
  }
  return path;
}

/** Changes no state, and says why another one was not reached, or who has asked for what. */
function isTelling({ type }: JournalRecord): boolean {
  return type === 'cause.late' || type === 'command.answered' || type === 'attempt.closed';
}
