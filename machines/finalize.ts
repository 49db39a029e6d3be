import { type DoneActorEvent, type ErrorActorEvent, setup } from 'xstate';
import { RETRY_FIRST, RETRY_MAX, RETRY_TOTAL } from './policy/defaults.ts';
import { port } from './port.ts';
import type { FinalizeEvent, FinalizeInput, FinalizeLine, FinalizeOutput, Instant, JournalBody } from './protocol.ts';

export interface FinalizeContext extends FinalizeLine {
  at: Instant;
  /** Waits since the last record that could be written: how many, and how long together. */
  tries: number;
  waitedMs: number;
  /** What could not be written, and why. */
  trouble: { line: string; message: string } | null;
}

type Line = { at: Instant };
type None = { type: 'none' };
type LineName = 'trees' | 'inbox' | 'settle' | 'result' | 'status' | 'announce' | 'report' | 'release';
const line = (name: string) => port<None, FinalizeLine, Line>(name);

const delay = (tries: number): number => Math.min(RETRY_FIRST * 2 ** tries, RETRY_MAX);

const base = setup({
  types: {
    context: {} as FinalizeContext,
    input: {} as FinalizeInput,
    events: {} as None,
    output: {} as FinalizeOutput,
  },
  actors: {
    trees: line('trees'),
    inbox: line('inbox'),
    settle: line('settle'),
    result: line('result'),
    status: line('status'),
    announce: line('announce'),
    report: line('report'),
    release: line('release'),
  },
  actions: {
    /** Filled with the journal by the runtime. */
    record: (_args, _body: JournalBody) => {},
  },
});

const tell = (event: FinalizeEvent): FinalizeEvent => event;

const s = base.extend({
  guards: {
    outOfPatience: ({ context }) => context.waitedMs + delay(context.tries) > RETRY_TOTAL,
    wasDegraded: ({ context }) => context.trouble !== null,
  },
  delays: { backOff: ({ context }) => delay(context.tries) },
  actions: {
    noteLine: base.assign(({ event }) => ({ at: (event as unknown as DoneActorEvent<Line>).output.at })),
    noteTrouble: base.assign(({ event }) => {
      const { actorId, error } = event as unknown as ErrorActorEvent;
      return { trouble: { line: actorId, message: error instanceof Error ? error.message : String(error) } };
    }),
    noteWait: base.assign(({ context }) => ({
      waitedMs: context.waitedMs + delay(context.tries),
      tries: context.tries + 1,
    })),
    reportTrouble: base.enqueueActions(({ context, self, enqueue }) => {
      if (context.tries > 0 || context.trouble === null) return;
      enqueue({ type: 'record', params: { type: 'persistence.degraded', at: context.at, ...context.trouble } });
      if (self._parent) enqueue.sendTo(self._parent, tell({ type: 'finalize.degraded' }));
    }),
    reportRestored: base.enqueueActions(({ context, self, enqueue }) => {
      if (context.trouble === null) return;
      enqueue({ type: 'record', params: { type: 'persistence.restored', at: context.at } });
      if (self._parent) enqueue.sendTo(self._parent, tell({ type: 'finalize.restored' }));
      enqueue.assign({ trouble: null, tries: 0, waitedMs: 0 });
    }),
    noteSettled: base.assign(({ context }) => ({ settledAt: context.at })),
    reportSettled: base.enqueueActions(({ context, self, enqueue }) => {
      if (self._parent) enqueue.sendTo(self._parent, tell({ type: 'finalize.settled', at: context.at }));
    }),
    reportPublished: base.enqueueActions(({ context, self, enqueue }) => {
      const { settledAt, at } = context;
      if (self._parent) enqueue.sendTo(self._parent, tell({ type: 'finalize.published', at: settledAt ?? at }));
    }),
  },
});

/** One state a line of the terminal order; each is done again until it succeeds or patience ends. */
const step = (src: LineName, next: string, ...more: ('noteSettled' | 'reportSettled' | 'reportPublished')[]) =>
  s.createStateConfig({
    invoke: {
      id: src,
      // All lines are one type of port; the compiler wants to be shown one of them.
      src: src as 'trees',
      input: ({ context: { outcome, settledAt } }) => ({ outcome, settledAt }),
      onDone: { target: next, actions: ['noteLine', 'reportRestored', ...more] },
      onError: { target: '#finalize.waiting', actions: 'noteTrouble' },
    },
  });

/** Makes the end of a run durable, line by line, in the one order that never says ended before it is. */
export const finalizeMachine = s.createMachine({
  id: 'finalize',
  description: 'The end of a run, made durable line by line',
  context: ({ input }) => ({
    outcome: input.outcome,
    settledAt: null,
    at: input.at,
    tries: 0,
    waitedMs: 0,
    trouble: null,
  }),
  initial: 'working',
  states: {
    working: {
      initial: 'trees',
      states: {
        trees: step('trees', 'inbox'),
        inbox: step('inbox', 'settle'),
        settle: step('settle', 'result', 'noteSettled', 'reportSettled'),
        result: step('result', 'status', 'reportPublished'),
        status: step('status', 'announce'),
        announce: step('announce', 'report'),
        report: step('report', 'release'),
        release: step('release', '#finalize.recorded'),
        last: { type: 'history' },
      },
    },
    waiting: {
      description: 'A record could not be written; the children are gone in any case',
      entry: 'reportTrouble',
      always: { guard: 'outOfPatience', target: 'unrecorded' },
      after: { backOff: { target: 'working.last', actions: 'noteWait' } },
    },
    recorded: { type: 'final', output: { recorded: true } },
    unrecorded: { type: 'final', output: { recorded: false } },
  },
  output: ({ event }) => (event as unknown as { output: FinalizeOutput }).output,
  options: { maxIterations: 1_000 },
});
