import type { AnyMachineSnapshot, Snapshot } from 'xstate';
import { askActor, stepActor, steeringActor } from './actor-ids.ts';
import type { AskContext } from './ask.ts';
import { askStatus } from './ask.ts';
import { MOST_ATTEMPTS, attemptStatus, count, pendingStep, totalUsage } from './fold.ts';
import { nestedOf } from './policy/nested.ts';
import { NO_USAGE, addUsage } from './policy/outcome.ts';
import { summarize } from './policy/proof.ts';
import { steerStatus, steeringOf } from './policy/steering.ts';
import type { RunContext } from './run-base.ts';
import type {
  Activity,
  AskStatus,
  AttemptOutput,
  Instant,
  NestedSeen,
  NestedStatus,
  OpenTool,
  RunState,
  Status,
  StepBefore,
  StepOutput,
  StepPlan,
  StepStatus,
  SteerStatus,
  Usage,
} from './protocol.ts';
import type { SteeringContext } from './steering.ts';

export { fold, stable } from './fold.ts';

/**
 * Status three ways: `project` reads it off the machine snapshots, `fold` rebuilds it from the journal, and
 * `stable` drops what changes without an event. At equal `seq`, fold(events) = stable(project(snapshot)).
 */

/* ------------------------------------------------------------------ project */

interface StepContext {
  firstAttempt: number;
  n: number;
  startedAt: Instant;
  attempts: AttemptOutput[];
  notes: Record<number, string>;
}
interface AttemptContext {
  pid: number | null;
  model: string | null;
  usage: Usage;
  tool: OpenTool | null;
  forcedExit: boolean;
  listens: boolean;
  activity: Activity;
  lastActivityAt: Instant | null;
  lastProgressAt: Instant | null;
}

/**
 * The status of a run, from its snapshot and those of the actors below it. Pure.
 * `seq` is the last journal event the snapshot reflects; `updatedAt` is when this was asked.
 */
export function project(snapshot: AnyMachineSnapshot, when: { seq: number; updatedAt: Instant }): Status {
  const context = snapshot.context as RunContext;
  const settled = new Map(context.settled.map((one) => [one.step, one]));
  const asks = asksOf(snapshot, context);
  const waiting = new Set(asks.flatMap(({ step, state }) => (state === 'asked' ? [step] : [])));
  const steps = context.steps.map((plan) => {
    const done = settled.get(plan.id);
    if (done !== undefined) return settledStep(plan, done);
    const live = snapshot.children[stepActor(plan.id)]?.getSnapshot() as AnyMachineSnapshot | undefined;
    if (live === undefined) return waitingStep(plan, context.resumed[plan.id]);
    return { ...liveStep(plan, live), ...(waiting.has(plan.id) ? { waiting: 'person' as const } : {}) };
  });
  const { totals, recent } = context.steering;
  const ended = context.endedAt === null ? null : context.outcome;
  const cause = ended?.cause ?? context.cause;
  return {
    v: 1,
    id: context.id,
    seq: when.seq,
    epoch: context.epoch,
    name: context.name,
    state: runState(snapshot, context),
    ...(cause === null ? {} : { cause }),
    ...(ended?.partial === true ? { partial: true } : {}),
    startedAt: context.startedAt,
    updatedAt: when.updatedAt,
    ...(context.endedAt === null ? {} : { endedAt: context.endedAt }),
    ...(context.deadlineAt === null ? {} : { deadlineAt: context.deadlineAt }),
    owner: context.owner,
    limits: context.limits,
    usage: totalUsage(steps),
    steps,
    counts: count(steps),
    labels: context.labels,
    steering: steeringOf(totals, recent, openSteers(snapshot, context)),
    asks,
    ...(context.parent === undefined ? {} : { parent: context.parent }),
    ...nestedOf(context.nested.map(shownOf)),
    ...(context.degraded ? { persistence: 'degraded' } : {}),
  };
}

function runState(snapshot: AnyMachineSnapshot, context: RunContext): RunState {
  if (context.endedAt !== null && context.outcome !== null) return context.outcome.state;
  if (snapshot.matches('queued')) return 'queued';
  if (snapshot.matches({ active: 'running' })) return 'running';
  if (snapshot.matches({ active: 'stopping' })) return 'stopping';
  return 'finalizing';
}

/** Without what orders the looks at it. */
const shownOf = ({ epoch: _epoch, seq: _seq, ...shown }: NestedSeen): NestedStatus => shown;

function openSteers(snapshot: AnyMachineSnapshot, { steers }: RunContext): SteerStatus[] {
  return steers.flatMap(({ id }) => {
    const open = snapshot.children[steeringActor(id)]?.getSnapshot() as { context: SteeringContext } | undefined;
    return open === undefined ? [] : [steerStatus(open.context, open.context.changedAt)];
  });
}

function asksOf(snapshot: AnyMachineSnapshot, { asks, asked }: RunContext): AskStatus[] {
  const open = asks.flatMap(({ id }) => {
    const ask = snapshot.children[askActor(id)]?.getSnapshot() as { context: AskContext } | undefined;
    return ask === undefined ? [] : [askStatus(ask.context, 'asked')];
  });
  return [...asked, ...open];
}

/** One that was resumed has a past. */
function waitingStep(plan: StepPlan, before: StepBefore | undefined): StepStatus {
  if (before === undefined) return pendingStep(plan);
  const last = before.attempts.at(-1);
  return {
    ...pendingStep(plan),
    attempt: last?.n ?? 0,
    ...(before.startedAt === null ? {} : { startedAt: before.startedAt }),
    ...(last === undefined ? {} : closedAttempt(last, before.attempts, before.notes)),
  };
}

function liveStep(plan: StepPlan, snapshot: AnyMachineSnapshot): StepStatus {
  const step = snapshot.context as StepContext;
  const { id, agent, needs } = plan;
  const attempt = (snapshot.children['attempt']?.getSnapshot() as Snapshot<unknown> & { context?: AttemptContext })
    ?.context;
  if (attempt === undefined) {
    const last = step.attempts.at(-1);
    const between = { id, agent, needs, startedAt: step.startedAt };
    if (last === undefined) return { ...between, state: 'preparing', attempt: 0 };
    const closed = closedAttempt(last, step.attempts, step.notes);
    // Those of before a pause are the past.
    if (last.n < step.firstAttempt) return { ...between, state: 'preparing', attempt: last.n, ...closed };
    // Between two attempts it waits, or is being prepared again: one state for whoever looks.
    return { ...between, state: 'backing-off', attempt: last.n, ...closed };
  }
  return {
    id,
    agent,
    needs,
    state: 'running',
    attempt: step.n,
    startedAt: step.startedAt,
    usage: step.attempts.reduce((sum, one) => addUsage(sum, one.usage), attempt.usage),
    activity: attempt.activity,
    ...(attempt.listens ? {} : { listens: false as const }),
    ...(step.attempts.length === 0 ? {} : closedBefore(step)),
    ...(attempt.model === null ? {} : { model: attempt.model }),
    ...(attempt.pid === null ? {} : { pid: attempt.pid }),
    ...(attempt.tool === null ? {} : { tool: attempt.tool }),
    ...(attempt.lastActivityAt === null ? {} : { lastActivityAt: attempt.lastActivityAt }),
    ...(attempt.lastProgressAt === null ? {} : { lastProgressAt: attempt.lastProgressAt }),
  };
}

function settledStep({ id, agent, needs }: StepPlan, step: StepOutput): StepStatus {
  const last = step.attempts.at(-1);
  return {
    id,
    agent,
    needs,
    state: step.outcome,
    cause: step.cause,
    attempt: last?.n ?? 0,
    ...(step.startedAt === null ? {} : { startedAt: step.startedAt }),
    endedAt: step.at,
    ...(step.failure === null ? {} : { error: step.failure }),
    ...(last === undefined ? {} : closedAttempt(last, step.attempts, step.notes)),
  };
}

/** What of the attempts before the running one is kept. */
function closedBefore({ attempts, notes }: StepContext): Partial<StepStatus> {
  const { model: _model, usage: _usage, ...kept } = closedAttempt(attempts.at(-1) as AttemptOutput, attempts, notes);
  return kept;
}

function closedAttempt(last: AttemptOutput, all: AttemptOutput[], notes: Record<number, string>): Partial<StepStatus> {
  return {
    attempts: all.slice(-MOST_ATTEMPTS).map((one) => attemptStatus(one, notes[one.n])),
    usage: all.reduce((sum, one) => addUsage(sum, one.usage), NO_USAGE),
    ...(last.proof === null ? {} : { proof: summarize(last.proof) }),
    ...(last.model === null ? {} : { model: last.model }),
    ...(last.forcedExit ? { forcedExit: true } : {}),
  };
}
