import { setup } from 'xstate';
import { isOpen, moved, stateOf, steerStatus } from './policy/steering.ts';
import { between, later } from './policy/time.ts';
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
  /** To which it was handed over; null: to none that is left. */
  attempt: number | null;
  /** When it was. */
  routedAt: Instant | null;
  /** It has become a part of the conversation: something was heard of it. */
  taken: boolean;
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
  | { state: 'recovering'; attempt: number | null }
  | { state: 'queued' | 'delivered' }
  /** Where it is does not change. */
  | { state: 'taken' }
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

/** XState has no "never": without a time of its own it would be 24 days, and a guard forbids it. */
const NEVER = 2 ** 31 - 1;

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
        .filter(({ step, state, attempt }) => step === event.step && isAwaiting(state, attempt, event.attempt))
        .map(({ step }) => ({ step, at, state: 'routed', attempt: event.attempt }));
    case 'attempt.over':
      return open
        .filter(({ step, attempt }) => step === event.step && attempt === event.attempt)
        .flatMap((target) =>
          target.state === 'recovering'
            ? [{ step: target.step, at, state: 'recovering', attempt: null }]
            : lost([target], reasonOfEnd),
        );
    case 'step.over':
      return lost(
        open.filter(({ step }) => step === event.step),
        reasonOfEnd,
      );
    case 'run.over':
      return lost(
        open.filter(({ attempt }) => attempt === null),
        ({ state }) => (state === 'recovering' ? 'unconfirmed' : 'run-ended'),
      );
    case 'steer.recovery':
      return open
        .filter(({ step, attempt }) => step === event.step && attempt === event.attempt)
        .map(({ step, attempt }) => ({ step, at, state: 'recovering', attempt }));
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
        return state === 'routed' ? [{ step, at, state: 'taken' }] : [];
      case 'delivered':
        return [{ step, at, state: 'delivered' }];
      case 'undelivered':
        // Of one that is being ended to be resumed: it will be handed to the next one, which decides.
        return state === 'recovering' ? [] : [{ step, at, state: 'undelivered', reason: event.reason }];
    }
  }
}

/** One that is resumed for it is another than the one that was interrupted for it. */
const isAwaiting = (state: TargetState, had: number | null, attempt: number): boolean =>
  state === 'scheduled' || (state === 'recovering' && had !== attempt);

/** One that it was handed to has not said a word of it; one that has it in its queue has not taken it. */
const reasonOfEnd = ({ state }: OpenTarget): UndeliveredReason =>
  state === 'routed' || state === 'recovering' ? 'unconfirmed' : 'step-ended';

const applied = (targets: OpenTarget[], change: Change): OpenTarget[] => {
  const { step, at } = change;
  switch (change.state) {
    case 'taken':
      return targets.map((target) => (target.step === step ? { ...target, taken: true } : target));
    case 'routed':
      return moved(targets, step, { state: 'routed', attempt: change.attempt, routedAt: at, taken: false });
    case 'recovering':
      return moved(targets, step, { state: 'recovering', recovered: true, attempt: change.attempt });
    case 'queued':
    case 'delivered':
      return moved(targets, step, { state: change.state });
    case 'undelivered':
      return moved(targets, step, { state: 'undelivered', reason: change.reason });
  }
};

/** Those of which nothing was heard since they were handed over. */
const unheardOf = (targets: readonly OpenTarget[]): (OpenTarget & { attempt: number })[] =>
  targets.flatMap((target) => {
    const { state, attempt, taken } = target;
    return state === 'routed' && attempt !== null && !taken ? [{ ...target, attempt }] : [];
  });

/** From the time that the last was handed over; where it is short, half of what is left is kept for the one resumed. */
function patienceOf({ recoverAfterMs, expiresAt, targets }: SteeringContext): { from: Instant; ms: number } | null {
  const from = targets
    .flatMap(({ routedAt }) => routedAt ?? [])
    .toSorted()
    .at(-1);
  if (recoverAfterMs === null || from === undefined) return null;
  const left = expiresAt === null ? Infinity : Math.max(0, between(from, expiresAt));
  return { from, ms: Math.min(recoverAfterMs, Math.floor(left / 2)) };
}

/** Null: the journal has it already, or it is no news yet. */
function recordOf(id: string, change: Change): JournalBody | null {
  const { at, step } = change;
  switch (change.state) {
    case 'routed':
      return { type: 'steer.routed', at, id, step, attempt: change.attempt };
    case 'recovering':
      return change.attempt === null ? null : { type: 'steer.recovering', at, id, step, attempt: change.attempt };
    case 'taken':
      return null;
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
      recovering: ({ context }) => stateOf(context.targets) === 'recovering',
      misses: ({ context }) => patienceOf(context) !== null && unheardOf(context.targets).length > 0,
      queued: ({ context }) => stateOf(context.targets) === 'queued',
      delivered: ({ context }) => stateOf(context.targets) === 'delivered',
      undelivered: ({ context }) => stateOf(context.targets) === 'undelivered',
    },
    delays: {
      expiry: ({ context }) => context.expiresMs ?? NEVER,
      patience: ({ context }) => patienceOf(context)?.ms ?? NEVER,
    },
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
          const record = recordOf(id, change);
          if (record !== null) enqueue({ type: 'record', params: record });
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
        for (const change of changes) {
          const record = recordOf(context.id, change);
          if (record !== null) enqueue({ type: 'record', params: record });
        }
      }),
      tellWaits: base.enqueueActions(({ context, enqueue, self }) => {
        if (!self._parent) return;
        enqueue.sendTo(self._parent, news({ type: 'steer.waits', at: context.changedAt, id: context.id }));
      }),
      tellMissed: base.enqueueActions(({ context, enqueue, self }) => {
        const patience = patienceOf(context);
        if (!self._parent || patience === null) return;
        const at = later(patience.from, patience.ms);
        for (const { step, attempt } of unheardOf(context.targets)) {
          enqueue.sendTo(self._parent, news({ type: 'steer.missed', at, id: context.id, step, attempt }));
        }
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
      targets: input.targets.map((step) => ({ step, state: 'scheduled', attempt: null, routedAt: null, taken: false })),
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
          'steer.recovery': [{ guard: 'changes', actions: 'apply' }, { actions: 'passOver' }],
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
          recovering: {
            description: 'Nothing was heard of it: an agent is interrupted, and gets it again when it is resumed',
            always: [
              { guard: 'routed', target: 'routed' },
              { guard: 'queued', target: 'queued' },
              { guard: 'delivered', target: '#steering.delivered' },
              { guard: 'undelivered', target: '#steering.undelivered' },
            ],
          },
          routed: {
            description: 'It was handed over; nothing was heard of it yet',
            after: { patience: { guard: 'misses', actions: 'tellMissed' } },
            always: [
              { guard: 'recovering', target: 'recovering' },
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
