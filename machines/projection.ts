import type { AnyMachineSnapshot, Snapshot } from 'xstate';
import { NO_USAGE, addUsage } from './policy/outcome.ts';
import { summarize } from './policy/proof.ts';
import { type RunContext, stepActor } from './run.ts';
import type {
  Activity,
  AttemptOutput,
  AttemptStatus,
  Instant,
  JournalRecord,
  OpenTool,
  RunState,
  Status,
  StepOutput,
  StepPlan,
  StepState,
  StepStatus,
  Usage,
} from './protocol.ts';

/**
 * Status three ways: `project` reads it off the machine snapshots, `fold` rebuilds it from the journal, and
 * `stable` drops what changes without an event. At equal `seq`, fold(events) = stable(project(snapshot)).
 */

/** What `stable` drops, of a run and of a step: it changes without a journal record, or says how fresh the rest is. */
export const VOLATILE_RUN = ['updatedAt', 'persistence'] as const satisfies readonly (keyof Status)[];
export const VOLATILE_STEP = [
  'activity',
  'lastActivityAt',
  'lastProgressAt',
  'tool',
] as const satisfies readonly (keyof StepStatus)[];
/** Dropped of a step only while it runs: the model and the usage are journaled when the attempt closes. */
export const VOLATILE_WHILE_RUNNING = ['usage', 'model'] as const satisfies readonly (keyof StepStatus)[];

const STATES: readonly StepState[] = [
  'pending',
  'preparing',
  'running',
  'backing-off',
  'completed',
  'failed',
  'stopped',
  'paused',
  'skipped',
];

/* ------------------------------------------------------------------ project */

interface StepContext {
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
  const steps = context.steps.map((plan) => {
    const done = settled.get(plan.id);
    if (done !== undefined) return settledStep(plan, done);
    const live = snapshot.children[stepActor(plan.id)]?.getSnapshot() as AnyMachineSnapshot | undefined;
    return live === undefined ? pendingStep(plan) : liveStep(plan, live);
  });
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

const pendingStep = ({ id, agent, needs }: StepPlan): StepStatus => ({
  id,
  agent,
  needs,
  state: 'pending',
  attempt: 0,
});

function liveStep(plan: StepPlan, snapshot: AnyMachineSnapshot): StepStatus {
  const step = snapshot.context as StepContext;
  const { id, agent, needs } = plan;
  const attempt = (snapshot.children['attempt']?.getSnapshot() as Snapshot<unknown> & { context?: AttemptContext })
    ?.context;
  if (attempt === undefined) {
    const last = step.attempts.at(-1);
    const between = { id, agent, needs, startedAt: step.startedAt };
    if (last === undefined) return { ...between, state: 'preparing', attempt: 0 };
    // Between two attempts it waits, or is being prepared again: one state for whoever looks.
    return { ...between, state: 'backing-off', attempt: last.n, ...closedAttempt(last, step.attempts, step.notes) };
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

const MOST_ATTEMPTS = 20;

function attemptStatus(
  { n, model, outcome, failure }: Pick<AttemptOutput, 'n' | 'model' | 'outcome' | 'failure'>,
  note?: string,
): AttemptStatus {
  return { n, model, outcome, class: failure?.code ?? null, ...(note === undefined ? {} : { note }) };
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

const totalUsage = (steps: StepStatus[]): Usage =>
  steps.reduce((sum, step) => (step.usage === undefined ? sum : addUsage(sum, step.usage)), NO_USAGE);

function count(steps: StepStatus[]): Status['counts'] {
  const counts = Object.fromEntries(STATES.map((state) => [state, 0])) as Status['counts'];
  for (const step of steps) counts[step.state] += 1;
  return counts;
}

/* ------------------------------------------------------------------ stable */

/** What of a status is a function of the journal alone. Idempotent. */
export function stable(status: Status): Status {
  const steps = status.steps.map((step) =>
    without(step, isRunning(step) ? [...VOLATILE_STEP, ...VOLATILE_WHILE_RUNNING] : VOLATILE_STEP),
  );
  return { ...without(status, VOLATILE_RUN), updatedAt: '', steps, usage: totalUsage(steps) };
}

const isRunning = ({ state }: StepStatus): boolean =>
  state === 'running' || state === 'preparing' || state === 'backing-off';

function without<T extends object>(value: T, keys: readonly (keyof T)[]): T {
  const copy = { ...value };
  for (const key of keys) delete copy[key];
  return copy;
}

/* ------------------------------------------------------------------ fold */

/** Rebuilds the stable status from the journal alone; null before `run.started`. */
export function fold(records: Iterable<JournalRecord>): Status | null {
  let status: Status | null = null;
  const byId = new Map<string, StepStatus>();
  for (const record of records) {
    if (record.type === 'run.started') {
      status = begun(record);
      for (const step of status.steps) byId.set(step.id, step);
    } else if (status !== null) {
      apply(status, byId, record);
      status.seq = record.seq;
      status.epoch = record.epoch;
    }
  }
  if (status === null) return null;
  return stable({ ...status, counts: count(status.steps), usage: totalUsage(status.steps) });
}

function begun(record: JournalRecord & { type: 'run.started' }): Status {
  return {
    v: 1,
    id: record.run,
    seq: record.seq,
    epoch: record.epoch,
    name: record.name,
    state: 'running',
    startedAt: record.ts,
    updatedAt: '',
    ...(record.deadlineAt === null ? {} : { deadlineAt: record.deadlineAt }),
    owner: record.owner,
    limits: record.limits,
    usage: NO_USAGE,
    steps: record.steps.map(pendingStep),
    counts: count([]),
    labels: record.labels,
  };
}

function apply(status: Status, byId: ReadonlyMap<string, StepStatus>, record: JournalRecord): void {
  switch (record.type) {
    case 'run.stopping':
      status.state = 'stopping';
      status.cause = record.cause;
      return;
    case 'run.finalizing':
      status.state = 'finalizing';
      return;
    case 'run.settled':
      status.state = record.state;
      status.cause = record.cause;
      status.endedAt = record.ts;
      if (record.partial) status.partial = true;
      return;
    case 'run.deadline-moved':
      status.deadlineAt = record.to;
      return;
    case 'step.backing-off':
    case 'step.started':
    case 'step.settled':
    case 'attempt.launching':
    case 'attempt.started':
    case 'attempt.exited':
    case 'attempt.closed': {
      const step = byId.get(record.step);
      if (step !== undefined) applyToStep(step, record);
      return;
    }
    case 'run.started':
    case 'run.completed':
    case 'cause.late':
    case 'clock.jumped':
    case 'step.extended':
    case 'activity.changed':
    case 'command.accepted':
    case 'command.answered':
    case 'persistence.degraded':
    case 'persistence.restored':
      return;
    default:
      // A journal of a newer version: what this one does not know cannot change what it knows.
      record satisfies never;
  }
}

type StepRecord = Extract<
  JournalRecord,
  { step: string; type: 'step.started' | 'step.settled' | 'step.backing-off' | `attempt.${string}` }
>;

function applyToStep(step: StepStatus, record: StepRecord): void {
  switch (record.type) {
    case 'step.started':
      step.state = 'preparing';
      step.startedAt = record.ts;
      return;
    case 'step.backing-off': {
      step.state = 'backing-off';
      noteOn(step, record.note);
      return;
    }
    case 'attempt.launching':
      step.state = 'running';
      step.attempt = record.attempt;
      return;
    case 'attempt.started':
      step.pid = record.pid;
      return;
    case 'attempt.exited':
      return;
    case 'attempt.closed':
      delete step.pid;
      step.usage = addUsage(step.usage ?? NO_USAGE, record.usage);
      if (record.proof === null) delete step.proof;
      else step.proof = record.proof;
      if (record.model === null) delete step.model;
      else step.model = record.model;
      if (record.forcedExit) step.forcedExit = true;
      else delete step.forcedExit;
      step.attempts = [
        ...(step.attempts ?? []),
        attemptStatus({
          n: record.attempt,
          model: record.model,
          outcome: record.outcome,
          failure: record.error ?? null,
        }),
      ].slice(-MOST_ATTEMPTS);
      return;
    case 'step.settled':
      step.state = record.state;
      step.cause = record.cause;
      step.endedAt = record.ts;
      if (record.error !== undefined) step.error = record.error;
      noteOn(step, record.note);
      return;
  }
}

function noteOn(step: StepStatus, note: string | undefined): void {
  const last = step.attempts?.at(-1);
  if (last !== undefined && note !== undefined) last.note = note;
}
