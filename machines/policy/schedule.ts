import type { StepId, StepOutcome, StepPlan } from '../protocol.ts';

/**
 * Live actors one parent may hold: XState copies the children map at each spawn, so the cost of a child grows
 * with their number.
 */
export const MAX_LIVE = 64;

export interface Scheduling {
  plan: readonly StepPlan[];
  /** Ids not started and not settled, in plan order. */
  waiting: readonly StepId[];
  live: readonly StepId[];
  /** Live steps whose slot is free already: their process has gone, the proof is still being made. */
  released: readonly StepId[];
  /** Of the settled steps. */
  outcomes: ReadonlyMap<StepId, StepOutcome>;
  concurrency: number;
}

export interface Skip {
  step: StepId;
  /** The need that did not complete. */
  because: StepId;
}

/** How many more steps may start now. */
export const freeSlots = (s: Scheduling): number =>
  Math.max(0, Math.min(s.concurrency - (s.live.length - s.released.length), MAX_LIVE - s.live.length));

/**
 * Which waiting steps can start now, in plan order and as many as there are slots, and which never can.
 * A skip skips its dependents too: one call finds them all, since needs point backwards or are found in rounds.
 */
export function schedule(s: Scheduling): { start: StepId[]; skip: Skip[] } {
  const needs = new Map(s.plan.map((step) => [step.id, step.needs]));
  const skip = skipped(s, needs);
  const skippedIds = new Set(skip.map((one) => one.step));
  const start: StepId[] = [];
  let slots = freeSlots(s);
  for (const id of s.waiting) {
    if (slots === 0) break;
    if (skippedIds.has(id)) continue;
    if (!(needs.get(id) ?? []).every((need) => s.outcomes.get(need) === 'completed')) continue;
    start.push(id);
    slots -= 1;
  }
  return { start, skip };
}

function skipped(s: Scheduling, needs: ReadonlyMap<StepId, readonly StepId[]>): Skip[] {
  const found = new Map<StepId, Skip>();
  const failed = (need: StepId): boolean => {
    const outcome = s.outcomes.get(need);
    return found.has(need) || (outcome !== undefined && outcome !== 'completed' && outcome !== 'paused');
  };
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const id of s.waiting) {
      if (found.has(id)) continue;
      const because = (needs.get(id) ?? []).find(failed);
      if (because !== undefined) found.set(id, { step: id, because });
    }
  }
  return [...found.values()];
}
