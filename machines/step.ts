import { type DoneActorEvent, sendTo, setup } from 'xstate';
import { outcomeOfWaiting, outranks } from './policy/cause.ts';
import { settleAttempt } from './policy/outcome.ts';
import { port } from './port.ts';
import type {
  AttemptInput,
  AttemptOutput,
  Cause,
  EndEvent,
  Failure,
  Instant,
  JournalBody,
  PrepareOutput,
  StepInput,
  StepOutcome,
  StepOutput,
  StepPlan,
  StopRung,
} from './protocol.ts';

export interface StepContext {
  plan: StepPlan;
  /** Number of the attempt that is next or under way. */
  n: number;
  startedAt: Instant;
  at: Instant;
  token: string;
  ladder: StopRung[];
  attempts: AttemptOutput[];
  /** Why the step is to end, while that is not yet its attempt's affair. */
  cause: Cause | null;
  failure: Failure | null;
}

type Event = EndEvent | { type: 'deadline.reached'; at: Instant } | { type: 'attempt.released' };

const base = setup({
  types: { context: {} as StepContext, input: {} as StepInput, events: {} as Event, output: {} as StepOutput },
  actors: {
    prepare: port<{ type: 'none' }, { step: string; n: number }, PrepareOutput>('prepare'),
    attempt: port<EndEvent, AttemptInput, AttemptOutput, { type: 'attempt.released' }>('attempt'),
    deadline: port<{ type: 'none' }, { limitMs: number | null }, undefined, { type: 'deadline.reached'; at: Instant }>(
      'deadline',
    ),
  },
  actions: {
    /** Filled with the journal by the runtime. */
    record: (_args, _body: JournalBody) => {},
  },
});

/** What the step's own limit or a request from the run says, as one typed cause. */
function causeIn(event: Event, plan: StepPlan): Cause | null {
  switch (event.type) {
    case 'end':
      return event.cause;
    case 'deadline.reached':
      return { type: 'step-limit', at: event.at, limitMs: plan.timeoutMs ?? 0 };
    case 'attempt.released':
      return null;
  }
}

/** One unit of work, from its preparation to its settling. */
export const stepMachine = base
  .extend({
    guards: {
      ready: ({ event }) => (event as unknown as DoneActorEvent<PrepareOutput>).output.type === 'ready',
    },
    actions: {
      recordStarted: base.enqueueActions(({ context, enqueue }) => {
        enqueue({ type: 'record', params: { type: 'step.started', at: context.startedAt, step: context.plan.id } });
      }),
      recordSettled: base.enqueueActions(({ context, enqueue }) => {
        const { step, outcome: state, cause, failure, at } = conclude(context);
        enqueue({
          type: 'record',
          params: { type: 'step.settled', at, step, state, cause, ...(failure === null ? {} : { error: failure }) },
        });
      }),
      latch: base.assign(({ context, event }) => {
        const cause = causeIn(event, context.plan);
        return cause !== null && outranks(cause, context.cause) ? { cause, at: cause.at } : {};
      }),
      endAttempt: base.enqueueActions(({ context, event, enqueue }) => {
        const cause = causeIn(event, context.plan);
        if (cause !== null) enqueue(sendTo('attempt', { type: 'end', cause } satisfies EndEvent));
      }),
      noteReady: base.assign(({ event }) => {
        const output = (event as unknown as DoneActorEvent<PrepareOutput>).output;
        return output.type === 'ready' ? { token: output.token, ladder: output.ladder, at: output.at } : {};
      }),
      noteRefused: base.assign(({ event }) => {
        const output = (event as unknown as DoneActorEvent<PrepareOutput>).output;
        return output.type === 'refused' ? { failure: output.failure, at: output.at } : {};
      }),
      noteAttempt: base.assign(({ context, event }) => {
        const attempt = (event as unknown as DoneActorEvent<AttemptOutput>).output;
        return { attempts: [...context.attempts, attempt], at: attempt.at };
      }),
      release: base.enqueueActions(({ context, self, enqueue }) => {
        if (self._parent) enqueue.sendTo(self._parent, { type: 'step.released', step: context.plan.id });
      }),
    },
  })
  .createMachine({
    id: 'step',
    description: 'One unit of work of the plan',
    context: ({ input }) => ({
      plan: input.plan,
      n: input.firstAttempt,
      startedAt: input.at,
      at: input.at,
      token: '',
      ladder: [],
      attempts: [],
      cause: null,
      failure: null,
    }),
    entry: 'recordStarted',
    invoke: {
      id: 'deadline',
      src: 'deadline',
      input: ({ context }) => ({ limitMs: context.plan.timeoutMs }),
    },
    initial: 'preparing',
    states: {
      preparing: {
        description: 'The task is filled in, the working folder looked at, the agent found',
        invoke: {
          id: 'prepare',
          src: 'prepare',
          input: ({ context }) => ({ step: context.plan.id, n: context.n }),
          onDone: [
            { guard: 'ready', target: 'attempting', actions: 'noteReady' },
            { target: 'settled', actions: 'noteRefused' },
          ],
        },
        on: {
          end: { target: 'settled', actions: 'latch' },
          'deadline.reached': { target: 'settled', actions: 'latch' },
        },
      },
      attempting: {
        invoke: {
          id: 'attempt',
          src: 'attempt',
          input: ({ context }) => ({
            step: context.plan.id,
            n: context.n,
            token: context.token,
            agent: context.plan.agent,
            model: context.plan.model,
            ladder: context.ladder,
            at: context.at,
          }),
          onDone: { target: 'settled', actions: 'noteAttempt' },
        },
        on: {
          end: { actions: 'endAttempt' },
          'deadline.reached': { actions: 'endAttempt' },
          'attempt.released': { actions: 'release' },
        },
      },
      settled: { type: 'final', entry: 'recordSettled' },
    },
    output: ({ context }) => conclude(context),
    options: { maxIterations: 1_000 },
  });

function conclude(context: StepContext): StepOutput {
  const { plan, attempts, startedAt, at } = context;
  return { step: plan.id, attempts, startedAt, at, ...verdict(context) };
}

function verdict(context: StepContext): { outcome: StepOutcome; cause: Cause; failure: Failure | null } {
  const last = context.attempts.at(-1);
  if (last !== undefined) return settleAttempt(last);
  if (context.cause !== null) {
    const { cause } = context;
    return { outcome: cause.type === 'step-limit' ? 'failed' : outcomeOfWaiting(cause), cause, failure: null };
  }
  const { failure, at } = context;
  return { outcome: 'failed', cause: { type: 'failure', at, reason: failure?.code ?? 'spawn-failed' }, failure };
}
