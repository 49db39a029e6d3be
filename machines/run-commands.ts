import { assertEvent } from 'xstate';
import { stepActor, steeringActor } from './actor-ids.ts';
import { outcomeOf, outcomeOfWaiting } from './policy/cause.ts';
import { type CommandView, type Refusal, refusal } from './policy/commands.ts';
import { type RunContext, type RunMachineEvent, base } from './run-base.ts';
import { refusedSteer, steersOf } from './run-messages.ts';
import type {
  Answer,
  Cause,
  Command,
  DeadlineCommand,
  EndEvent,
  Instant,
  JournalBody,
  RunState,
  StepId,
  StepNotice,
  StepOutput,
} from './protocol.ts';

/** What a run does about the commands it gets. Whether it can is decided in `policy/commands.ts`. */

export const neverStarted = (step: StepId, cause: Cause): StepOutput => ({
  step,
  outcome: outcomeOfWaiting(cause),
  cause,
  failure: null,
  attempts: [],
  notes: {},
  startedAt: null,
  before: null,
  at: cause.at,
});

export const settle = (known: StepOutput[], outputs: StepOutput[]): StepOutput[] => [...known, ...outputs];

export function settledRecord({ step, outcome: state, cause, failure, at }: StepOutput): JournalBody {
  return { type: 'step.settled', at, step, state, cause, ...(failure === null ? {} : { error: failure }) };
}

/** What a step that waits comes to when it is ended. One that was resumed has a past. */
export function waitingEnded({ resumed }: RunContext, step: StepId, cause: Cause): StepOutput {
  const before = resumed[step];
  if (before === undefined) return neverStarted(step, cause);
  const outcome = outcomeOfWaiting(cause);
  const { startedAt, attempts, notes } = before;
  const paused = outcome === 'paused' ? before : null;
  return { step, outcome, cause, failure: null, attempts, notes, startedAt, before: paused, at: cause.at };
}

/** The cause that a command brings, of a run or of a step. */
export function causeOfCommand(command: Command, at: Instant): Cause | null {
  switch (command.type) {
    case 'stop': {
      const { id, source, reason } = command;
      return { type: 'stop', at, source, command: id, ...(reason === undefined ? {} : { reason }) };
    }
    case 'interrupt':
      return { type: 'interrupt', at, source: command.source, command: command.id };
    case 'resume':
    case 'steer':
    case 'append':
    case 'extend':
    case 'answer':
      return null;
  }
}

function viewOf(context: RunContext): CommandView {
  const { cause, waiting, live, settled, steps, asks, asked, steers } = context;
  return {
    run: stateOf(context),
    cause,
    step: (id) => {
      if (live.includes(id)) return 'live';
      if (waiting.includes(id)) return 'pending';
      return settled.findLast((one) => one.step === id)?.outcome ?? null;
    },
    anyLive: live.length > 0,
    // The agent itself is asked: it may have begun to listen a moment ago.
    listens: () => true,
    anyPaused: settled.some(({ outcome }) => outcome === 'paused'),
    steps: steps.length,
    ask: (id) => {
      if (asks.some((one) => one.id === id)) return 'open';
      return asked.some((one) => one.id === id) ? 'ended' : null;
    },
    openSteers: steers.length,
  };
}

/** The state as a command finds it. */
function stateOf({ startedAt, cause, outcome, endedAt }: RunContext): RunState {
  if (outcome !== null) return endedAt === null ? 'finalizing' : outcome.state;
  if (cause !== null) return 'stopping';
  return startedAt === '' ? 'queued' : 'running';
}

export const refusalIn = (context: RunContext, event: RunMachineEvent): Refusal | null =>
  event.type === 'run.command' ? refusal(viewOf(context), event.command) : null;

export const commandIn = (event: RunMachineEvent): Command | null =>
  event.type === 'run.command' ? event.command : null;

export const endsRun = (command: Command | null): boolean =>
  (command?.type === 'stop' || command?.type === 'interrupt') && command.step === undefined;

/** Its id belongs to one that is open. */
export const isRepeated = ({ steers, open }: RunContext, command: Command | null): boolean =>
  command !== null && (steers.some(({ id }) => id === command.id) || open.some(({ id }) => id === command.id));

export const acceptCommand = base.enqueueActions(({ event, enqueue }) => {
  assertEvent(event, 'run.command');
  const { id, type: command, source } = event.command;
  enqueue({ type: 'record', params: { type: 'command.accepted', at: event.at, id, command, source } });
});

/** What is obeyed, and perhaps not what was meant. */
function warningOn(command: Command): string | null {
  if (command.type !== 'extend' || command.limitMs > 0) return null;
  const { step, deadlineAt } = command;
  return `${deadlineAt} is over already: ${step === undefined ? 'the run' : `step ${step}`} ends now`;
}

export const answerApplied = base.enqueueActions(({ event, enqueue }) => {
  assertEvent(event, 'run.command');
  const { id, type: command } = event.command;
  const warning = warningOn(event.command);
  enqueue({
    type: 'answer',
    params: { id, command, verdict: 'applied', at: event.at, ...(warning === null ? {} : { detail: warning }) },
  });
});

const REUSED = 'another command with this id is open';

export const answerRepeated = base.enqueueActions(({ event, enqueue }) => {
  assertEvent(event, 'run.command');
  const { id, type: command } = event.command;
  enqueue({
    type: 'answer',
    params: { id, command, verdict: 'conflict', reason: 'id-reused', at: event.at, detail: REUSED },
  });
});

export const refuse = base.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, 'run.command');
  const { at, command } = event;
  const found = refusalIn(context, event);
  if (found === null) return;
  const { id, type } = command;
  enqueue({ type: 'answer', params: { id, command: type, ...found, at } });
  if (command.type !== 'steer' || found.verdict !== 'undelivered') return;
  const { source, mode, text } = command;
  const { reason } = found;
  enqueue.assign({ steering: refusedSteer(context, command, reason, at) });
  enqueue({ type: 'record', params: { type: 'steer.refused', at, id, source, mode, text, reason } });
  enqueue({ type: 'record', params: { type: 'notice', at, about: 'steering', id, state: 'undelivered', reason } });
});

/** Stop or interrupt of one step: one that runs is told, and says what came of it; any other ends at once. */
export const endStep = base.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, 'run.command');
  const { at, command } = event;
  const cause = causeOfCommand(command, at);
  if (cause === null || !('step' in command) || command.step === undefined) return;
  const { id, type, step } = command;
  if (context.live.includes(step)) {
    enqueue.assign({ open: [...context.open, { id, type, step }] });
    enqueue.sendTo(stepActor(step), { type: 'end', cause, command: id } satisfies EndEvent);
    return;
  }
  const paused = context.settled.find((one) => one.step === step);
  const output =
    paused === undefined
      ? waitingEnded(context, step, cause)
      : { ...paused, outcome: outcomeOf(cause), cause, before: null, at };
  enqueue.assign({
    waiting: context.waiting.filter((one) => one !== step),
    settled: settle(
      context.settled.filter((one) => one.step !== step),
      [output],
    ),
    at,
  });
  enqueue({ type: 'record', params: settledRecord(output) });
  tellStepOver(context, enqueue, output);
  enqueue({ type: 'answer', params: { id, command: type, verdict: 'applied', at } });
});

/** A paused step can be spoken to when it is resumed; any other that has settled cannot. */
export function tellStepOver(
  context: RunContext,
  enqueue: { sendTo: (target: string, event: { type: 'step.over'; at: Instant; step: StepId }) => void },
  { step, outcome, at }: StepOutput,
): void {
  if (outcome === 'paused') return;
  for (const id of steersOf(context, step)) enqueue.sendTo(steeringActor(id), { type: 'step.over', at, step });
}

/** The answer to one that would have ended a step. */
export const tooLate = (step: StepId, how: string): Pick<Answer, 'verdict' | 'reason' | 'detail'> => ({
  verdict: 'rejected',
  reason: 'already-ended',
  detail: `step ${step} ${how}`,
});

export const hearOfCommand = base.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, 'command.heard');
  const { at, command: id, taken } = event;
  const open = context.open.find((one) => one.id === id);
  if (open === undefined) return;
  enqueue.assign({ open: context.open.filter((one) => one !== open) });
  enqueue({
    type: 'answer',
    params: {
      id,
      command: open.type,
      ...(taken ? { verdict: 'applied' } : tooLate(open.step, 'had come to its end before it')),
      at,
    },
  });
});

/** Paused steps wait for their turn again, in plan order. */
export const resumeSteps = base.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, 'run.command');
  const { at, command } = event;
  if (command.type !== 'resume') return;
  const { id, step: only } = command;
  const chosen = context.settled.filter(
    ({ step, outcome }) => outcome === 'paused' && (only === undefined || only === step),
  );
  const ids = new Set(chosen.map(({ step }) => step));
  const wait = new Set([...context.waiting, ...ids]);
  const past = chosen.flatMap(({ step, before }) => (before === null ? [] : [[step, before] as const]));
  enqueue.assign({
    settled: context.settled.filter(({ step }) => !ids.has(step)),
    waiting: context.steps.map((step) => step.id).filter((one) => wait.has(one)),
    resumed: { ...context.resumed, ...Object.fromEntries(past) },
    at,
  });
  for (const step of ids) enqueue({ type: 'record', params: { type: 'step.resumed', at, step, command: id } });
});

export const append = base.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, 'run.command');
  const { at, command } = event;
  if (command.type !== 'append') return;
  const { id, steps } = command;
  enqueue.assign({
    steps: [...context.steps, ...steps],
    waiting: [...context.waiting, ...steps.map((step) => step.id)],
    at,
  });
  enqueue({ type: 'record', params: { type: 'run.appended', at, command: id, steps } });
});

/** A new deadline, of the run or of one step; what is over already is over at once. */
export const extend = base.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, 'run.command');
  const { at, command } = event;
  if (command.type !== 'extend') return;
  const { step, deadlineAt, limitMs } = command;
  if (step !== undefined) {
    enqueue.sendTo(stepActor(step), { type: 'step.extend', at, deadlineAt, limitMs } satisfies StepNotice);
    return;
  }
  enqueue.assign({ deadlineAt, limitMs });
  enqueue.sendTo('deadline', { type: 'deadline.set', limitMs } satisfies DeadlineCommand);
  enqueue({ type: 'record', params: { type: 'run.deadline-moved', at, from: context.deadlineAt, to: deadlineAt } });
  const notice: StepNotice = { type: 'deadline.moved', at, deadlineAt };
  for (const id of context.live) enqueue.sendTo(stepActor(id), notice);
});
