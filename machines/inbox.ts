import { type DoneActorEvent, type ErrorActorEvent, setup } from 'xstate';
import { RETRY_FIRST, RETRY_MAX, UNFINISHED } from './policy/defaults.ts';
import { port } from './port.ts';
import type { InboxEvent, InboxInput, InboxOutput, InboxWarningCode } from './protocol.ts';

export interface InboxContext {
  /** The system does not tell of changes: the folder is on a network disk, or the watch has failed. */
  poll: boolean;
  /** The state the run ends in, once it does. */
  ending: string | null;
  /** Times that receipts could not be written, since the last that could. */
  tries: number;
  /** Why it could not be closed. */
  trouble: { code: string; message: string } | null;
  /** Receipts that found no folder to go to. */
  unwritten: number;
}

type None = { type: 'none' };
/** The state the run ends in. */
type Ending = { state: string };
const endingOf = ({ context }: { context: InboxContext }): Ending => ({ state: context.ending ?? '' });

const base = setup({
  types: {
    context: {} as InboxContext,
    input: {} as InboxInput,
    events: {} as InboxEvent,
    output: {} as InboxOutput,
  },
  actors: {
    /** Hints of the system, and a slow look at the folder's own time as a net. */
    watch: port<None, undefined, undefined, InboxEvent>('watch'),
    /** Hints by the clock alone. */
    poll: port<None, undefined, undefined, InboxEvent>('poll'),
    /** Tells when the folder is there again. */
    await: port<None, undefined, undefined, InboxEvent>('await'),
    /** Reads what lies there and acts on it. */
    look: port<None, undefined, undefined, InboxEvent>('look'),
    /** Writes receipts as they come. */
    write: port<None, undefined, undefined, InboxEvent>('write'),
    /** Makes `closed.json`. */
    shut: port<None, Ending>('shut'),
    /** Takes everything that is left, and refuses it. */
    drain: port<None, Ending>('drain'),
    /** Writes every receipt that is left. */
    flush: port<None, Ending, InboxOutput>('flush'),
  },
  actions: {
    /** Filled by whoever has somebody to warn. */
    warn: (_args, _warning: { code: InboxWarningCode; reason: string }) => {},
  },
});

const s = base.extend({
  guards: {
    mustPoll: ({ context }) => context.poll,
    found: ({ event }) => event.type === 'looked' && event.found,
    unfinished: ({ event }) => event.type === 'looked' && event.unfinished,
  },
  delays: {
    unfinished: UNFINISHED,
    backOff: ({ context }) => Math.min(RETRY_FIRST * 2 ** (context.tries - 1), RETRY_MAX),
  },
  actions: {
    giveUpWatching: base.enqueueActions(({ event, enqueue }) => {
      const reason = event.type === 'watch.failed' ? event.message : '';
      enqueue({ type: 'warn', params: { code: 'polling', reason } });
      enqueue.assign({ poll: true });
    }),
    warnMissing: base.enqueueActions(({ enqueue }) => {
      enqueue({ type: 'warn', params: { code: 'folder-missing', reason: '' } });
    }),
    noteStuck: base.enqueueActions(({ context, event, enqueue }) => {
      const reason = event.type === 'stuck' ? event.message : '';
      if (context.tries === 0) enqueue({ type: 'warn', params: { code: 'receipt-unwritten', reason } });
      enqueue.assign({ tries: context.tries + 1 });
    }),
    noteWritten: base.assign({ tries: 0 }),
    noteEnding: base.assign(({ context, event }) => ({
      ending: event.type === 'inbox.close' ? event.state : context.ending,
      trouble: null,
    })),
    noteTrouble: base.assign(({ event }) => {
      const { error } = event as unknown as ErrorActorEvent;
      const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
      return { trouble: { code, message: error instanceof Error ? error.message : String(error) } };
    }),
    noteAnswered: base.assign(({ event }) => ({
      unwritten: (event as unknown as DoneActorEvent<InboxOutput>).output.unwritten,
    })),
  },
});

/** How it is learned that something may have come. Each only hints; what there is, a look tells. */
const source = s.createStateConfig({
  description: 'How it learns of changes',
  initial: 'choosing',
  states: {
    choosing: { always: [{ guard: 'mustPoll', target: 'polling' }, { target: 'native' }] },
    native: {
      description: 'The system tells',
      invoke: { id: 'watch', src: 'watch' },
      on: {
        'watch.failed': { target: 'polling', actions: 'giveUpWatching' },
        'folder.changed': { target: 'native', reenter: true },
        'folder.missing': 'away',
      },
    },
    polling: {
      description: 'By the clock',
      invoke: { id: 'poll', src: 'poll' },
      on: { 'folder.missing': 'away' },
    },
    away: {
      description: 'The folder is missing',
      entry: 'warnMissing',
      invoke: { id: 'await', src: 'await' },
      on: { 'folder.back': 'choosing' },
    },
  },
});

const looking = s.createStateConfig({
  description: 'Whether the folder is being read',
  initial: 'reading',
  states: {
    reading: {
      description: 'One batch: read all, then act in the order of the kinds',
      invoke: { id: 'look', src: 'look' },
      on: {
        looked: [
          // What came meanwhile was not in the list that was read.
          { guard: 'found', target: 'reading', reenter: true },
          { guard: 'unfinished', target: 'settling' },
          { target: 'resting' },
        ],
      },
    },
    settling: {
      description: 'A file is still written to',
      on: { 'folder.hint': 'reading' },
      after: { unfinished: 'reading' },
    },
    resting: { on: { 'folder.hint': 'reading' } },
  },
});

const receipts = s.createStateConfig({
  description: 'Whether receipts reach the disk',
  initial: 'flowing',
  states: {
    flowing: {
      invoke: { id: 'write', src: 'write' },
      on: {
        written: { actions: 'noteWritten' },
        stuck: { target: 'stuck', actions: 'noteStuck' },
      },
    },
    stuck: {
      description: 'They wait for another try',
      after: { backOff: 'flowing' },
    },
  },
});

/** The way in for commands of one run: from the first look into its folder to the last answer. */
export const inboxMachine = s.createMachine({
  id: 'inbox',
  description: 'The way in for commands: watched, read in batches, closed with every command answered',
  context: ({ input }) => ({ poll: input.poll, ending: null, tries: 0, trouble: null, unwritten: 0 }),
  initial: 'watching',
  states: {
    watching: {
      type: 'parallel',
      on: { 'inbox.close': { target: 'closing', actions: 'noteEnding' }, 'inbox.abandon': 'abandoned' },
      states: { source, looking, receipts },
    },
    closing: {
      description: 'The run ends: late senders are told, everything that waits is answered',
      initial: 'shutting',
      states: {
        shutting: {
          invoke: {
            id: 'shut',
            src: 'shut',
            input: endingOf,
            onDone: 'draining',
            onError: { target: 'troubled', actions: 'noteTrouble' },
          },
        },
        draining: {
          invoke: {
            id: 'drain',
            src: 'drain',
            input: endingOf,
            onDone: 'answering',
            onError: { target: 'troubled', actions: 'noteTrouble' },
          },
        },
        answering: {
          invoke: {
            id: 'flush',
            src: 'flush',
            input: endingOf,
            onDone: { target: '#inbox.closed', actions: 'noteAnswered' },
            onError: { target: 'troubled', actions: 'noteTrouble' },
          },
        },
        troubled: {
          description:
            'It could not be written that it is closed, or an answer could not; whoever ends the run tries again',
          on: { 'inbox.close': { target: 'shutting', actions: 'noteEnding' }, 'inbox.abandon': '#inbox.abandoned' },
        },
      },
    },
    closed: { type: 'final', description: 'Every command has its final receipt' },
    abandoned: { type: 'final', description: 'Everything stays as it lies, for the next owner' },
  },
  output: ({ context }) => ({ unwritten: context.unwritten }),
  options: { maxIterations: 1_000 },
});
