import { assertEvent, setup } from 'xstate';
import { between } from './policy/time.ts';
import type { AskEvent, AskInput, AskOutput, AskState, AskStatus, Instant, JournalBody } from './protocol.ts';

export interface AskContext extends AskInput {
  /** The command that answered it. */
  command: string | null;
  endedAt: Instant;
}

const base = setup({
  types: {
    context: {} as AskContext,
    input: {} as AskInput,
    events: {} as AskEvent,
    output: {} as AskOutput,
  },
  actions: {
    /** Filled with the journal by the runtime. */
    record: (_args, _body: JournalBody) => {},
  },
});

/** A question of a child to its supervisor. */
export const askMachine = base
  .extend({
    guards: {
      expires: ({ context }) => context.expiresAt !== null,
    },
    // XState has no "never": a guard forbids it.
    delays: {
      expiry: ({ context: { at, expiresAt } }) =>
        expiresAt === null ? 2 ** 31 - 1 : Math.min(2 ** 31 - 1, Math.max(0, between(at, expiresAt))),
    },
    actions: {
      recordAsked: base.enqueueActions(({ context, enqueue }) => {
        const { id, step, attempt, text, expiresAt, at } = context;
        enqueue({ type: 'record', params: { type: 'ask.asked', at, id, step, attempt, text, expiresAt } });
      }),
      answer: base.enqueueActions(({ context, event, enqueue }) => {
        assertEvent(event, 'ask.answer');
        const { at, command, text } = event;
        const { id, step } = context;
        enqueue.assign({ command, endedAt: at });
        enqueue({ type: 'record', params: { type: 'ask.answered', at, id, step, command, text } });
      }),
      decline: base.enqueueActions(({ context, event, enqueue }) => {
        const { id, step } = context;
        enqueue.assign({ endedAt: event.at });
        enqueue({ type: 'record', params: { type: 'ask.declined', at: event.at, id, step } });
      }),
      expire: base.enqueueActions(({ context, enqueue }) => {
        const { id, step, expiresAt } = context;
        const at = expiresAt ?? context.at;
        enqueue.assign({ endedAt: at });
        enqueue({ type: 'record', params: { type: 'ask.expired', at, id, step, reason: 'time' } });
      }),
      withdraw: base.enqueueActions(({ context, event, enqueue }) => {
        const { id, step } = context;
        enqueue.assign({ endedAt: event.at });
        enqueue({ type: 'record', params: { type: 'ask.expired', at: event.at, id, step, reason: 'gone' } });
      }),
      endWithRun: base.enqueueActions(({ context, event, enqueue }) => {
        const { id, step } = context;
        enqueue.assign({ endedAt: event.at });
        enqueue({ type: 'record', params: { type: 'ask.run-ended', at: event.at, id, step } });
      }),
    },
  })
  .createMachine({
    id: 'ask',
    description: 'A question of a child to its supervisor',
    context: ({ input }) => ({ ...input, command: null, endedAt: input.at }),
    entry: 'recordAsked',
    initial: 'asked',
    states: {
      asked: {
        description: 'Somebody is waited for; the limits of step and run go on',
        on: {
          'ask.answer': { target: 'answered', actions: 'answer' },
          'ask.decline': { target: 'declined', actions: 'decline' },
          'ask.gone': { target: 'expired', actions: 'withdraw' },
          'run.over': { target: 'run-ended', actions: 'endWithRun' },
        },
        after: { expiry: { guard: 'expires', target: 'expired', actions: 'expire' } },
      },
      answered: { type: 'final', output: 'answered' },
      declined: { type: 'final', output: 'declined', description: 'The plan says that nobody is there to answer' },
      expired: { type: 'final', output: 'expired', description: 'Its time was over, or the child no longer waits' },
      'run-ended': { type: 'final', output: 'run-ended' },
    },
    output: ({ context, event }) => {
      // Of the state it has ended in.
      const state = event.output as AskOutput['state'];
      const { command, endedAt } = context;
      return { ...askStatus(context, state), state, command, endedAt };
    },
    options: { maxIterations: 1_000 },
  });

export function askStatus(context: AskContext, state: AskState): AskStatus {
  const { id, step, attempt, text, at, expiresAt, endedAt } = context;
  return {
    id,
    step,
    attempt,
    text,
    at,
    ...(expiresAt === null ? {} : { expiresAt }),
    state,
    ...(state === 'asked' ? {} : { endedAt }),
  };
}
