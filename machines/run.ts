import { type DoneActorEvent, assertEvent, setup } from 'xstate';
import { outcomeOfWaiting, outranks } from './policy/cause.ts';
import { outcomeOfRun } from './policy/outcome.ts';
import { planOf, schedule } from './policy/schedule.ts';
import { later } from './policy/time.ts';
import { port } from './port.ts';
import type {
  Answer,
  Cause,
  Cooling,
  DeadlineCommand,
  EndEvent,
  FinalizeEvent,
  FinalizeInput,
  FinalizeOutput,
  Instant,
  JournalBody,
  RunEvent,
  RunInput,
  RunOutcome,
  RunOutput,
  StepId,
  StepInput,
  StepNews,
  StepNotice,
  StepOutput,
} from './protocol.ts';

export interface RunContext extends RunInput {
  startedAt: Instant;
  endedAt: Instant | null;
  deadlineAt: Instant | null;
  /** What the deadline was set to when it was set last, in milliseconds. */
  limitMs: number | null;
  at: Instant;
  /** Not started and not settled, in plan order. */
  waiting: StepId[];
  live: StepId[];
  /** Live steps whose slot is free again. */
  released: StepId[];
  /** In the order of settling. */
  settled: StepOutput[];
  /** Models that failed a moment ago, and until when they are left alone. */
  cooling: Cooling;
  /** Latched; null while nobody has ended the run. */
  cause: Cause | null;
  /** Decided when finalizing is entered: the commit point. */
  outcome: RunOutcome | null;
  recorded: boolean;
  degraded: boolean;
}

type Event = RunEvent | FinalizeEvent;
type None = { type: 'none' };

/** Ids of step actors are told apart from the run's other children. */
export const stepActor = (step: StepId): string => `step:${step}`;

const base = setup({
  types: {
    context: {} as RunContext,
    input: {} as RunInput,
    events: {} as Event,
    output: {} as RunOutput,
    tags: {} as 'active' | 'resting' | 'final',
  },
  actors: {
    step: port<EndEvent | StepNotice, StepInput, StepOutput, StepNews>('step'),
    deadline: port<DeadlineCommand, { limitMs: number | null }, undefined, { type: 'deadline.reached'; at: Instant }>(
      'deadline',
    ),
    finalize: port<None, FinalizeInput, FinalizeOutput, FinalizeEvent>('finalize'),
  },
  actions: {
    /** Filled with the journal by the runtime. */
    record: (_args, _body: JournalBody) => {},
    /** Filled with the bus by the runtime: the one final verdict on a command, journaled and on its receipt. */
    answer: (_args, _answer: Answer) => {},
  },
});

function causeIn(event: Event, limitMs: number | null): Cause | null {
  switch (event.type) {
    case 'run.end':
    case 'run.refuse':
      return event.cause;
    case 'deadline.reached':
      return { type: 'run-deadline', at: event.at, limitMs: limitMs ?? 0 };
    case 'run.command': {
      if (event.command.type !== 'stop') return null;
      const { id, source, reason } = event.command;
      return { type: 'stop', at: event.at, source, command: id, ...(reason === undefined ? {} : { reason }) };
    }
    case 'run.begin':
    case 'record.degraded':
    case 'record.restored':
    case 'run.extend':
    case 'clock.jumped':
    case 'model.failed':
    case 'step.released':
    case 'finalize.settled':
    case 'finalize.degraded':
    case 'finalize.restored':
      return null;
  }
}

const neverStarted = (step: StepId, cause: Cause): StepOutput => ({
  step,
  outcome: outcomeOfWaiting(cause),
  cause,
  failure: null,
  attempts: [],
  notes: {},
  startedAt: null,
  at: cause.at,
});

/** One execution of a plan; the root of its actors. */
export const runMachine = base
  .extend({
    guards: {
      strongest: ({ context, event }) => {
        const cause = causeIn(event, context.limitMs);
        return cause !== null && outranks(cause, context.cause);
      },
      stops: ({ event }) => event.type === 'run.command' && event.command.type === 'stop',
      nothingLeft: ({ context }) => context.live.length === 0 && context.waiting.length === 0,
      nobodyLive: ({ context }) => context.live.length === 0,
      recordedCompleted: ({ context, event }) => isRecorded(event) && context.outcome?.state === 'completed',
      recordedFailed: ({ context, event }) => isRecorded(event) && context.outcome?.state === 'failed',
      recordedStopped: ({ context, event }) => isRecorded(event) && context.outcome?.state === 'stopped',
      recordedPaused: ({ context, event }) => isRecorded(event) && context.outcome?.state === 'paused',
    },
    actions: {
      begin: base.assign(({ event }) => {
        assertEvent(event, ['run.begin', 'run.refuse']);
        const deadlineAt = event.type === 'run.begin' ? event.deadlineAt : null;
        return { startedAt: event.at, at: event.at, deadlineAt };
      }),
      recordStarted: base.enqueueActions(({ context, enqueue }) => {
        const { id: run, name, steps, limits, labels, owner, startedAt: at, deadlineAt } = context;
        enqueue({
          type: 'record',
          params: { type: 'run.started', at, run, name, steps, limits, labels, owner, deadlineAt },
        });
      }),
      /** Starts what can start and skips what never can. */
      startSteps: base.enqueueActions(({ context, enqueue }) => {
        const { at, waiting, live, released, settled, steps, limits, deadlineAt, cooling } = context;
        const { concurrency } = limits;
        const next = schedule({ plan: steps, waiting, live, released, settled, concurrency });
        if (next.start.length === 0 && next.skip.length === 0) return;
        const skipped = next.skip.map(({ step, because }) =>
          neverStarted(step, { type: 'dependency', at, step: because }),
        );
        const gone = new Set([...next.start, ...skipped.map((one) => one.step)]);
        enqueue.assign({
          waiting: waiting.filter((id) => !gone.has(id)),
          live: [...live, ...next.start],
          ...(skipped.length === 0 ? {} : { settled: settle(settled, skipped) }),
        });
        for (const one of skipped) enqueue({ type: 'record', params: settledRecord(one) });
        for (const id of next.start) {
          const plan = planOf(steps, id);
          if (plan !== undefined) {
            const seed = context.seed + steps.indexOf(plan);
            const input = { plan, firstAttempt: 1, deadlineAt, cooling, seed, at };
            enqueue.spawnChild('step', { id: stepActor(id), input });
          }
        }
      }),
      settleStep: base.enqueueActions(({ context, event, enqueue }) => {
        const { output } = event as unknown as DoneActorEvent<StepOutput>;
        const without = (ids: StepId[]): StepId[] => ids.filter((id) => id !== output.step);
        enqueue.stopChild(stepActor(output.step));
        enqueue.assign({
          live: without(context.live),
          released: without(context.released),
          settled: settle(context.settled, [output]),
          at: output.at,
        });
      }),
      releaseSlot: base.assign(({ context, event }) => {
        assertEvent(event, 'step.released');
        const { step } = event;
        if (!context.live.includes(step) || context.released.includes(step)) return {};
        return { released: [...context.released, step] };
      }),
      coolModel: base.enqueueActions(({ context, event, enqueue }) => {
        assertEvent(event, 'model.failed');
        const { step, model, until } = event;
        const cooling = { ...context.cooling, [model]: until };
        enqueue.assign({ cooling });
        const notice: StepNotice = { type: 'models.cooling', cooling };
        // The step it failed has moved on by itself, or has settled.
        const others = context.live.filter((id) => id !== step);
        for (const id of others) enqueue.sendTo(stepActor(id), notice);
      }),
      /** A new deadline, of the run or of one step; what is over already is over at once. */
      extend: base.enqueueActions(({ context, event, enqueue }) => {
        assertEvent(event, 'run.extend');
        const { at, step, deadlineAt, limitMs } = event;
        if (step !== undefined) {
          const notice: StepNotice = { type: 'step.extend', at, limitMs };
          if (context.live.includes(step)) enqueue.sendTo(stepActor(step), notice);
          return;
        }
        enqueue.assign({ deadlineAt, limitMs });
        enqueue.sendTo('deadline', { type: 'deadline.set', limitMs } satisfies DeadlineCommand);
        enqueue({
          type: 'record',
          params: { type: 'run.deadline-moved', at, from: context.deadlineAt, to: deadlineAt },
        });
        const notice: StepNotice = { type: 'deadline.moved', at, deadlineAt };
        for (const id of context.live) enqueue.sendTo(stepActor(id), notice);
      }),
      /** Limits run on the monotonic clock; what readers see is wall time, and follows the wall clock. */
      followClock: base.enqueueActions(({ context, event, enqueue }) => {
        assertEvent(event, 'clock.jumped');
        const { at, byMs } = event;
        const from = context.deadlineAt;
        enqueue({ type: 'record', params: { type: 'clock.jumped', at, byMs } });
        if (from === null) return;
        const to = later(from, byMs);
        enqueue.assign({ deadlineAt: to });
        enqueue({ type: 'record', params: { type: 'run.deadline-moved', at, from, to } });
        const notice: StepNotice = { type: 'deadline.moved', at, deadlineAt: to };
        for (const id of context.live) enqueue.sendTo(stepActor(id), notice);
      }),
      /** Listed as late: known, and without consequence. */
      passOver: () => {},
      latch: base.assign(({ context, event }) => {
        const cause = causeIn(event, context.limitMs);
        return cause === null ? {} : { cause, at: cause.at };
      }),
      recordStopping: base.enqueueActions(({ context, enqueue }) => {
        const { cause, at } = context;
        if (cause !== null) enqueue({ type: 'record', params: { type: 'run.stopping', at, cause } });
      }),
      endSteps: base.enqueueActions(({ context, enqueue }) => {
        const { cause, live } = context;
        if (cause === null) return;
        for (const id of live) enqueue.sendTo(stepActor(id), { type: 'end', cause } satisfies EndEvent);
      }),
      settleWaiting: base.enqueueActions(({ context, enqueue }) => {
        const { cause, waiting, settled } = context;
        if (cause === null || waiting.length === 0) return;
        const outputs = waiting.map((id) => neverStarted(id, cause));
        enqueue.assign({ waiting: [], settled: settle(settled, outputs) });
        for (const one of outputs) enqueue({ type: 'record', params: settledRecord(one) });
      }),
      acceptCommand: base.enqueueActions(({ event, enqueue }) => {
        assertEvent(event, 'run.command');
        const { id, type: command, source } = event.command;
        enqueue({ type: 'record', params: { type: 'command.accepted', at: event.at, id, command, source } });
      }),
      answerApplied: base.enqueueActions(({ event, enqueue }) => {
        assertEvent(event, 'run.command');
        const { id, type: command } = event.command;
        enqueue({ type: 'answer', params: { id, command, verdict: 'applied', at: event.at } });
      }),
      answerUnsupported: base.enqueueActions(({ event, enqueue }) => {
        assertEvent(event, 'run.command');
        const { id, type: command } = event.command;
        enqueue({
          type: 'answer',
          params: { id, command, verdict: 'rejected', reason: 'unsupported', at: event.at },
        });
      }),
      answerTooLate: base.enqueueActions(({ context, event, enqueue }) => {
        assertEvent(event, 'run.command');
        const { id, type: command } = event.command;
        const reason = context.endedAt === null ? 'already-ended' : 'run-ended';
        enqueue({ type: 'answer', params: { id, command, verdict: 'rejected', reason, at: event.at } });
      }),
      recordLate: base.enqueueActions(({ context, event, enqueue }) => {
        const cause = causeIn(event, context.limitMs);
        const won = context.outcome?.cause ?? context.cause;
        if (cause === null || won === null) return;
        enqueue({ type: 'record', params: { type: 'cause.late', at: cause.at, cause, won } });
      }),
      /** What was latched gives way to something stronger, and stays on record. */
      recordOvertaken: base.enqueueActions(({ context, event, enqueue }) => {
        const won = causeIn(event, context.limitMs);
        const { cause } = context;
        if (won === null || cause === null) return;
        enqueue({ type: 'record', params: { type: 'cause.late', at: won.at, cause, won } });
      }),
      decide: base.assign(({ context }) => ({
        outcome: outcomeOfRun(context.cause, context.settled, context.at),
      })),
      recordFinalizing: base.enqueueActions(({ context, enqueue }) => {
        enqueue({ type: 'record', params: { type: 'run.finalizing', at: context.at } });
      }),
      noteSettled: base.assign(({ event }) => {
        assertEvent(event, 'finalize.settled');
        return { endedAt: event.at };
      }),
      noteDegraded: base.assign({ degraded: true }),
      noteRestored: base.assign({ degraded: false }),
      noteRecorded: base.assign({ recorded: true }),
    },
  })
  .createMachine({
    id: 'run',
    description: 'One execution of a plan, the root of its actors',
    context: ({ input }) => ({
      ...input,
      steps: [...input.steps],
      startedAt: '',
      endedAt: null,
      deadlineAt: null,
      limitMs: input.limits.timeoutMs,
      at: '',
      waiting: input.steps.map((step) => step.id),
      live: [],
      released: [],
      settled: [],
      cooling: {},
      cause: null,
      outcome: null,
      recorded: false,
      degraded: false,
    }),
    initial: 'queued',
    on: {
      'record.degraded': { actions: 'noteDegraded' },
      'record.restored': { actions: 'noteRestored' },
    },
    states: {
      queued: {
        on: {
          'run.begin': { target: 'active', actions: ['begin', 'recordStarted'] },
          'run.refuse': {
            target: 'finalizing',
            actions: ['begin', 'recordStarted', 'latch', 'recordStopping', 'settleWaiting'],
          },
        },
      },
      active: {
        tags: 'active',
        description: 'Work is going on, or is being ended; the run deadline holds for both',
        invoke: {
          id: 'deadline',
          src: 'deadline',
          input: ({ context }) => ({ limitMs: context.limits.timeoutMs }),
        },
        initial: 'running',
        on: {
          'step.released': { actions: 'releaseSlot' },
          'model.failed': { actions: 'coolModel' },
          'run.extend': { actions: 'extend' },
          'clock.jumped': { actions: 'followClock' },
          'xstate.done.actor.*': { actions: 'settleStep' },
        },
        states: {
          running: {
            entry: 'startSteps',
            always: { guard: 'nothingLeft', target: '#run.finalizing' },
            on: {
              'step.released': { actions: ['releaseSlot', 'startSteps'] },
              'xstate.done.actor.*': { actions: ['settleStep', 'startSteps'] },
              'run.command': [
                { guard: 'stops', target: 'stopping', actions: ['acceptCommand', 'latch', 'answerApplied'] },
                { actions: ['acceptCommand', 'answerUnsupported'] },
              ],
              'run.end': { target: 'stopping', actions: 'latch' },
              'deadline.reached': { target: 'stopping', actions: 'latch' },
            },
          },
          stopping: {
            description: 'Everything live is being ended; nothing starts any more',
            entry: ['recordStopping', 'settleWaiting', 'endSteps'],
            always: { guard: 'nobodyLive', target: '#run.finalizing' },
            on: {
              'run.command': [
                {
                  guard: 'strongest',
                  actions: ['acceptCommand', 'recordOvertaken', 'latch', 'recordStopping', 'endSteps', 'answerApplied'],
                },
                { guard: 'stops', actions: ['acceptCommand', 'answerApplied'] },
                { actions: ['acceptCommand', 'answerUnsupported'] },
              ],
              'run.end': [
                { guard: 'strongest', actions: ['recordOvertaken', 'latch', 'recordStopping', 'endSteps'] },
                { actions: 'recordLate' },
              ],
              'deadline.reached': [
                { guard: 'strongest', actions: ['recordOvertaken', 'latch', 'recordStopping', 'endSteps'] },
                { actions: 'recordLate' },
              ],
            },
          },
        },
      },
      finalizing: {
        tags: 'active',
        description: 'The outcome is decided and is being made durable',
        entry: ['decide', 'recordFinalizing'],
        invoke: {
          id: 'finalize',
          src: 'finalize',
          input: ({ context }) => finalizeInput(context),
          onDone: [
            { guard: 'recordedCompleted', target: 'completed', actions: 'noteRecorded' },
            { guard: 'recordedFailed', target: 'failed', actions: 'noteRecorded' },
            { guard: 'recordedStopped', target: 'stopped', actions: 'noteRecorded' },
            { guard: 'recordedPaused', target: 'paused', actions: 'noteRecorded' },
            { target: 'unrecorded' },
          ],
        },
        on: {
          'run.command': { actions: ['acceptCommand', 'answerTooLate'] },
          'run.end': { actions: 'recordLate' },
          'run.extend': { actions: 'passOver' },
          'clock.jumped': { actions: 'passOver' },
          'finalize.degraded': { actions: 'noteDegraded' },
          'finalize.restored': { actions: 'noteRestored' },
        },
        initial: 'closing',
        states: {
          closing: { on: { 'finalize.settled': { target: 'publishing', actions: 'noteSettled' } } },
          publishing: { description: 'run.settled is on disk: from here on the run has ended' },
        },
      },
      completed: { type: 'final', tags: 'final' },
      failed: { type: 'final', tags: 'resting' },
      stopped: { type: 'final', tags: 'final' },
      paused: { type: 'final', tags: 'resting' },
      unrecorded: { type: 'final', description: 'The end could not be written; nothing claims one' },
    },
    output: ({ context }) => ({ outcome: finalizeInput(context).outcome, recorded: context.recorded }),
    options: { maxIterations: 1_000 },
  });

const isRecorded = (event: unknown): boolean => (event as DoneActorEvent<FinalizeOutput>).output.recorded;

const finalizeInput = (context: RunContext): FinalizeInput => ({
  outcome: context.outcome ?? outcomeOfRun(context.cause, context.settled, context.at),
  at: context.at,
});

const settle = (known: RunContext['settled'], outputs: StepOutput[]): RunContext['settled'] => [...known, ...outputs];

function settledRecord({ step, outcome: state, cause, failure, at }: StepOutput): JournalBody {
  return { type: 'step.settled', at, step, state, cause, ...(failure === null ? {} : { error: failure }) };
}
