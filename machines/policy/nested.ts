import type { NestedSeen, NestedStatus, RunState, Status } from '../protocol.ts';

/** Most nested runs that are known of one run; a plan can allow no more in all. */
export const MOST_NESTED = 256;
/** Most that are shown. */
const MOST_SHOWN = 16;

export interface SeenNested {
  known: NestedSeen[];
  /** Those that were not known, or had ended and go on. */
  started: NestedSeen[];
  ended: NestedSeen[];
}

/**
 * What is known of the nested runs after another look. They are other people's files, read in any order: what is older
 * than what is known changes nothing, and what has ended stays so, unless it was resumed by a later owner.
 */
export function seeNested(known: readonly NestedSeen[], seen: readonly NestedSeen[]): SeenNested {
  const after = new Map(known.map((one) => [one.id, one]));
  const started: NestedSeen[] = [];
  const ended: NestedSeen[] = [];
  for (const said of seen) {
    const one = hasEnded(said) ? withoutAsks(said) : said;
    const before = after.get(one.id);
    if (before === undefined ? after.size >= MOST_NESTED : !isNews(before, one)) continue;
    after.set(one.id, one);
    const wasLive = before !== undefined && !hasEnded(before);
    const isOver = hasEnded(one);
    if (!wasLive && (before === undefined || !isOver)) started.push(one);
    if (isOver) ended.push(one);
  }
  return { known: [...after.values()], started, ended };
}

/** Nobody waits for an answer in a run that has ended. */
function withoutAsks({ asks: _asks, ...rest }: NestedSeen): NestedSeen {
  return rest;
}

function isNews(before: NestedSeen, after: NestedSeen): boolean {
  if (after.epoch !== before.epoch) return after.epoch > before.epoch;
  if (hasEnded(before)) return false;
  return after.seq === before.seq ? after.updatedAt > before.updatedAt : after.seq > before.seq;
}

/** The part of a status; nothing where there is none. */
export function nestedOf(known: NestedStatus[]): Pick<Status, 'nested'> {
  if (known.length === 0) return {};
  const asks = known.reduce((sum, one) => sum + (one.asks ?? 0), 0);
  return { nested: { total: known.length, ...(asks === 0 ? {} : { asks }), runs: showNested(known) } };
}

/** What the journal says of one that goes on. */
export const goingOn = (where: Pick<NestedStatus, 'id' | 'step' | 'attempt' | 'depth'>): NestedStatus => ({
  ...where,
  state: 'running',
  name: '',
  counts: {},
  updatedAt: '',
});

/** Without what changes while the journal says nothing. */
export function stableNested(one: NestedStatus): NestedStatus {
  const { id, step, attempt, depth } = one;
  return hasEnded(one) ? { ...one, updatedAt: '' } : goingOn({ id, step, attempt, depth });
}

/** Those that are shown, in the order in which they were known: the live ones, and of the others the last. */
export function showNested<T extends Pick<NestedStatus, 'state'>>(known: readonly T[]): T[] {
  if (known.length <= MOST_SHOWN) return [...known];
  const live = known.filter((one) => !hasEnded(one)).slice(0, MOST_SHOWN);
  const room = MOST_SHOWN - live.length;
  const ended = room === 0 ? [] : known.filter((one) => hasEnded(one)).slice(-room);
  const shown = new Set([...live, ...ended]);
  return known.filter((one) => shown.has(one));
}

const ENDED: Record<RunState, boolean> = {
  queued: false,
  running: false,
  stopping: false,
  finalizing: false,
  completed: true,
  failed: true,
  stopped: true,
  paused: true,
};

const hasEnded = ({ state }: Pick<NestedStatus, 'state'>): boolean => ENDED[state];
