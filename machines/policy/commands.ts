import type {
  Cause,
  Command,
  CommandType,
  Possible,
  RejectReason,
  RunState,
  Status,
  StepId,
  StepOutcome,
  StepState,
  UndeliveredReason,
} from '../protocol.ts';
import { MOST_STEERS } from './steering.ts';

/** What of a run decides whether a command can be obeyed: of a machine's context, or of a status. */
export interface CommandView {
  run: RunState;
  /** Why it is being ended. */
  cause: Cause | null;
  /** Null: there is no such step. */
  step(id: StepId): 'pending' | 'live' | StepOutcome | null;
  anyLive: boolean;
  /** Of a step that runs: whether its agent can be spoken to; without a step: of any. */
  listens(id?: StepId): boolean;
  anyPaused: boolean;
  steps: number;
  /** Null: nobody has asked that. */
  ask(id: string): 'open' | 'ended' | null;
  openSteers: number;
}

/** `detail`: which run, step, ask or request it is about, and in what state that is; for people. */
export type Refusal = { detail: string } & (
  { verdict: 'rejected'; reason: RejectReason } | { verdict: 'undelivered'; reason: UndeliveredReason }
);

/** Most steps a run may have, appended ones included. */
export const MOST_STEPS = 10_000;

const rejected = (reason: RejectReason, detail: string): Refusal => ({ verdict: 'rejected', reason, detail });
const undelivered = (reason: UndeliveredReason, detail: string): Refusal => ({
  verdict: 'undelivered',
  reason,
  detail,
});

const MOST_NAME = 100;
/** A name from outside is not shown at any length. */
const nameOf = (id: string): string => (id.length > MOST_NAME ? `${id.slice(0, MOST_NAME)}…` : id);
const noStep = (step: StepId): Refusal => rejected('unknown-step', `there is no step ${nameOf(step)}`);
const stepIs = (step: StepId, state: NonNullable<ReturnType<CommandView['step']>>): string =>
  `step ${nameOf(step)} ${STEP_IS[state]}`;
const STEP_IS: Record<NonNullable<ReturnType<CommandView['step']>>, string> = {
  pending: 'waits for its turn',
  live: 'runs',
  completed: 'has completed',
  failed: 'has failed',
  stopped: 'was stopped',
  paused: 'is paused',
  skipped: 'was skipped',
};
const isEnding = ({ cause }: CommandView): string =>
  `the run is being ended${cause === null ? '' : ` (${cause.type})`}`;

/**
 * Why a command cannot be obeyed now; null: it can. The one place that knows: the run machine asks it, and so does
 * `can`. An attempt can still have committed to its end by the time that a stop or an interrupt reaches it.
 */
export function refusal(view: CommandView, command: Command): Refusal | null {
  switch (view.run) {
    case 'queued':
      return rejected('not-begun', 'the run has not begun');
    case 'running':
      return whileRunning(view, command);
    case 'stopping':
      return whileStopping(view, command);
    case 'finalizing':
      return command.type === 'steer'
        ? undelivered('run-ended', 'the end of the run is decided')
        : rejected('already-ended', 'the end of the run is decided');
    case 'completed':
    case 'failed':
    case 'stopped':
    case 'paused':
      return command.type === 'steer'
        ? undelivered('run-ended', `the run has ended: ${view.run}`)
        : rejected('run-ended', `the run has ended: ${view.run}`);
  }
}

function whileRunning(view: CommandView, command: Command): Refusal | null {
  switch (command.type) {
    case 'stop':
      return command.step === undefined ? null : unlessOpen(view, command.step, 'paused');
    case 'interrupt':
      return command.step === undefined ? null : unlessOpen(view, command.step);
    case 'resume':
      return unlessPaused(view, command.step);
    case 'steer':
      return unlessReachable(view, command.step);
    case 'append':
      return unlessNew(view, command.steps);
    case 'extend':
      return command.step === undefined ? null : unlessLive(view, command.step);
    case 'answer':
      return unlessWaiting(view, command.ask);
  }
}

/** Everything is being ended: it can be ended for a stronger cause, and be given another deadline for it. */
function whileStopping(view: CommandView, command: Command): Refusal | null {
  switch (command.type) {
    case 'stop':
      return command.step === undefined ? null : unlessLive(view, command.step, 'already-ended');
    case 'interrupt':
      return command.step === undefined && view.cause?.type === 'interrupt'
        ? null
        : rejected('stopping', isEnding(view));
    case 'steer':
      return command.step !== undefined && view.step(command.step) === null
        ? noStep(command.step)
        : undelivered('run-ended', isEnding(view));
    case 'extend':
      return command.step === undefined ? null : unlessLive(view, command.step);
    case 'resume':
    case 'append':
    case 'answer':
      return rejected('stopping', isEnding(view));
  }
}

function unlessOpen(view: CommandView, step: StepId, also?: StepOutcome): Refusal | null {
  const state = view.step(step);
  if (state === null) return noStep(step);
  return state === 'pending' || state === 'live' || state === also
    ? null
    : rejected('already-ended', stepIs(step, state));
}

function unlessLive(view: CommandView, step: StepId, reason: RejectReason = 'not-running'): Refusal | null {
  const state = view.step(step);
  if (state === null) return noStep(step);
  return state === 'live' ? null : rejected(reason, stepIs(step, state));
}

function unlessPaused(view: CommandView, step: StepId | undefined): Refusal | null {
  if (step === undefined) return view.anyPaused ? null : rejected('not-paused', 'no step is paused');
  const state = view.step(step);
  if (state === null) return noStep(step);
  return state === 'paused' ? null : rejected('not-paused', stepIs(step, state));
}

/** A paused step may be resumed, and is spoken to then. */
function unlessReachable(view: CommandView, step: StepId | undefined): Refusal | null {
  if (step !== undefined) {
    const state = view.step(step);
    if (state === null) return noStep(step);
    if (state !== 'pending' && state !== 'live' && state !== 'paused')
      return undelivered('step-ended', stepIs(step, state));
    if (state === 'live' && !view.listens(step))
      return undelivered('unsupported', `step ${nameOf(step)} cannot be spoken to`);
  } else if (!view.anyLive) return undelivered('step-ended', 'no step runs');
  else if (!view.listens()) return undelivered('unsupported', 'no step that runs can be spoken to');
  return view.openSteers < MOST_STEERS
    ? null
    : undelivered('inbox-full', `${view.openSteers} messages are open, and no more may be`);
}

function unlessNew(view: CommandView, steps: Extract<Command, { type: 'append' }>['steps']): Refusal | null {
  if (steps.length === 0) return rejected('invalid', 'there are no steps in it');
  if (view.steps + steps.length > MOST_STEPS)
    return rejected('too-many', `the run has ${view.steps} steps, and may have ${MOST_STEPS} at most`);
  const added = new Set<StepId>();
  for (const { id, needs } of steps) {
    if (view.step(id) !== null || added.has(id))
      return rejected('step-exists', `there is a step ${nameOf(id)} already`);
    // Needs point backwards: no way round.
    const missing = needs.find((need) => view.step(need) === null && !added.has(need));
    if (missing !== undefined) return noStep(missing);
    added.add(id);
  }
  return null;
}

function unlessWaiting(view: CommandView, id: string): Refusal | null {
  const ask = view.ask(id);
  if (ask === null) return rejected('unknown-ask', `there is no ask ${nameOf(id)}`);
  return ask === 'open'
    ? null
    : rejected('not-waiting', `ask ${nameOf(id)} has been answered, or nobody waits for it any more`);
}

const LIVE: Record<StepState, boolean> = {
  pending: false,
  preparing: true,
  running: true,
  'backing-off': true,
  completed: false,
  failed: false,
  stopped: false,
  paused: false,
  skipped: false,
};

/** The view of a status, as anybody can read it. */
export function viewOfStatus(status: Status): CommandView {
  const { state, cause = null, steps, asks, steering } = status;
  const byId = new Map(steps.map((step) => [step.id, step.state]));
  const askById = new Map(asks.map((ask) => [ask.id, ask.state]));
  const { scheduled, recovering, routed, queued } = steering.counts;
  return {
    run: state,
    cause,
    step: (id) => {
      const known = byId.get(id);
      return known === undefined ? null : LIVE[known] ? 'live' : (known as 'pending' | StepOutcome);
    },
    anyLive: steps.some((step) => LIVE[step.state]),
    listens: (id) =>
      steps.some((step) => (id === undefined || step.id === id) && LIVE[step.state] && step.listens !== false),
    anyPaused: steps.some((step) => step.state === 'paused'),
    steps: steps.length,
    ask: (id) => {
      const known = askById.get(id);
      return known === undefined ? null : known === 'asked' ? 'open' : 'ended';
    },
    openSteers: scheduled + recovering + routed + queued,
  };
}

/** The commands that a run in this state would obey. Asks the same question of each that the run machine asks. */
export function can(status: Status): Possible[] {
  const view = viewOfStatus(status);
  const text = { chars: 1, sha256: '' };
  const some = { id: '', source: '' };
  const extension = { deadlineAt: status.updatedAt, limitMs: 1 };
  const ofTarget = (step?: StepId): Command[] => {
    const target = step === undefined ? {} : { step };
    return [
      { type: 'stop', ...some, ...target },
      { type: 'interrupt', ...some, ...target },
      { type: 'resume', ...some, ...target },
      { type: 'steer', ...some, ...target, mode: 'auto', text },
      { type: 'extend', ...some, ...target, ...extension },
    ];
  };
  const obeyed = (command: Command): boolean => refusal(view, command) === null;
  const named = (commands: Command[]): Possible[] =>
    commands.filter(obeyed).map(({ type, ...rest }) => ({
      command: type satisfies CommandType,
      ...('step' in rest && rest.step !== undefined ? { step: rest.step } : {}),
      ...('ask' in rest ? { ask: rest.ask } : {}),
    }));
  return [
    ...named(ofTarget()),
    // Whether more steps may come, whatever they are.
    ...(status.state === 'running' && status.steps.length < MOST_STEPS ? [{ command: 'append' } as const] : []),
    ...status.steps.flatMap(({ id }) => named(ofTarget(id))),
    ...named(status.asks.map(({ id }) => ({ type: 'answer', ...some, ask: id, text }))),
  ];
}
