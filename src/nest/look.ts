import { type Stats, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { z } from 'zod';
import type { NestedSeen, RunState, StepState } from '../../machines/protocol.ts';
import { bootId, isSame } from '../process/identity/index.ts';
import { type NestSlot, type RunDir, ownerSchema, runDir } from '../record/index.ts';
import type { Nest } from './nest.ts';
import { readJson } from './read.ts';
import { SlotReader, readSlots } from './slots.ts';

const STATUS_BYTES = 32 * 1024 * 1024;
const MOST_NAME = 200;
/** More a nest cannot have: what says so is not to be believed. */
const MOST_ASKS = 64 * 257;

const STATES: readonly StepState[] = [
  'pending',
  'preparing',
  'running',
  'backing-off',
  'completed',
  'failed',
  'stopped',
  'paused',
  'skipped',
];

/** Of the states that are known here those in which there is a step. */
function countsOf(counts: Record<string, number>): NestedSeen['counts'] {
  const known: NestedSeen['counts'] = {};
  for (const state of STATES) {
    const count = Object.hasOwn(counts, state) ? counts[state] : undefined;
    if (count !== undefined && count > 0) known[state] = count;
  }
  return known;
}

/** What is read of the status of a nested run. It comes from another process, and maybe another version. */
const seenSchema = z.object({
  v: z.literal(1),
  id: z.string(),
  epoch: z.int(),
  seq: z.int(),
  name: z.string(),
  state: z.enum(['queued', 'running', 'stopping', 'finalizing', 'completed', 'failed', 'stopped', 'paused']),
  updatedAt: z.string().max(40),
  counts: z.record(z.string(), z.int().nonnegative()).transform(countsOf),
  // An earlier version has none.
  asks: z.array(z.object({ state: z.string() })).catch([]),
  nested: z.object({ asks: z.int().nonnegative().optional() }).optional().catch(undefined),
  owner: ownerSchema,
});
type Seen = z.infer<typeof seenSchema>;

function seenIn(dir: RunDir): Seen | null {
  const parsed = seenSchema.safeParse(readJson(dir.status, STATUS_BYTES));
  return parsed.success && parsed.data.id === dir.id ? parsed.data : null;
}

/** Looks at the runs that were started by children of one run. */
export interface NestLooker {
  /** Those that changed since the last look. Throws nothing. */
  look(): NestedSeen[];
}

export function createNestLooker(nest: Nest): NestLooker {
  const slots = new SlotReader(runDir(nest.root, nest.top));
  /** What each looked like at the last look: a file that was not replaced is not read again. */
  const marks = new Map<string, string>();
  return {
    look() {
      const changed: NestedSeen[] = [];
      for (const slot of slots.read()) {
        if (slot.parent.run !== nest.run) continue;
        const dir = runDir(nest.root, slot.run);
        const mark = markOf(dir);
        if (mark === null || mark === marks.get(slot.run)) continue;
        const seen = summarize(slot, dir);
        if (seen === null) continue;
        marks.set(slot.run, mark);
        changed.push(seen);
      }
      return changed;
    },
  };
}

/** Null: its directory is not there (yet). */
function markOf(dir: RunDir): string | null {
  const status = statOf(dir.status);
  if (status !== undefined) return `${status.ino} ${status.mtimeMs} ${status.size}`;
  return statOf(dir.path)?.isDirectory() === true ? '' : null;
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
}

/** Null: it has a status that cannot be read now. */
function summarize({ run: id, parent, depth, at }: NestSlot, dir: RunDir): NestedSeen | null {
  const where = { id, step: parent.step, attempt: parent.attempt, depth };
  const seen = seenIn(dir);
  if (seen === null) {
    if (markOf(dir) !== '') return null;
    return { ...where, epoch: 0, seq: 0, name: '', state: 'queued', counts: {}, updatedAt: at };
  }
  const { epoch, seq, state, counts, updatedAt } = seen;
  const asks = openAsks(seen);
  const name = seen.name.replaceAll(/\p{Cc}/gu, ' ').slice(0, MOST_NAME);
  return { ...where, epoch, seq, name, state, counts, ...(asks === 0 ? {} : { asks }), updatedAt };
}

/** In it, and as far as it knows below it. */
function openAsks({ asks, nested }: Seen): number {
  const own = asks.filter(({ state }) => state === 'asked').length;
  return Math.min(own + (nested?.asks ?? 0), MOST_ASKS);
}

const ENDED: ReadonlySet<RunState> = new Set(['completed', 'failed', 'stopped', 'paused']);

/** A nested run that has not ended. */
export interface LiveNested {
  dir: RunDir;
  /** False: the process that ran it is gone, as far as can be seen from here. */
  owned: boolean;
}

/** The runs started by one attempt that have not ended, as they are now. */
export function liveNested(nest: Nest, { step, n }: { step: string; n: number }): LiveNested[] {
  return readSlots(runDir(nest.root, nest.top)).flatMap((slot): LiveNested[] => {
    const { parent } = slot;
    if (parent.run !== nest.run || parent.step !== step || parent.attempt !== n) return [];
    const dir = runDir(nest.root, slot.run);
    const seen = seenIn(dir);
    if (seen === null) return markOf(dir) === '' ? [{ dir, owned: true }] : [];
    return ENDED.has(seen.state) ? [] : [{ dir, owned: isOwned(seen) }];
  });
}

function isOwned({ owner }: Seen): boolean {
  // Of another machine, or of a container with a name of its own: it cannot be seen from here.
  if (owner.host !== hostname()) return true;
  return owner.bootId === bootId() && isSame(owner.pid, owner.startTime);
}
