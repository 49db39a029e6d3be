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
  settled: readonly { readonly step: StepId; readonly outcome: StepOutcome }[];
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
  const look = lookIn(s);
  const skip = skipped(s, look);
  const skippedIds = new Set(skip.map((one) => one.step));
  const start: StepId[] = [];
  let slots = freeSlots(s);
  for (const id of s.waiting) {
    if (slots === 0) break;
    if (skippedIds.has(id)) continue;
    if (!look.needs(id).every((need) => look.outcome(need) === 'completed')) continue;
    start.push(id);
    slots -= 1;
  }
  return { start, skip };
}

const byId = new WeakMap<readonly StepPlan[], ReadonlyMap<StepId, StepPlan>>();

/** A step of a plan by its id. Plans do not change, so each is indexed once. */
export function planOf(plan: readonly StepPlan[], id: StepId): StepPlan | undefined {
  let index = byId.get(plan);
  if (index === undefined) {
    index = new Map(plan.map((step) => [step.id, step]));
    byId.set(plan, index);
  }
  return index.get(id);
}

interface Look {
  needs(id: StepId): readonly StepId[];
  outcome(id: StepId): StepOutcome | undefined;
}

/** This is asked at every settling: outcomes are indexed only when somebody needs one. */
function lookIn({ plan, settled }: Scheduling): Look {
  let outcomes: ReadonlyMap<StepId, StepOutcome> | null = null;
  return {
    needs: (id) => planOf(plan, id)?.needs ?? [],
    outcome: (id) => (outcomes ??= new Map(settled.map((one) => [one.step, one.outcome]))).get(id),
  };
}

function skipped(s: Scheduling, look: Look): Skip[] {
  if (!s.settled.some((one) => dooms(one.outcome))) return [];
  const found = new Map<StepId, Skip>();
  const failed = (need: StepId): boolean => found.has(need) || dooms(look.outcome(need));
  for (let before = -1; before !== found.size;) {
    before = found.size;
    for (const id of s.waiting) {
      if (found.has(id)) continue;
      const because = look.needs(id).find(failed);
      if (because !== undefined) found.set(id, { step: id, because });
    }
  }
  return [...found.values()];
}

/** Whoever needs a step with this outcome never starts. */
const dooms = (outcome: StepOutcome | undefined): boolean =>
  outcome !== undefined && outcome !== 'completed' && outcome !== 'paused';
