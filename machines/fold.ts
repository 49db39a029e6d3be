import { goingOn, nestedOf, stableNested } from './policy/nested.ts';
import { NO_USAGE, addUsage } from './policy/outcome.ts';
import {
  NO_TOTALS,
  type Request,
  type Totals,
  counted,
  kept,
  moved,
  refusedStatus,
  stateOf,
  steerStatus,
  steeringOf,
} from './policy/steering.ts';
import type {
  AskState,
  AskStatus,
  AttemptOutput,
  AttemptStatus,
  Instant,
  JournalRecord,
  NestedStatus,
  Status,
  StepId,
  StepPlan,
  StepState,
  StepStatus,
  SteerStatus,
  UndeliveredReason,
  Usage,
} from './protocol.ts';

/**
 * The status as the journal tells it. Light: a reader without the machines can fold. What `project` reads off their
 * snapshots and what `fold` rebuilds have their words in common here.
 */

/** What `stable` drops, of a run and of a step: it changes without a journal record, or says how fresh the rest is. */
const VOLATILE_RUN = ['updatedAt', 'persistence'] as const satisfies readonly (keyof Status)[];
const VOLATILE_STEP = [
  'activity',
  'lastActivityAt',
  'lastProgressAt',
  'tool',
  'listens',
] as const satisfies readonly (keyof StepStatus)[];
/** Dropped of a step only while it runs: the model and the usage are journaled when the attempt closes. */
const VOLATILE_WHILE_RUNNING = ['usage', 'model'] as const satisfies readonly (keyof StepStatus)[];

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

export const pendingStep = ({ id, agent, needs }: StepPlan): StepStatus => ({
  id,
  agent,
  needs,
  state: 'pending',
  attempt: 0,
});

export const MOST_ATTEMPTS = 20;

export function attemptStatus(
  { n, model, outcome, failure, launch }: Pick<AttemptOutput, 'n' | 'model' | 'outcome' | 'failure' | 'launch'>,
  note?: string,
): AttemptStatus {
  return {
    n,
    model,
    outcome,
    class: failure?.code ?? null,
    ...(note === undefined ? {} : { note }),
    ...(launch === undefined ? {} : { launch }),
  };
}

export const totalUsage = (steps: StepStatus[]): Usage =>
  steps.reduce((sum, step) => (step.usage === undefined ? sum : addUsage(sum, step.usage)), NO_USAGE);

export function count(steps: StepStatus[]): Status['counts'] {
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
  const { nested } = status;
  return {
    ...without(status, VOLATILE_RUN),
    updatedAt: '',
    steps,
    usage: totalUsage(steps),
    ...(nested === undefined ? {} : { nested: { total: nested.total, runs: nested.runs.map(stableNested) } }),
  };
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
  const folding = new Folding();
  for (const record of records) folding.take(record);
  return folding.status();
}

/** Asks that are shown after their end are as many as requests. */
const ENDS: Partial<Record<JournalRecord['type'], AskState>> = {
  'ask.answered': 'answered',
  'ask.declined': 'declined',
  'ask.expired': 'expired',
  'ask.run-ended': 'run-ended',
};

/** The journal of a run, record by record. */
export class Folding {
  #status: Status | null = null;
  readonly #steps = new Map<StepId, StepStatus>();
  readonly #steers = new Map<string, Request>();
  #ended: SteerStatus[] = [];
  #totals: Totals = NO_TOTALS;
  readonly #asks = new Map<string, AskStatus>();
  #asked: AskStatus[] = [];
  readonly #nested = new Map<string, NestedStatus>();

  take(record: JournalRecord): void {
    if (record.type === 'run.started') {
      this.#status = begun(record);
      for (const step of this.#status.steps) this.#steps.set(step.id, step);
      return;
    }
    if (this.#status === null) return;
    this.#apply(this.#status, record);
    this.#status.seq = record.seq;
    this.#status.epoch = record.epoch;
  }

  status(): Status | null {
    const status = this.#status;
    if (status === null) return null;
    const asks = [...this.#asked, ...this.#asks.values()];
    const waiting = new Set([...this.#asks.values()].map(({ step }) => step));
    const steps = status.steps.map((step): StepStatus =>
      waiting.has(step.id) && isRunning(step) ? { ...step, waiting: 'person' } : step,
    );
    const open = [...this.#steers.values()].map((request) => steerStatus(request, request.at));
    return stable({
      ...status,
      steps,
      counts: count(steps),
      usage: totalUsage(steps),
      steering: steeringOf(this.#totals, this.#ended, open),
      asks,
      ...nestedOf([...this.#nested.values()]),
    });
  }

  /** State of the run now, and of a step; without the work of a whole status. */
  get run(): Status['state'] | null {
    return this.#status?.state ?? null;
  }

  step(id: StepId): StepState | null {
    return this.#steps.get(id)?.state ?? null;
  }

  #apply(status: Status, record: JournalRecord): void {
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
      case 'run.appended':
        for (const plan of record.steps) {
          const step = pendingStep(plan);
          status.steps.push(step);
          this.#steps.set(step.id, step);
        }
        return;
      case 'step.backing-off':
      case 'step.recovering':
      case 'step.started':
      case 'step.resumed':
      case 'step.settled':
      case 'attempt.launching':
      case 'attempt.started':
      case 'attempt.exited':
      case 'attempt.closed': {
        const step = this.#steps.get(record.step);
        if (step !== undefined) applyToStep(step, record);
        return;
      }
      case 'steer.scheduled': {
        const { id, source, mode, text, ts: at, expiresAt, targets } = record;
        const waiting = targets.map((step) => ({ step, state: 'scheduled' as const }));
        this.#steers.set(id, { id, source, mode, text, at, expiresAt, targets: waiting });
        return;
      }
      case 'steer.routed':
        this.#move(record, { state: 'routed' });
        return;
      case 'steer.recovering':
        this.#move(record, { state: 'recovering', recovered: true });
        return;
      case 'steer.queued':
        this.#move(record, { state: 'queued' });
        return;
      case 'steer.delivered':
        this.#move(record, { state: 'delivered' });
        return;
      case 'steer.undelivered':
        this.#move(record, { state: 'undelivered', reason: record.reason });
        return;
      case 'steer.refused':
        this.#end(refusedStatus({ ...record, at: record.ts }));
        return;
      case 'steer.late':
        this.#totals = { ...this.#totals, late: this.#totals.late + 1 };
        return;
      case 'ask.asked': {
        const { id, step, attempt, text, ts: at, expiresAt } = record;
        const expiry = expiresAt === null ? {} : { expiresAt };
        this.#asks.set(id, { id, step, attempt, text, at, ...expiry, state: 'asked' });
        return;
      }
      case 'ask.answered':
      case 'ask.declined':
      case 'ask.expired':
      case 'ask.run-ended': {
        const ask = this.#asks.get(record.id);
        if (ask === undefined) return;
        this.#asks.delete(record.id);
        this.#asked = kept(this.#asked, { ...ask, state: ENDS[record.type] ?? 'expired', endedAt: record.ts });
        return;
      }
      case 'nested.started': {
        const { run: id, step, attempt, depth } = record;
        this.#nested.set(id, goingOn({ id, step, attempt, depth }));
        return;
      }
      case 'nested.ended': {
        const { run: id, state, name, counts, ts: updatedAt } = record;
        const known = this.#nested.get(id);
        if (known !== undefined) this.#nested.set(id, { ...known, state, name, counts, updatedAt });
        return;
      }
      case 'run.started':
      case 'run.completed':
      case 'cause.late':
      case 'clock.jumped':
      case 'step.extended':
      case 'session.leased':
      case 'session.released':
      case 'activity.changed':
      case 'review.overdue':
      case 'command.accepted':
      case 'command.answered':
      case 'notice':
      case 'persistence.degraded':
      case 'persistence.restored':
        return;
      default:
        // A journal of a newer version: what this one does not know cannot change what it knows.
        record satisfies never;
    }
  }

  #move(
    { id, step, ts }: { id: string; step: StepId; ts: Instant },
    to:
      | { state: 'routed' | 'queued' | 'delivered' }
      | { state: 'recovering'; recovered: true }
      | { state: 'undelivered'; reason: UndeliveredReason },
  ): void {
    const request = this.#steers.get(id);
    if (request === undefined) return;
    const after = { ...request, targets: moved(request.targets, step, to) };
    const state = stateOf(after.targets);
    if (state !== 'delivered' && state !== 'undelivered') {
      this.#steers.set(id, after);
      return;
    }
    this.#steers.delete(id);
    this.#end(steerStatus(after, ts));
  }

  #end(one: SteerStatus): void {
    this.#totals = counted(this.#totals, one);
    this.#ended = kept(this.#ended, one);
  }
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
    steering: steeringOf(NO_TOTALS, [], []),
    asks: [],
    ...(record.parent === undefined ? {} : { parent: record.parent }),
  };
}

type StepRecord = Extract<
  JournalRecord,
  {
    step: string;
    type:
      'step.started' | 'step.resumed' | 'step.settled' | 'step.backing-off' | 'step.recovering' | `attempt.${string}`;
  }
>;

function applyToStep(step: StepStatus, record: StepRecord): void {
  switch (record.type) {
    case 'step.started':
      step.state = 'preparing';
      step.startedAt ??= record.ts;
      return;
    case 'step.resumed':
      step.state = 'pending';
      delete step.cause;
      delete step.endedAt;
      delete step.error;
      return;
    case 'step.backing-off':
    case 'step.recovering': {
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
          ...(record.launch === undefined ? {} : { launch: record.launch }),
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
