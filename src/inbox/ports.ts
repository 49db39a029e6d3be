import { type ActorRefFrom, type InspectionEvent, createActor, fromCallback, fromPromise } from 'xstate';
import { fill, inboxMachine } from '../../machines/index.ts';
import type { InboxEvent, InboxInput, InboxOutput, InboxWarningCode } from '../../machines/protocol.ts';
import { sliceMs } from './bounds.ts';
import { type StartWatch, type Watch, trySee } from './watch.ts';

/** What the ports of an inbox work with. */
export interface InboxEffects {
  folder: string;
  startWatch: StartWatch;
  /** Between two looks at the folder's own time when the system tells of changes. */
  safetyMs: number;
  /** Between two looks when it does not, or when the folder is away. */
  pollMs: number;
  /** Reads the folder until the time is over, and acts on what is ready. */
  look: (how: {
    untilMs: number;
    last: boolean;
  }) => { type: 'more' } | { type: 'whole'; found: boolean; unfinished: boolean };
  /** Whether something lies there that was not taken. */
  waiting: () => boolean;
  /** Refuses what was delivered and never answered. */
  refuseOpen: () => void;
  shut: (state: string) => Promise<undefined>;
  /** Calls back when receipts wait; returns the way to stop. */
  onReceipts: (wake: () => void) => () => void;
  /** Writes receipts, some at a time, until none waits. Rejects with what went wrong. */
  writeReceipts: () => Promise<{ written: number }>;
  /** Receipts that are not on disk. */
  unwritten: () => number;
  folderIsThere: () => boolean;
  warn: (warning: { code: InboxWarningCode; reason: string }) => void;
}

type Told = { type: 'none' };
type Ending = { state: string };
type Start = (tell: (event: InboxEvent) => void) => (() => void) | undefined;

/**
 * The effects of each inbox, by the system of its actor. So that all can share one machine with its ports filled: one of
 * its own for each would take a hundred kilobytes and a millisecond.
 */
const effectsOf = new WeakMap<object, InboxEffects>();

function ours(system: object): InboxEffects {
  const effects = effectsOf.get(system);
  if (effects === undefined) throw new Error('bug: an inbox without effects');
  return effects;
}

const port = (start: (effects: InboxEffects) => Start) =>
  fromCallback<Told, undefined, InboxEvent>(({ sendBack, system }) => start(ours(system))(sendBack));
const closing = <T>(work: (effects: InboxEffects, end: Ending, signal: AbortSignal) => Promise<T>) =>
  fromPromise<T, Ending>(({ input, signal, system }) => work(ours(system), input, signal));

/** An inbox that is yet to be started. */
export function createInboxActor(
  effects: InboxEffects,
  options: { input: InboxInput; inspect?: (event: InspectionEvent) => void },
): InboxActor {
  const actor = createActor(wired, options);
  effectsOf.set(actor.system, effects);
  return actor;
}
export type InboxActor = ActorRefFrom<typeof inboxMachine>;

/** Looks this long after a change may have missed one in the same tick of the disk's clock. */
const tickMs = 100;
/** Every so many looks at the folder's time the folder is read whatever its time says. */
const trustEvery = 60;
/** Folders that this process watches. Of more than so many each is looked at more seldom: a net must not cost what it guards. */
const crowd = { size: 0 };
const crowdMost = 200;
const wakeMs = 500;

/** Looks that are far apart fall together, so that they wake the process once for all. */
function together(ms: number): number {
  if (ms < wakeMs) return ms;
  const now = performance.now();
  return Math.floor((now + ms) / wakeMs) * wakeMs - now;
}

/** Native hints, and below them a slow look at the folder's own time: it costs two microseconds. */
const watching =
  ({ folder, startWatch, safetyMs }: InboxEffects): Start =>
  (tell) => {
    let watch: Watch | null = null;
    // A flood of events in one turn of the loop is one hint: the look that it leads to comes after the turn.
    let hinted: NodeJS.Immediate | null = null;
    const hint = (): void => {
      if (hinted !== null) return;
      hinted = setImmediate(() => (hinted = null));
      tell({ type: 'folder.hint' });
    };
    const failed = (error: unknown): void =>
      tell({ type: 'watch.failed', message: error instanceof Error ? error.message : String(error) });
    const first = trySee(folder);
    if (first === null) {
      tell({ type: 'folder.missing' });
      return undefined;
    }
    let { changedMs } = first;
    let looks = 0;
    crowd.size += 1;
    const look = (): void => {
      timer = setTimeout(look, together(pause())).unref();
      const seen = trySee(folder);
      looks += 1;
      if (seen === null) tell({ type: 'folder.missing' });
      else if (seen.identity !== first.identity) tell({ type: 'folder.changed' });
      else if (
        seen.changedMs !== changedMs ||
        Date.now() - seen.changedMs < pause() + tickMs ||
        looks % trustEvery === 0
      ) {
        ({ changedMs } = seen);
        tell({ type: 'folder.hint' });
      }
    };
    const pause = (): number => safetyMs * Math.max(1, crowd.size / crowdMost);
    let timer = setTimeout(look, together(pause())).unref();
    // What came before anybody told of it.
    tell({ type: 'folder.hint' });
    try {
      watch = startWatch(folder, { hint, failed });
    } catch (error) {
      failed(error);
    }
    return () => {
      crowd.size -= 1;
      clearTimeout(timer);
      if (hinted !== null) clearImmediate(hinted);
      void watch?.close().catch(() => {
        // It is gone either way.
      });
    };
  };

/** Without anybody who tells: the folder is read at each turn, because its time cannot be trusted either. */
const polling =
  ({ folder, pollMs }: InboxEffects): Start =>
  (tell) => {
    const timer = setInterval(() => tell({ type: trySee(folder) === null ? 'folder.missing' : 'folder.hint' }), pollMs);
    timer.unref();
    tell({ type: 'folder.hint' });
    return () => clearInterval(timer);
  };

const awaiting =
  ({ folder, pollMs }: InboxEffects): Start =>
  (tell) => {
    const timer = setInterval(() => {
      if (trySee(folder) !== null) tell({ type: 'folder.back' });
    }, pollMs);
    timer.unref();
    return () => clearInterval(timer);
  };

/** One batch, in slices between which the loop does other work. Never within the call that starts it. */
const looking =
  ({ look }: InboxEffects): Start =>
  (tell) => {
    const go = (): void => {
      const seen = look({ untilMs: performance.now() + sliceMs, last: false });
      if (seen.type === 'more') turn = setImmediate(go);
      else tell({ type: 'looked', found: seen.found, unfinished: seen.unfinished });
    };
    let turn = setImmediate(go);
    return () => clearImmediate(turn);
  };

/** Receipts as they come, until one cannot be written. */
const writing =
  ({ onReceipts, writeReceipts }: InboxEffects): Start =>
  (tell) => {
    let over = false;
    let busy = false;
    const write = async (): Promise<void> => {
      busy = true;
      try {
        const { written } = await writeReceipts();
        if (written > 0 && !over) tell({ type: 'written' });
      } catch (error) {
        if (!over) tell({ type: 'stuck', message: error instanceof Error ? error.message : String(error) });
      } finally {
        busy = false;
      }
    };
    const stop = onReceipts(() => {
      if (!busy) void write();
    });
    void write();
    return () => {
      over = true;
      stop();
    };
  };

/** Takes all that lies there. A sender that comes now sees `closed.json` and takes its file back, so this ends. */
async function drain({ look, waiting, refuseOpen }: InboxEffects, signal: AbortSignal): Promise<undefined> {
  for (let found = true; found && !signal.aborted;) {
    const seen = look({ untilMs: performance.now() + sliceMs, last: true });
    // What lies there and cannot be taken stays.
    found = seen.type === 'more' || seen.unfinished || (seen.found && waiting());
    if (found) await new Promise((resolve) => void setImmediate(resolve));
  }
  refuseOpen();
}

async function flush({ writeReceipts, unwritten, folderIsThere }: InboxEffects): Promise<InboxOutput> {
  try {
    await writeReceipts();
  } catch (error) {
    if (folderIsThere()) throw error;
  }
  return { unwritten: unwritten() };
}

/** The machine with every port filled. */
const wired = inboxMachine.provide({
  actors: {
    watch: fill(port(watching)),
    poll: fill(port(polling)),
    await: fill(port(awaiting)),
    look: fill(port(looking)),
    write: fill(port(writing)),
    shut: fill(closing(({ shut }, { state }) => shut(state))),
    drain: fill(closing((effects, _, signal) => drain(effects, signal))),
    flush: fill(closing((effects) => flush(effects))),
  },
  actions: {
    warn: ({ system }, warning: { code: InboxWarningCode; reason: string }): void => ours(system).warn(warning),
  },
});
