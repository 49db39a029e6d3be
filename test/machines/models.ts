import type { AnyMachineSnapshot, EventObject } from 'xstate';
import {
  activityMachine,
  askMachine,
  attemptMachine,
  finalizeMachine,
  inboxMachine,
  runMachine,
  steeringMachine,
  stepMachine,
  terminationMachine,
  type ActivityInput,
  type AgentEnd,
  type AskInput,
  type AttemptInput,
  type AttemptLimits,
  type AttemptOutput,
  type Cause,
  type Failure,
  type Member,
  type NestedSeen,
  type Owner,
  type Proof,
  type RetryPlan,
  type RunInput,
  type SteeringInput,
  type StepInput,
  type StepOutput,
  type StepPlan,
  type StopRung,
} from '../../machines/index.ts';
import type { PathModel } from '../../src/testing/index.ts';

/** The worlds of the machines: which payloads there are, and what can physically happen when. */

export const AT = '2026-12-01T00:00:00.000Z';
export const LADDER: StopRung[] = [
  { do: 'abort', graceMs: 2_000 },
  { do: 'SIGTERM', graceMs: 3_000 },
  { do: 'SIGKILL', graceMs: 1_000 },
];

const TEXT = { chars: 5, sha256: '0123456789ab' };
const failure: Failure = { code: 'exit-code', message: 'exit 3' };
export const NO_LIMITS: AttemptLimits = { attemptMs: null, firstOutputMs: null, stall: null, toolMs: null };
export const RETRY: RetryPlan = {
  attempts: 2,
  backoff: { firstMs: 1_000, factor: 2, mostMs: 60_000 },
  startupMs: [250],
  modelMs: [2_000],
  mostWaitMs: 60_000,
  afterSideEffects: false,
  unproven: false,
  rules: [],
};
export const STOP: Cause = { type: 'stop', at: AT, source: 'test' };
const INTERRUPT: Cause = { type: 'interrupt', at: AT, source: 'test' };
const RECOVERY: Cause = { type: 'recovery', at: AT, request: 'm1' };
const SUCCESS: AgentEnd = { type: 'success', chars: 2, stop: 'stop' };
const FAILURE: AgentEnd = { type: 'failure', failure };
const member: Member = { pid: 7, startTime: 70, by: 'token', command: 'sleep' };

export const proof = (verdict: Proof['verdict']): Proof => ({
  verdict,
  level: 'searched',
  members: verdict === 'survived' ? [member] : [],
  leftovers: [],
  kept: [],
  signals: [],
  at: AT,
});

const done = (id: string, output: unknown): EventObject =>
  ({ type: `xstate.done.actor.${id}`, actorId: id, output }) as never;
const failed = (id: string): EventObject =>
  ({ type: `xstate.error.actor.${id}`, actorId: id, error: new Error('no room') }) as never;

/** Variants by event type; a type that is not listed is sent as it is, with a time. */
const table =
  (rows: Record<string, EventObject[]>) =>
  (type: string): EventObject[] =>
    rows[type] ?? [{ type, at: AT } as EventObject];

/* ------------------------------------------------------------------ attempt */

export const attemptModel: PathModel = {
  machine: attemptMachine,
  input: {
    step: 'a',
    n: 1,
    token: 't',
    agent: 'fake',
    model: null,
    ladder: LADDER,
    limits: { ...NO_LIMITS, attemptMs: 5_000, stall: { afterMs: 1_000, action: 'stop' } },
    leftovers: 'end',
    delivery: 'auto',
    deadlineAt: null,
    session: null,
    resumes: true,
    expects: { value: true, repairs: 1, files: ['a.txt'], changes: true },
    repair: null,
    listens: false,
    at: AT,
  } satisfies AttemptInput,
  variants: table({
    'child.started': [{ type: 'child.started', at: AT, pid: 42, startTime: 420 } as never],
    'child.unstarted': [
      { type: 'child.unstarted', at: AT, failure: { code: 'command-missing', message: 'no' } } as never,
    ],
    'deadline.moved': [{ type: 'deadline.moved', at: AT, deadlineAt: null } as never],
    'child.active': [{ type: 'child.active', at: AT, progress: true } as never],
    'child.tool': [
      { type: 'child.tool', at: AT, tool: { id: '1', name: 'bash', since: AT }, mayChange: true } as never,
      { type: 'child.tool', at: AT, tool: null, mayChange: false } as never,
    ],
    'child.usage': [
      {
        type: 'child.usage',
        at: AT,
        usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0, turns: 1, tools: 0 },
      } as never,
    ],
    'steer.recover': [{ type: 'steer.recover', at: AT, id: 'm1', attempt: 1 } as never],
    'child.ended': [
      { type: 'child.ended', at: AT, end: SUCCESS } as never,
      { type: 'child.ended', at: AT, end: FAILURE } as never,
    ],
    'child.broken': [{ type: 'child.broken', at: AT, reason: 'garbage' } as never],
    'child.exited': [{ type: 'child.exited', at: AT, code: 0, signal: null } as never],
    'child.drained': [
      { type: 'child.drained', at: AT, how: 'closed', end: SUCCESS, emptied: true } as never,
      { type: 'child.drained', at: AT, how: 'closed', end: SUCCESS, emptied: false } as never,
      { type: 'child.drained', at: AT, how: 'closed', end: FAILURE, emptied: true } as never,
    ],
    'limit.reached': [{ type: 'limit.reached', cause: { type: 'attempt-limit', at: AT, limitMs: 5_000 } } as never],
    'activity.changed': [
      { type: 'activity.changed', at: AT, state: 'quiet' } as never,
      { type: 'activity.changed', at: AT, state: 'stalled' } as never,
    ],
    end: [{ type: 'end', cause: INTERRUPT, command: 'c1' } as never, { type: 'end', cause: STOP } as never],
    'child.steer': [{ type: 'child.steer', at: AT, id: 'm1', state: 'delivered' } as never],
    'child.asked': [{ type: 'child.asked', at: AT, ask: 'q1', text: TEXT, expiresAt: null } as never],
    'child.ask-gone': [{ type: 'child.ask-gone', at: AT, ask: 'q1' } as never],
    'child.review': [
      { type: 'child.review', at: AT, seq: 1, active: true } as never,
      { type: 'child.review', at: AT, seq: 2, active: false } as never,
    ],
    steer: [{ type: 'steer', at: AT, id: 'm1', mode: 'now' } as never],
    'ask.settled': [{ type: 'ask.settled', at: AT, ask: 'q1', command: 'c1' } as never],
    'xstate.done.actor.termination': [done('termination', proof('gone')), done('termination', proof('survived'))],
    'xstate.done.actor.check': [
      done('check', { at: AT, value: { type: 'valid' }, files: 1, missing: [], changes: { type: 'some' } }),
      done('check', { at: AT, value: { type: 'missing' }, files: 1, missing: [], changes: null }),
    ],
  }),
  identity: ({ context }) => {
    const { exit, end, drained, cause, forcedExit, unstarted, pid, review } = context;
    return [
      exit !== null,
      end?.type,
      drained,
      cause?.type,
      forcedExit,
      unstarted !== null,
      pid !== null,
      exit === null && review?.active === true,
    ];
  },
  /** A process starts once, exits once and is drained once, after its exit; it says nothing before it has started. */
  feasible: ({ context }, { type }) => {
    const running = context.pid !== null && context.exit === null;
    switch (type) {
      case 'child.started':
      case 'child.unstarted':
        return context.pid === null && context.unstarted === null;
      case 'child.exited':
        return running;
      case 'child.drained':
        return context.exit !== null && !context.drained;
      case 'child.ended':
        return context.pid !== null && !context.drained && context.end === null;
      case 'child.resumed':
        return running && context.end !== null;
      case 'child.broken':
      case 'child.review':
        return running;
      default:
        return true;
    }
  },
};

/** One whose session is known, and little that can happen to it. */
const resumableModel: PathModel = {
  ...attemptModel,
  input: { ...(attemptModel.input as AttemptInput), session: 's1' } satisfies AttemptInput,
  feasible: (snapshot, event) =>
    ['child.started', 'child.exited', 'child.drained', 'steer.recover', 'xstate.done.actor.termination'].includes(
      event.type,
    ) && attemptModel.feasible?.(snapshot, event) !== false,
};

/** One whose word is enough gives its slot on before it is looked for. */
const plainAttemptModel: PathModel = {
  ...attemptModel,
  input: { ...(attemptModel.input as AttemptInput), expects: null },
  feasible: (snapshot, event) =>
    ['child.started', 'child.exited', 'child.drained', 'termination.released'].includes(event.type) &&
    attemptModel.feasible?.(snapshot, event) !== false,
};

/* ------------------------------------------------------------------ termination */

const terminationInput = (why: 'stop' | 'leftovers', ladder: StopRung[], policy: 'end' | 'keep' = 'end') => ({
  step: 'a',
  n: 1,
  why,
  ladder,
  policy,
  at: AT,
});

const terminationModel = (input: ReturnType<typeof terminationInput>): PathModel => ({
  machine: terminationMachine,
  input,
  variants: table({
    'tree.applied': [{ type: 'tree.applied', at: AT, rung: 'SIGTERM', targets: 1 } as never],
    'tree.looked': [
      { type: 'tree.looked', at: AT, members: [], level: 'searched', search: 1 } as never,
      { type: 'tree.looked', at: AT, members: [], level: 'searched', search: 2 } as never,
      { type: 'tree.looked', at: AT, members: [member], level: 'searched', search: 3 } as never,
      { type: 'tree.looked', at: AT, members: [{ ...member, declared: true }], level: 'searched', search: 4 } as never,
    ],
    'tree.blind': [{ type: 'tree.blind', at: AT, reason: 'no /proc', level: 'group' } as never],
  }),
  identity: ({ context }) => [context.rung, context.rounds, context.members.length, context.cleanSearch],
});

export const terminationModels: PathModel[] = [
  terminationModel(terminationInput('stop', LADDER)),
  terminationModel(terminationInput('leftovers', LADDER)),
  terminationModel(terminationInput('stop', [{ do: 'SIGKILL', graceMs: 1_000 }])),
  terminationModel(terminationInput('leftovers', LADDER, 'keep')),
];

/* ------------------------------------------------------------------ activity */

const ALL_LIMITS: AttemptLimits = {
  attemptMs: 60_000,
  firstOutputMs: 5_000,
  stall: { afterMs: 30_000, action: 'stop' },
  toolMs: 10_000,
};

const activityModel = (limits: AttemptLimits): PathModel => ({
  machine: activityMachine,
  input: { limits, at: AT } satisfies ActivityInput,
  variants: table({
    heard: [{ type: 'heard', at: AT, progress: true } as never, { type: 'heard', at: AT, progress: false } as never],
    'tool.opened': [
      { type: 'tool.opened', at: AT, tool: { id: '1', name: 'bash', since: AT } } as never,
      { type: 'tool.opened', at: AT, tool: { id: '2', name: 'bash', since: AT } } as never,
    ],
    'ask.opened': [
      { type: 'ask.opened', at: AT, ask: 'q1' } as never,
      { type: 'ask.opened', at: AT, ask: 'q2' } as never,
    ],
    'ask.closed': [
      { type: 'ask.closed', at: AT, ask: 'q1' } as never,
      { type: 'ask.closed', at: AT, ask: 'q2' } as never,
    ],
  }),
  identity: ({ context }) => [context.tool?.id, context.asks.length],
});

export const activityModels: PathModel[] = [
  activityModel(NO_LIMITS),
  activityModel(ALL_LIMITS),
  activityModel({ ...NO_LIMITS, stall: { afterMs: 90_000, action: 'notice' } }),
];

/* ------------------------------------------------------------------ step */

const plan = (id: string, needs: string[] = [], timeoutMs: number | null = null): StepPlan => ({
  id,
  agent: 'fake',
  models: ['m/1', 'm/2'],
  needs,
  timeoutMs,
  limits: NO_LIMITS,
  retry: RETRY,
  leftovers: 'end',
  proof: 'searched',
  asks: 'wait',
});

export const attemptOutput = (
  outcome: AttemptOutput['outcome'],
  verdict: Proof['verdict'] = 'gone',
): AttemptOutput => ({
  n: 1,
  token: 't',
  outcome,
  cause: outcome === 'completed' ? { type: 'completed', at: AT } : { type: 'failure', at: AT, reason: 'exit-code' },
  failure: outcome === 'completed' ? null : failure,
  exit: { at: AT, code: outcome === 'completed' ? 0 : 3, signal: null },
  forcedExit: false,
  active: true,
  sideEffects: false,
  startedAt: AT,
  usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, turns: 0, tools: 0 },
  session: null,
  model: null,
  proof: proof(verdict),
  at: AT,
});

const causeOfOutput = (event: EventObject): string | undefined =>
  (event as { output?: Partial<AttemptOutput> }).output?.cause?.type;
/** It handed in a value that does not fit. */
const unfit: AttemptOutput = {
  ...attemptOutput('failed'),
  failure: { code: 'schema-invalid', message: '/a must be a number' },
  session: 's1',
};

export const stepModel: PathModel = {
  machine: stepMachine,
  input: {
    plan: {
      ...plan('a', [], 60_000),
      limits: { ...NO_LIMITS, attemptMs: 30_000 },
      expects: { value: true, repairs: 1, files: [], changes: false },
    },
    firstAttempt: 1,
    before: null,
    deadlineAt: null,
    cooling: {},
    seed: 1,
    at: AT,
  } satisfies StepInput,
  variants: table({
    end: [{ type: 'end', cause: STOP } as never, { type: 'end', cause: INTERRUPT, command: 'c1' } as never],
    steer: [{ type: 'steer', at: AT, id: 'm1', mode: 'now' } as never],
    'ask.settled': [{ type: 'ask.settled', at: AT, ask: 'q1', command: null } as never],
    'attempt.live': [{ type: 'attempt.live', at: AT, step: 'a', attempt: 1 } as never],
    'command.heard': [
      { type: 'command.heard', at: AT, step: 'a', command: 'c1', taken: true } as never,
      { type: 'command.heard', at: AT, step: 'a', command: 'c1', taken: false, undecided: true } as never,
    ],
    'steer.heard': [{ type: 'steer.heard', at: AT, step: 'a', id: 'm1', state: 'delivered' } as never],
    'steer.recover': [1, 2].map((attempt) => ({ type: 'steer.recover', at: AT, id: 'm1', attempt }) as never),
    'steer.recovery': [{ type: 'steer.recovery', at: AT, step: 'a', attempt: 1, id: 'm1', taken: true } as never],
    'ask.asked': [
      { type: 'ask.asked', at: AT, step: 'a', attempt: 1, ask: 'q1', text: TEXT, expiresAt: null } as never,
    ],
    'ask.gone': [{ type: 'ask.gone', at: AT, step: 'a', ask: 'q1' } as never],
    'deadline.moved': [{ type: 'deadline.moved', at: AT, deadlineAt: AT } as never],
    'step.extend': [{ type: 'step.extend', at: AT, deadlineAt: AT, limitMs: 1_000 } as never],
    'models.cooling': [{ type: 'models.cooling', cooling: {} } as never],
    'xstate.done.actor.prepare': [
      done('prepare', { type: 'ready', at: AT, token: 't', ladder: LADDER, resumes: true, listens: true, lease: null }),
      done('prepare', {
        type: 'ready',
        at: AT,
        token: 't',
        ladder: LADDER,
        resumes: true,
        listens: true,
        lease: { session: 'a.1', from: null },
      }),
      done('prepare', { type: 'refused', at: AT, failure: { code: 'cwd-missing', message: 'no' } }),
    ],
    'xstate.done.actor.attempt': [
      done('attempt', attemptOutput('completed')),
      done('attempt', attemptOutput('failed')),
      done('attempt', attemptOutput('completed', 'survived')),
      done('attempt', { ...attemptOutput('completed'), outcome: 'paused', cause: RECOVERY, session: 's1' }),
      done('attempt', unfit),
    ],
  }),
  identity: ({ context }) => [
    [context.cause?.type, context.failure?.code, context.attempts.length, context.tries.task],
    [context.ending?.type, context.unheard.length > 0, context.repair?.session, context.lease?.session],
  ],
  /** The run has one step resumed for the sake of a message, once. */
  feasible: ({ context }, event) => context.attempts.length === 0 || causeOfOutput(event) !== 'recovery',
};

/* ------------------------------------------------------------------ run */

export const OWNER: Owner = { host: 'h', bootId: 'b', pid: 1, startTime: 1, instance: 'i' };

export const RUN_INPUT: RunInput = {
  id: 'r',
  name: 'r',
  epoch: 1,
  steps: [
    plan('a'),
    plan('b', ['a']),
    { ...plan('c'), expects: { value: true, repairs: 1, files: [], changes: false } },
  ],
  limits: { concurrency: 2, timeoutMs: 60_000 },
  labels: {},
  owner: OWNER,
  seed: 1,
  recoverAfterMs: 3_000,
};

const stepOutput = (step: string, outcome: StepOutput['outcome']): StepOutput => ({
  step,
  outcome,
  cause: outcome === 'paused' ? INTERRUPT : attemptOutput(outcome as 'failed').cause,
  failure: null,
  attempts: [],
  notes: {},
  startedAt: AT,
  before: null,
  at: AT,
});

const RECOVERY_NEWS = ['steer.missed', 'steer.recovery'];
const WITHOUT_RECOVERY = ['steer.hand', 'steer.waits', 'steer.heard', 'ask.asked', 'ask.gone'];
const MESSAGES = ['attempt.live', 'attempt.over', ...WITHOUT_RECOVERY, ...RECOVERY_NEWS];
const AROUND = ['run.end', 'run.refuse', 'deadline.reached', 'step.released', 'model.failed', 'clock.jumped'];

/** All at once would be too many states: each model leaves a part of the world out, and together they have everything. */
const runModel = (part: {
  steps: StepPlan[];
  commands: string[];
  outcomes: StepOutput['outcome'][];
  without: string[];
}): PathModel => ({
  machine: runMachine,
  input: { ...RUN_INPUT, steps: part.steps },
  variants: (type, snapshot) => runVariants(type, snapshot, part),
  identity: ({ context }) => {
    const { waiting, live, released, settled, cause, outcome, endedAt, steers, recovery, asks, asked, open, attempts } =
      context;
    const paused = settled.flatMap((one: StepOutput) => (one.outcome === 'paused' ? [one.step] : []));
    return [
      [waiting, live, released, paused.toSorted()],
      [cause?.type, outcome?.state, endedAt !== null],
      [steers, recovery?.state, asks.length, asked.length > 0, open.length, Object.keys(attempts)],
    ];
  },
  feasible: ({ context }, { type }) =>
    !part.without.includes(type) && (type !== 'finalize.published' || context.endedAt === null),
});

export const runModels: PathModel[] = [
  runModel({
    steps: RUN_INPUT.steps,
    commands: ['stop'],
    outcomes: ['completed', 'failed', 'paused'],
    without: MESSAGES,
  }),
  runModel({
    steps: RUN_INPUT.steps.slice(0, 2),
    commands: ['stop', 'stopStep', 'interrupt', 'interruptStep', 'resume', 'append', 'extend'],
    outcomes: ['completed', 'paused'],
    without: [...MESSAGES, ...AROUND],
  }),
  runModel({
    steps: RUN_INPUT.steps.slice(0, 1),
    commands: ['stop', 'stopStep', 'steer', 'answer'],
    outcomes: ['completed'],
    without: [...AROUND, ...RECOVERY_NEWS],
  }),
  runModel({
    steps: RUN_INPUT.steps.slice(0, 1),
    commands: ['stop', 'steer'],
    outcomes: ['completed'],
    without: [...AROUND, ...WITHOUT_RECOVERY],
  }),
];

const APPENDED = plan('d', ['a']);

/** The commands of the contract, for the run and for its first step. */
const COMMANDS: Record<string, object[]> = {
  stop: [{ id: 'stop', type: 'stop' }],
  stopStep: [{ id: 'stop-a', type: 'stop', step: 'a' }],
  interrupt: [{ id: 'interrupt', type: 'interrupt' }],
  interruptStep: [{ id: 'interrupt-a', type: 'interrupt', step: 'a' }],
  resume: [{ id: 'resume', type: 'resume' }],
  steer: [{ id: 'steer', type: 'steer', mode: 'auto', text: TEXT }],
  append: [{ id: 'append', type: 'append', steps: [APPENDED] }],
  extend: [
    { id: 'extend', type: 'extend', deadlineAt: AT, limitMs: 1_000 },
    { id: 'extend-a', type: 'extend', step: 'a', deadlineAt: AT, limitMs: 1_000 },
  ],
  answer: [{ id: 'answer', type: 'answer', ask: 'q1', text: TEXT }],
};

function runVariants(
  type: string,
  { context }: AnyMachineSnapshot,
  { commands, outcomes }: { commands: string[]; outcomes: StepOutput['outcome'][] },
): EventObject[] {
  const live = context.live as string[];
  const [first] = live;
  if (type === 'xstate.done.actor.*') {
    return [
      ...live.flatMap((id) => outcomes.map((outcome) => done(`step:${id}`, stepOutput(id, outcome)))),
      ...(context.steers as { id: string }[]).map(({ id }) => done(`steer:${id}`, steeringOutput(id))),
      ...(context.asks as { id: string }[]).map(({ id }) => done(`ask:${id}`, askOutput(id))),
    ];
  }
  const ofFirst = (event: object): EventObject[] =>
    first === undefined ? [] : [{ ...event, at: AT, step: first } as never];
  return table({
    'run.begin': [{ type, at: AT, deadlineAt: AT } as never],
    'run.refuse': [{ type, at: AT, cause: { type: 'failure', at: AT, reason: 'runner-start' } } as never],
    'run.command': commands
      .flatMap((name) => COMMANDS[name] ?? [])
      .map((command) => ({ type, at: AT, command: { source: 'test', ...command } }) as never),
    'run.end': [
      { type, cause: { type: 'runner-signal', at: AT, signal: 'SIGTERM' } } as never,
      { type, cause: { type: 'budget', at: AT, budget: 'usage' } } as never,
    ],
    'clock.jumped': [{ type, at: AT, byMs: 5_000 } as never],
    'model.failed': [{ type, step: 'a', model: 'm/1', until: AT } as never],
    'step.released': live.map((step) => ({ type, step }) as EventObject),
    'attempt.live': ofFirst({ type, attempt: 1 }),
    'attempt.over': ofFirst({ type, attempt: 1 }),
    'command.heard': (context.open as { id: string }[])
      .slice(0, 1)
      .flatMap(({ id }) => ofFirst({ type, command: id, taken: true })),
    'steer.hand': ofFirst({ type, id: 'steer', mode: 'auto' }),
    'steer.waits': [{ type, at: AT, id: 'steer' } as never],
    'steer.missed': ofFirst({ type, id: 'steer', attempt: 1 }),
    'steer.recovery': [true, false].flatMap((taken) => ofFirst({ type, id: 'steer', attempt: 1, taken })),
    'steer.heard': ofFirst({ type, id: 'steer', state: 'delivered' }),
    'ask.asked': ofFirst({ type, attempt: 1, ask: 'q1', text: TEXT, expiresAt: null }),
    'ask.gone': ofFirst({ type, ask: 'q1' }),
    'nested.seen': [{ type, at: AT, runs: [BELOW] } as never],
    'xstate.done.actor.finalize': [done('finalize', { recorded: true }), done('finalize', { recorded: false })],
  })(type);
}

const BELOW: NestedSeen = {
  id: 'below',
  step: 'a',
  attempt: 1,
  depth: 1,
  epoch: 1,
  seq: 1,
  name: 'below',
  state: 'completed',
  counts: { completed: 1 },
  updatedAt: AT,
};

const steeringOutput = (id: string) => ({
  id,
  source: 'test',
  mode: 'auto',
  text: TEXT,
  at: AT,
  state: 'delivered',
  targets: [],
  targetCount: 1,
  unheard: [],
  endedAt: AT,
});
const askOutput = (id: string) => ({
  id,
  step: 'a',
  attempt: 1,
  text: TEXT,
  at: AT,
  state: 'answered',
  command: 'answer',
  endedAt: AT,
});

/* ------------------------------------------------------------------ steering */

const steeringModel = (targets: string[], expiresMs: number | null): PathModel => ({
  machine: steeringMachine,
  input: {
    id: 'm1',
    source: 'test',
    mode: 'auto',
    text: TEXT,
    targets,
    expiresMs,
    recoverAfterMs: null,
    at: AT,
  } satisfies SteeringInput,
  variants: (type) => {
    const each = (event: object): EventObject[] => targets.map((step) => ({ type, at: AT, step, ...event }) as never);
    return table({
      'attempt.live': each({ attempt: 1 }),
      'attempt.over': each({ attempt: 1 }),
      'steer.recovery': [{ type, at: AT, step: 'other', attempt: 1, id: 'm1', taken: true } as never],
      'step.over': each({}),
      'run.over': [{ type, at: AT } as never],
      'steer.heard': [
        ...each({ id: 'm1', state: 'queued' }),
        ...each({ id: 'm1', state: 'taken' }),
        ...each({ id: 'm1', state: 'delivered' }),
        ...each({ id: 'm1', state: 'undelivered', reason: 'aborted' }),
      ] as EventObject[],
    })(type);
  },
  identity: ({ context }) =>
    context.targets.map(({ state, reason }: { state: string; reason?: string }) => [state, reason]),
});

/** Of the first target nothing is heard, and it is resumed; of the others much is heard. */
const recoveringModel = (targets: [string, ...string[]]): PathModel => ({
  machine: steeringMachine,
  input: {
    id: 'm1',
    source: 'test',
    mode: 'auto',
    text: TEXT,
    targets,
    expiresMs: 60_000,
    recoverAfterMs: 3_000,
    at: AT,
  } satisfies SteeringInput,
  variants: (type) => {
    const [first, ...others] = targets;
    const of = (step: string, event: object): EventObject => ({ type, at: AT, step, id: 'm1', ...event }) as never;
    return table({
      'attempt.live': [
        of(first, { attempt: 1 }),
        of(first, { attempt: 2 }),
        ...others.map((o) => of(o, { attempt: 1 })),
      ],
      'attempt.over': [of(first, { attempt: 1 })],
      'steer.recovery': [of(first, { attempt: 1, taken: true })],
      'step.over': [of(first, {})],
      'run.over': [of(first, {})],
      'steer.heard': [
        ...(others.length === 0 ? ['queued', 'taken', 'delivered'] : ['delivered']).map((state) =>
          of(first, { state }),
        ),
        ...(others.length === 0 ? [of(first, { state: 'undelivered', reason: 'aborted' })] : []),
        ...others.map((other) => of(other, { state: 'queued' })),
      ],
    })(type);
  },
  identity: ({ context }) =>
    context.targets.map(({ state, attempt, taken }: Record<string, unknown>) => [state, attempt, taken]),
});

export const steeringModels: PathModel[] = [
  steeringModel(['a'], null),
  steeringModel(['a'], 60_000),
  steeringModel(['a', 'b'], 60_000),
  recoveringModel(['a']),
  recoveringModel(['a', 'b']),
];

/* ------------------------------------------------------------------ ask */

const askModel = (given: Partial<AskInput>): PathModel => ({
  machine: askMachine,
  input: {
    id: 'q1',
    step: 'a',
    attempt: 1,
    text: TEXT,
    expiresAt: '2026-12-01T00:10:00.000Z',
    at: AT,
    ...given,
  } satisfies AskInput,
  variants: table({ 'ask.answer': [{ type: 'ask.answer', at: AT, command: 'c1', text: TEXT } as never] }),
  identity: ({ context }) => context.command,
});

export const askModels: PathModel[] = [askModel({}), askModel({ expiresAt: null })];

/* ------------------------------------------------------------------ finalize */

export const finalizeModel: PathModel = {
  machine: finalizeMachine,
  input: { outcome: { state: 'completed', cause: { type: 'completed', at: AT }, partial: false }, at: AT },
  variants: (type) => {
    const id = type.split('.').at(-1) ?? '';
    return type.startsWith('xstate.error.') ? [failed(id)] : [done(id, { at: AT })];
  },
  identity: ({ context }) => [context.tries, context.trouble?.line],
};

/* ------------------------------------------------------------------ inbox */

const inboxModel = (poll: boolean): PathModel => ({
  machine: inboxMachine,
  input: { poll },
  variants: (type) =>
    table({
      looked: [
        { type: 'looked', found: true, unfinished: false } as never,
        { type: 'looked', found: false, unfinished: true } as never,
        { type: 'looked', found: false, unfinished: false } as never,
      ],
      'watch.failed': [{ type: 'watch.failed', message: 'no more watches' } as never],
      stuck: [{ type: 'stuck', message: 'no room' } as never],
      'inbox.close': [{ type: 'inbox.close', state: 'completed' } as never],
      'xstate.done.actor.flush': [done('flush', { unwritten: 0 })],
      'xstate.error.actor.shut': [failed('shut')],
      'xstate.error.actor.drain': [failed('drain')],
      'xstate.error.actor.flush': [failed('flush')],
    })(type),
  /** After the first try nothing is new. */
  identity: ({ context }) => [context.poll, Math.min(context.tries, 1), context.ending, context.trouble !== null],
  feasible: ({ context }, { type }) => type !== 'stuck' || context.tries < 1,
});

export const inboxModels: PathModel[] = [inboxModel(false), inboxModel(true)];

export const models: Record<string, PathModel[]> = {
  run: runModels,
  step: [stepModel],
  attempt: [attemptModel, resumableModel, plainAttemptModel],
  activity: activityModels,
  termination: terminationModels,
  finalize: [finalizeModel],
  steering: steeringModels,
  ask: askModels,
  inbox: inboxModels,
};
