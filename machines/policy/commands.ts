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
  anyPaused: boolean;
  steps: number;
  /** Null: nobody has asked that. */
  ask(id: string): 'open' | 'ended' | null;
  openSteers: number;
}

export type Refusal =
  { verdict: 'rejected'; reason: RejectReason } | { verdict: 'undelivered'; reason: UndeliveredReason };

/** Most steps a run may have, appended ones included. */
export const MOST_STEPS = 10_000;

const rejected = (reason: RejectReason): Refusal => ({ verdict: 'rejected', reason });
const undelivered = (reason: UndeliveredReason): Refusal => ({ verdict: 'undelivered', reason });

/**
 * Why a command cannot be obeyed now; null: it can. The one place that knows: the run machine asks it, and so does
 * `can`. An attempt can still have committed to its end by the time that a stop or an interrupt reaches it.
 */
export function refusal(view: CommandView, command: Command): Refusal | null {
  switch (view.run) {
    case 'queued':
      return rejected('not-begun');
    case 'running':
      return whileRunning(view, command);
    case 'stopping':
      return whileStopping(view, command);
    case 'finalizing':
      return command.type === 'steer' ? undelivered('run-ended') : rejected('already-ended');
    case 'completed':
    case 'failed':
    case 'stopped':
    case 'paused':
      return command.type === 'steer' ? undelivered('run-ended') : rejected('run-ended');
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
      return command.step === undefined && view.cause?.type === 'interrupt' ? null : rejected('stopping');
    case 'steer':
      return view.step(command.step ?? '') === null && command.step !== undefined
        ? rejected('unknown-step')
        : undelivered('run-ended');
    case 'extend':
      return command.step === undefined ? null : unlessLive(view, command.step);
    case 'resume':
    case 'append':
    case 'answer':
      return rejected('stopping');
  }
}

function unlessOpen(view: CommandView, step: StepId, also?: StepOutcome): Refusal | null {
  const state = view.step(step);
  if (state === null) return rejected('unknown-step');
  return state === 'pending' || state === 'live' || state === also ? null : rejected('already-ended');
}

function unlessLive(view: CommandView, step: StepId, reason: RejectReason = 'not-running'): Refusal | null {
  const state = view.step(step);
  if (state === null) return rejected('unknown-step');
  return state === 'live' ? null : rejected(reason);
}

function unlessPaused(view: CommandView, step: StepId | undefined): Refusal | null {
  if (step === undefined) return view.anyPaused ? null : rejected('not-paused');
  const state = view.step(step);
  if (state === null) return rejected('unknown-step');
  return state === 'paused' ? null : rejected('not-paused');
}

/** A paused step may be resumed, and is spoken to then. */
function unlessReachable(view: CommandView, step: StepId | undefined): Refusal | null {
  const state = step === undefined ? (view.anyLive ? 'live' : 'completed') : view.step(step);
  if (state === null) return rejected('unknown-step');
  if (state !== 'pending' && state !== 'live' && state !== 'paused') return undelivered('step-ended');
  return view.openSteers < MOST_STEERS ? null : undelivered('inbox-full');
}

function unlessNew(view: CommandView, steps: Extract<Command, { type: 'append' }>['steps']): Refusal | null {
  if (steps.length === 0) return rejected('invalid');
  if (view.steps + steps.length > MOST_STEPS) return rejected('too-many');
  const added = new Set<StepId>();
  for (const { id, needs } of steps) {
    if (view.step(id) !== null || added.has(id)) return rejected('step-exists');
    // Needs point backwards: no way round.
    if (needs.some((need) => view.step(need) === null && !added.has(need))) return rejected('unknown-step');
    added.add(id);
  }
  return null;
}

function unlessWaiting(view: CommandView, id: string): Refusal | null {
  const ask = view.ask(id);
  if (ask === null) return rejected('unknown-ask');
  return ask === 'open' ? null : rejected('not-waiting');
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
