import { type DoneActorEvent, assertEvent } from 'xstate';
import { askActor, stepActor, steeringActor } from './actor-ids.ts';
import { counted, kept, refusedStatus } from './policy/steering.ts';
import { planOf } from './policy/schedule.ts';
import { type RunContext, base } from './run-base.ts';
import type {
  Answer,
  AskEvent,
  AskInput,
  AskOutput,
  Command,
  Instant,
  MessageNotice,
  StepId,
  SteerStatus,
  SteeringEvent,
  SteeringInput,
  SteeringNews,
  SteeringOutput,
  Target,
  UndeliveredReason,
} from './protocol.ts';

/** What a run does about messages to its agents and about their questions. */

/** Of those whose time was over while they were with an agent. */
const MOST_UNHEARD = 256;
/** Asks that are open at one time; one more is declined. */
const MOST_ASKS = 64;

const toSteering = (event: SteeringEvent): SteeringEvent => event;
const toAsk = (event: AskEvent): AskEvent => event;
const toStep = (event: MessageNotice): MessageNotice => event;

/** To the agents that work; when none does yet, to those that will. */
function targetsOf({ live, attempts }: RunContext, step: StepId | undefined): StepId[] {
  if (step !== undefined) return [step];
  const working = live.filter((id) => attempts[id] !== undefined);
  return working.length > 0 ? working : live;
}

/** Requests that are open and meant for this step. */
export const steersOf = ({ steers }: RunContext, step: StepId): string[] =>
  steers.flatMap(({ id, steps }) => (steps.includes(step) ? [id] : []));

export const openSteering = base.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, 'run.command');
  const { at, command } = event;
  if (command.type !== 'steer') return;
  const { id, source, mode, text, expiresMs = null } = command;
  const targets = targetsOf(context, command.step);
  // Of what is to be read after the answer nothing need be heard before it.
  const recoverAfterMs = mode === 'next' ? null : context.recoverAfterMs;
  const input: SteeringInput = { id, source, mode, text, targets, expiresMs, recoverAfterMs, at };
  enqueue.spawnChild('steering', { id: steeringActor(id), input });
  enqueue.assign({ steers: [...context.steers, { id, steps: targets }] });
  for (const step of targets) {
    const attempt = context.attempts[step];
    if (attempt !== undefined)
      enqueue.sendTo(steeringActor(id), toSteering({ type: 'attempt.live', at, step, attempt }));
  }
});

/** A request that was not taken on, as far as the ledger goes. */
export function refusedSteer(
  context: RunContext,
  { id, source, mode, text }: Extract<Command, { type: 'steer' }>,
  reason: UndeliveredReason,
  at: Instant,
): RunContext['steering'] {
  return ended(context, refusedStatus({ id, source, mode, text, at, reason }));
}

const ended = ({ steering }: RunContext, one: SteerStatus): RunContext['steering'] => ({
  totals: counted(steering.totals, one),
  recent: kept(steering.recent, one),
});

export const endSteering = base.enqueueActions(({ context, event, enqueue }) => {
  const { unheard, ...status } = (event as unknown as DoneActorEvent<SteeringOutput>).output;
  const { id, state, reason, partial, endedAt: at } = status;
  enqueue.stopChild(steeringActor(id));
  enqueue.assign({
    steers: context.steers.filter((one) => one.id !== id),
    steering: ended(context, status),
    unheard: [...context.unheard, ...unheard.map((step) => ({ id, step }))].slice(-MOST_UNHEARD),
  });
  enqueue({ type: 'answer', params: answerTo(status) });
  if (state === 'delivered') return;
  const outcome = partial === true ? 'partial' : 'undelivered';
  const because = reason ?? 'failed';
  enqueue({
    type: 'record',
    params: { type: 'notice', at, about: 'steering', id, state: outcome, reason: because },
  });
});

/** A receipt must not hide what was done for it. */
const RECOVERED = 'nothing was heard of it at first: an agent was interrupted and resumed for it, once';

const MOST_NAMED = 3;
const NOT_TAKEN: Record<UndeliveredReason, string> = {
  unsupported: 'cannot be spoken to',
  expired: 'had not taken it when its time was over',
  conflict: 'has had another message with this id',
  aborted: 'took it into a turn that was dropped',
  unconfirmed: 'ended without a word of it',
  'step-ended': 'ended before it was taken',
  'run-ended': 'did not begin before the run was ended',
  'inbox-full': 'had no room for it',
  failed: 'could not be given it',
};

/** Which steps have not taken it, and why; and what was done for it. */
function detailOf(targets: readonly Target[], recovered: boolean): { detail?: string } {
  const missed = targets.flatMap(({ step, reason }) =>
    reason === undefined ? [] : [`step ${step} ${NOT_TAKEN[reason]}`],
  );
  const more = missed.length > MOST_NAMED ? [`and ${missed.length - MOST_NAMED} more`] : [];
  const parts = [...missed.slice(0, MOST_NAMED), ...more, ...(recovered ? [RECOVERED] : [])];
  return parts.length === 0 ? {} : { detail: parts.join('; ') };
}

const answerTo = ({ id, state, reason, partial, recovered, targets, targetCount, endedAt }: SteerStatus): Answer => ({
  id,
  command: 'steer',
  verdict: state === 'delivered' ? 'delivered' : 'undelivered',
  ...(reason === undefined ? {} : { reason }),
  at: endedAt ?? '',
  ...(targetCount > 1 ? { targets } : {}),
  ...(partial === true ? { partial } : {}),
  ...detailOf(targets, recovered === true),
});

export const handOver = base.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, 'steer.hand');
  const { at, id, step, mode } = event;
  if (context.live.includes(step)) enqueue.sendTo(stepActor(step), toStep({ type: 'steer', at, id, mode }));
});

export const tellQueued = base.enqueueActions(({ event, enqueue }) => {
  assertEvent(event, 'steer.waits');
  const { at, id } = event;
  enqueue({ type: 'progress', params: { id, command: 'steer', verdict: 'queued', at } });
});

/** What an agent says of a message; of one whose end is known already only that it took it after all. */
export const hearOfSteer = base.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, 'steer.heard');
  const { id, step, at, state } = event;
  if (context.steers.some((one) => one.id === id)) {
    enqueue.sendTo(steeringActor(id), toSteering(event));
    return;
  }
  const isLate = context.unheard.some((one) => one.id === id && one.step === step);
  if (!isLate || (state !== 'delivered' && state !== 'undelivered')) return;
  const unheard = context.unheard.filter((one) => one.id !== id || one.step !== step);
  enqueue.assign({ unheard });
  if (state === 'undelivered') return;
  const { totals, recent } = context.steering;
  enqueue.assign({ steering: { totals: { ...totals, late: totals.late + 1 }, recent } });
  enqueue({ type: 'record', params: { type: 'steer.late', at, id, step } });
});

/** Once in a run, and only for a message that is still with the attempt it was given to. */
export function mayRecover(
  { recovery, attempts }: RunContext,
  { step, attempt }: Extract<SteeringNews, { type: 'steer.missed' }>,
): boolean {
  return recovery === null && attempts[step] === attempt;
}

export const askRecovery = base.enqueueActions(({ event, enqueue }) => {
  assertEvent(event, 'steer.missed');
  const { at, id, step, attempt } = event;
  enqueue.assign({ recovery: { id, step, state: 'asked' } });
  enqueue.sendTo(stepActor(step), toStep({ type: 'steer.recover', at, id, attempt }));
});

/** One that cannot be resumed has not been interrupted either: another may be. */
export const hearOfRecovery = base.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, 'steer.recovery');
  const { id, step, taken } = event;
  enqueue.assign({ recovery: taken ? { id, step, state: 'taken' } : null });
  if (taken && context.steers.some((one) => one.id === id)) enqueue.sendTo(steeringActor(id), toSteering(event));
});

export const noteLive = base.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, 'attempt.live');
  enqueue.assign({ attempts: { ...context.attempts, [event.step]: event.attempt } });
  for (const id of steersOf(context, event.step)) enqueue.sendTo(steeringActor(id), toSteering(event));
});

/** Another attempt comes; the last one of a step is ended with the step. */
export const noteOver = base.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, 'attempt.over');
  endAttempt(context, enqueue, event);
  tellAttemptOver(context, enqueue, event);
});

type AttemptOver = Extract<SteeringEvent, { type: 'attempt.over' }>;
interface Enqueue {
  assign: (what: Partial<RunContext>) => void;
  sendTo: (target: string, event: SteeringEvent | AskEvent) => void;
}

/** To the messages that it may have had. Where its step is over too, that says it. */
export function tellAttemptOver(context: RunContext, enqueue: Enqueue, over: AttemptOver): void {
  for (const id of steersOf(context, over.step)) enqueue.sendTo(steeringActor(id), over);
}

/** Nobody hears of a closed attempt any more, and nobody waits for its questions. */
export function endAttempt(context: RunContext, enqueue: Enqueue, over: AttemptOver): void {
  const { at, step, attempt } = over;
  const { [step]: _closed, ...attempts } = context.attempts;
  const { recovery } = context;
  // It has closed without a word of whether it is resumed: it is not.
  const isMoot = recovery?.state === 'asked' && recovery.step === step;
  enqueue.assign({
    attempts,
    unheard: context.unheard.filter((one) => one.step !== step),
    ...(isMoot ? { recovery: null } : {}),
  });
  for (const ask of context.asks) {
    if (ask.step === step && ask.attempt === attempt) enqueue.sendTo(askActor(ask.id), { type: 'ask.gone', at });
  }
}

/** Nothing starts any more: what waits for a start waits in vain, and nobody will answer. */
export const tellRunOver = base.enqueueActions(({ context, enqueue }) => {
  const { at, steers, asks } = context;
  for (const { id } of steers) enqueue.sendTo(steeringActor(id), toSteering({ type: 'run.over', at }));
  for (const { id } of asks) enqueue.sendTo(askActor(id), toAsk({ type: 'run.over', at }));
});

/** One more than can be open, and one that comes while everything is being ended, is declined. */
export const openAsk = base.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, 'ask.asked');
  const { ask: id, step, attempt, at, text, expiresAt } = event;
  const isKnown = [...context.asks, ...context.asked].some((one) => one.id === id);
  const plan = planOf(context.steps, step);
  if (isKnown || plan === undefined) return;
  const isTooMuch = context.cause !== null || context.asks.length >= MOST_ASKS;
  const input: AskInput = { id, step, attempt, at, text, expiresAt };
  enqueue.spawnChild('ask', { id: askActor(id), input });
  if (isTooMuch || plan.asks === 'decline') enqueue.sendTo(askActor(id), toAsk({ type: 'ask.decline', at }));
  enqueue.assign({ asks: [...context.asks, { id, step, attempt }] });
});

export const withdrawAsk = base.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, 'ask.gone');
  const { ask, step, at } = event;
  if (!context.asks.some((one) => one.id === ask && one.step === step)) return;
  enqueue.sendTo(askActor(ask), toAsk({ type: 'ask.gone', at }));
});

export const answerAsk = base.enqueueActions(({ event, enqueue }) => {
  assertEvent(event, 'run.command');
  const { at, command } = event;
  if (command.type !== 'answer') return;
  const { ask, id, text } = command;
  enqueue.sendTo(askActor(ask), toAsk({ type: 'ask.answer', at, command: id, text }));
});

export const endAsk = base.enqueueActions(({ context, event, enqueue }) => {
  const { command, ...status } = (event as unknown as DoneActorEvent<AskOutput>).output;
  const { id, step, endedAt: at } = status;
  enqueue.stopChild(askActor(id));
  enqueue.assign({ asks: context.asks.filter((one) => one.id !== id), asked: kept(context.asked, status) });
  // The child waits for a word, unless it is it that does not wait any more.
  if (context.live.includes(step)) {
    enqueue.sendTo(stepActor(step), toStep({ type: 'ask.settled', at, ask: id, command }));
  }
});
