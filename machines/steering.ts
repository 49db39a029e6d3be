import { setup } from 'xstate';
import { isOpen, moved, stateOf, steerStatus } from './policy/steering.ts';
import { later } from './policy/time.ts';
import type {
  Instant,
  JournalBody,
  SteeringEvent,
  SteeringInput,
  SteeringNews,
  SteeringOutput,
  StepId,
  Target,
  TargetState,
  UndeliveredReason,
} from './protocol.ts';

/** A target, and what only the request itself has to know of it. */
export interface OpenTarget extends Target {
  /** To which it was handed over. */
  attempt: number | null;
}

export interface SteeringContext extends Omit<SteeringInput, 'targets'> {
  expiresAt: Instant | null;
  targets: OpenTarget[];
  /** When something last became of it. */
  changedAt: Instant;
}

/** What an event makes of a target. */
type Change = { step: StepId; at: Instant } & (
  | { state: 'routed'; attempt: number }
  | { state: 'queued' | 'delivered' }
  | { state: 'undelivered'; reason: UndeliveredReason }
);

const base = setup({
  types: {
    context: {} as SteeringContext,
    input: {} as SteeringInput,
    events: {} as SteeringEvent,
    output: {} as SteeringOutput,
  },
  actions: {
    /** Filled with the journal by the runtime. */
    record: (_args, _body: JournalBody) => {},
  },
});

const news = (event: SteeringNews): SteeringNews => event;

/**
 * What an event changes. An attempt that closes without having said a word of a message that it was given: nobody knows
 * whether it was taken. One that had queued it has not taken it.
 */
function changesBy(event: SteeringEvent, { targets }: SteeringContext): Change[] {
  const { at } = event;
  const open = targets.filter(isOpen);
  const lost = (some: OpenTarget[], reasonFor: (target: OpenTarget) => UndeliveredReason): Change[] =>
    some.map((target) => ({ step: target.step, at, state: 'undelivered', reason: reasonFor(target) }));
  switch (event.type) {
    case 'attempt.live':
      return open
        .filter(({ step, state }) => step === event.step && state === 'scheduled')
        .map(({ step }) => ({ step, at, state: 'routed', attempt: event.attempt }));
    case 'attempt.over':
      return lost(
        open.filter(({ step, attempt }) => step === event.step && attempt === event.attempt),
        ({ state }) => (state === 'queued' ? 'step-ended' : 'unconfirmed'),
      );
    case 'step.over':
      return lost(
        open.filter(({ step }) => step === event.step),
        () => 'step-ended',
      );
    case 'run.over':
      return lost(
        open.filter(({ state }) => state === 'scheduled'),
        () => 'run-ended',
      );
    case 'steer.heard':
      return open.filter(({ step, attempt }) => step === event.step && attempt !== null).flatMap(heard);
  }
  function heard({ step, state }: OpenTarget): Change[] {
    if (event.type !== 'steer.heard') return [];
    switch (event.state) {
      case 'queued':
        return state === 'routed' ? [{ step, at, state: 'queued' }] : [];
      case 'taken':
        // Into a turn that may still be dropped: that it went on with it is what counts.
        return [];
      case 'delivered':
        return [{ step, at, state: 'delivered' }];
      case 'undelivered':
        return [{ step, at, state: 'undelivered', reason: event.reason }];
    }
  }
}

const applied = (targets: OpenTarget[], change: Change): OpenTarget[] => {
  const { step, state } = change;
  const to = {
    state: state as TargetState,
    ...(change.state === 'undelivered' ? { reason: change.reason } : {}),
    ...(change.state === 'routed' ? { attempt: change.attempt } : {}),
  };
  return moved(targets, step, to);
};

function recordOf(id: string, change: Change): JournalBody {
  const { at, step } = change;
  switch (change.state) {
    case 'routed':
      return { type: 'steer.routed', at, id, step, attempt: change.attempt };
    case 'queued':
      return { type: 'steer.queued', at, id, step };
    case 'delivered':
      return { type: 'steer.delivered', at, id, step };
    case 'undelivered':
      return { type: 'steer.undelivered', at, id, step, reason: change.reason };
  }
}

/** A message for running agents, until it is known what became of it at each of them. */
export const steeringMachine = base
  .extend({
    guards: {
      changes: ({ context, event }) => changesBy(event, context).length > 0,
      expires: ({ context }) => context.expiresMs !== null,
      routed: ({ context }) => stateOf(context.targets) === 'routed',
      queued: ({ context }) => stateOf(context.targets) === 'queued',
      delivered: ({ context }) => stateOf(context.targets) === 'delivered',
      undelivered: ({ context }) => stateOf(context.targets) === 'undelivered',
    },
    // XState has no "never": without a time of its own a request expires in 24 days, and a guard forbids it.
    delays: { expiry: ({ context }) => context.expiresMs ?? 2 ** 31 - 1 },
    actions: {
      recordScheduled: base.enqueueActions(({ context, enqueue }) => {
        const { id, source, mode, text, at, expiresAt } = context;
        const targets = context.targets.map(({ step }) => step);
        enqueue({
          type: 'record',
          params: { type: 'steer.scheduled', at, id, source, mode, text, targets, expiresAt },
        });
      }),
      apply: base.enqueueActions(({ context, event, enqueue, self }) => {
        const changes = changesBy(event, context);
        enqueue.assign({ targets: changes.reduce(applied, context.targets), changedAt: event.at });
        const { id, mode } = context;
        for (const change of changes) {
          enqueue({ type: 'record', params: recordOf(id, change) });
          if (change.state !== 'routed' || !self._parent) continue;
          enqueue.sendTo(self._parent, news({ type: 'steer.hand', at: change.at, id, step: change.step, mode }));
        }
      }),
      expire: base.enqueueActions(({ context, enqueue }) => {
        const at = later(context.at, context.expiresMs ?? 0);
        const changes = context.targets
          .filter(isOpen)
          .map(({ step }): Change => ({ step, at, state: 'undelivered', reason: 'expired' }));
        enqueue.assign({ targets: changes.reduce(applied, context.targets), changedAt: at });
        for (const change of changes) enqueue({ type: 'record', params: recordOf(context.id, change) });
      }),
      tellWaits: base.enqueueActions(({ context, enqueue, self }) => {
        if (!self._parent) return;
        enqueue.sendTo(self._parent, news({ type: 'steer.waits', at: context.changedAt, id: context.id }));
      }),
      /** Known already, or of no consequence yet. */
      passOver: () => {},
    },
  })
  .createMachine({
    id: 'steering',
    description: 'A message for running agents, until it is known whether they took it',
    context: ({ input }) => ({
      ...input,
      expiresAt: input.expiresMs === null ? null : later(input.at, input.expiresMs),
      targets: input.targets.map((step) => ({ step, state: 'scheduled', attempt: null })),
      changedAt: input.at,
    }),
    entry: 'recordScheduled',
    initial: 'open',
    states: {
      open: {
        description: 'As far as the slowest of its targets',
        initial: 'scheduled',
        after: { expiry: { guard: 'expires', actions: 'expire' } },
        on: {
          'attempt.live': [{ guard: 'changes', actions: 'apply' }, { actions: 'passOver' }],
          'attempt.over': [{ guard: 'changes', actions: 'apply' }, { actions: 'passOver' }],
          'step.over': [{ guard: 'changes', actions: 'apply' }, { actions: 'passOver' }],
          'run.over': [{ guard: 'changes', actions: 'apply' }, { actions: 'passOver' }],
          'steer.heard': [{ guard: 'changes', actions: 'apply' }, { actions: 'passOver' }],
        },
        states: {
          scheduled: {
            description: 'A target has no attempt that could be spoken to',
            always: [
              { guard: 'routed', target: 'routed' },
              { guard: 'queued', target: 'queued' },
              { guard: 'undelivered', target: '#steering.undelivered' },
            ],
          },
          routed: {
            description: 'It was handed over; nothing was heard of it yet',
            always: [
              { guard: 'queued', target: 'queued' },
              { guard: 'delivered', target: '#steering.delivered' },
              { guard: 'undelivered', target: '#steering.undelivered' },
            ],
          },
          queued: {
            description: 'It waits in the queue of its agent',
            entry: 'tellWaits',
            always: [
              { guard: 'delivered', target: '#steering.delivered' },
              { guard: 'undelivered', target: '#steering.undelivered' },
            ],
          },
        },
      },
      delivered: { type: 'final', description: 'Every target took it and went on with it' },
      undelivered: { type: 'final', description: 'A target did not, or nobody knows' },
    },
    output: ({ context }) => conclude(context),
    options: { maxIterations: 1_000 },
  });

function conclude(context: SteeringContext): SteeringOutput {
  const { targets, changedAt } = context;
  const state = stateOf(targets) === 'delivered' ? 'delivered' : 'undelivered';
  const unheard = targets.filter((target) => target.reason === 'expired' && target.attempt !== null);
  return { ...steerStatus(context, changedAt), state, unheard: unheard.map(({ step }) => step), endedAt: changedAt };
}
