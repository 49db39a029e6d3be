/**
 * The types of everything that crosses a boundary: events, inputs, outputs, and the records made of them.
 * Types only. `src/` validates what comes from outside against schemas that `satisfies` these.
 */

export type StepId = string;
/** An ISO 8601 instant with milliseconds, UTC. Machines have no clock: whoever sends an event says when it happened. */
export type Instant = string;

/* ------------------------------------------------------------------ the plan, as far as machines need it */

export interface StepPlan {
  id: StepId;
  /** Name of the agent; `command` for `run:` steps. */
  agent: string;
  /** Candidates in order; empty is the agent's own default. */
  models: string[];
  /** Steps that must have completed first, in plan order. */
  needs: StepId[];
  /** Limit for the whole step, its retries and waits included, in milliseconds; null is none. */
  timeoutMs: number | null;
  limits: AttemptLimits;
  retry: RetryPlan;
  /** What happens to processes that an attempt leaves behind when it exits by itself. */
  leftovers: 'end' | 'keep' | 'fail';
  /** How well it has to have been looked at before it counts as gone. */
  proof: ProofLevel;
  /** What happens to a question of its agent: somebody is waited for, or it is declined at once. */
  asks: 'wait' | 'decline';
  /** What it has to show for itself; absent where its word is enough. */
  expects?: Expected;
}

/** What is looked for once an attempt has ended well by its own account. */
export interface Expected {
  /** A value that fits the step's schema. */
  value: boolean;
  /** How often its agent may be told what is wrong with the value, and try again. */
  repairs: number;
  /** Files that it has to write, as the plan names them. */
  files: string[];
  /** Something in the work tree has to be another than before. */
  changes: boolean;
}

/** Limits of one attempt, in milliseconds; null is none. */
export interface AttemptLimits {
  attemptMs: number | null;
  /** Until the first byte of output. */
  firstOutputMs: number | null;
  /** Without progress (not: without bytes), while no tool is open. */
  stall: { afterMs: number; action: 'notice' | 'interrupt' | 'stop' | 'retry' } | null;
  /** For a single tool call. */
  toolMs: number | null;
}

export interface RetryPlan {
  /** How many attempts may fail at the task itself, the first included; 1 is no retry. */
  attempts: number;
  /** Waits between those. */
  backoff: { firstMs: number; factor: number; mostMs: number };
  /** Waits after a start that showed no sign of activity; one more try each. */
  startupMs: number[];
  /** Waits for the model on the last candidate; one more try each. */
  modelMs: number[];
  /** A model that asks for a longer wait than this is not waited for. */
  mostWaitMs: number;
  /** Try again even after a tool that may have changed something. */
  afterSideEffects: boolean;
  /** Try again even if nobody can say that the attempt's processes are gone. */
  unproven: boolean;
  /** Rules of the plan's own; the first that matches names the class. */
  rules: FailureRule[];
}

/** Names the class of a failure by its code or by what its message says. */
export interface FailureRule {
  /** Matches this code. */
  code?: FailureCode;
  /** Matches a message that contains this, without regard to case. */
  text?: string;
  as: FailureClass;
}

/**
 * What is done about a failure: `model`: the next candidate, or a wait on the last; `next-model`: the next candidate
 * only; `task`: as often as the plan says; `never`: nothing.
 */
export type FailureClass = 'startup' | 'model' | 'next-model' | 'task' | 'never';

export interface RunLimits {
  /** Steps that hold a slot at one time, 1 to 64. */
  concurrency: number;
  /** Limit for the whole run in milliseconds; null is none. */
  timeoutMs: number | null;
}

/** One rung of a stop ladder: what is done, and how long the tree has to be gone before the next rung. */
export interface StopRung {
  do: 'abort' | 'close-stdin' | 'SIGINT' | 'SIGTERM' | 'SIGKILL';
  graceMs: number;
}

/** Above those of the agent: the runs that the attempt has started are told to end, and waited for. */
export interface NestedRung {
  do: 'stop-nested' | 'interrupt-nested';
  graceMs: number;
}
export type Rung = StopRung | NestedRung;

/* ------------------------------------------------------------------ causes */

/**
 * Why a run, step or attempt is ending. One each, latched; see policy/cause.ts for the order.
 * `at` is when the cause arose.
 */
export type Cause =
  | { type: 'stop'; at: Instant; source: string; command?: string; reason?: string }
  | { type: 'runner-signal'; at: Instant; signal: string }
  | { type: 'runner-crashed'; at: Instant; message: string }
  /** `deadlineAt`: it was moved to this instant, which was over already; `limitMs` is 0 then. */
  | { type: 'run-deadline'; at: Instant; limitMs: number; deadlineAt?: Instant }
  | { type: 'step-limit'; at: Instant; limitMs: number; deadlineAt?: Instant }
  | { type: 'attempt-limit'; at: Instant; limitMs: number }
  | { type: 'first-output-limit'; at: Instant; limitMs: number }
  | { type: 'stall-limit'; at: Instant; limitMs: number; action: 'stop' | 'retry' }
  | { type: 'tool-limit'; at: Instant; limitMs: number; tool: string }
  | { type: 'budget'; at: Instant; budget: 'turns' | 'tools' | 'usage' }
  | { type: 'protocol-error'; at: Instant; reason: string }
  | { type: 'interrupt'; at: Instant; source: string; command?: string }
  /** Interrupted by the runner, to be resumed at once: nothing was heard of this message. */
  | { type: 'recovery'; at: Instant; request: string }
  | { type: 'superseded'; at: Instant; by: StepId }
  | { type: 'dependency'; at: Instant; step: StepId }
  | { type: 'failure'; at: Instant; reason: FailureCode }
  | { type: 'completed'; at: Instant };
export type CauseType = Cause['type'];

/** Why work failed by itself. Codes are stable; the message beside them is for people. */
export type FailureCode =
  // the child could not be started
  | 'command-missing'
  | 'command-not-executable'
  | 'cwd-missing'
  | 'argument-list-too-long'
  | 'argument-invalid'
  | 'resources-exhausted'
  | 'spawn-failed'
  | 'not-contained'
  | 'session-busy'
  | 'launch-changed'
  // how it ended
  | 'exit-code'
  | 'signal'
  | 'exited-mid-tool'
  | 'no-end-record'
  | 'empty-output'
  // what it has to show for itself
  | 'schema-missing'
  | 'schema-invalid'
  | 'schema-ambiguous'
  | 'hidden-error'
  | 'missing-output'
  | 'no-changes'
  // what the agent said
  | 'model-error'
  | 'rate-limited'
  | 'model-unavailable'
  | 'tool-unavailable'
  | 'auth'
  | 'context-overflow'
  | 'model-timeout'
  | 'aborted'
  | 'length'
  | 'protocol'
  // around it
  | 'template'
  | 'leftovers'
  | 'unproven'
  | 'runner-start';

export interface Failure {
  code: FailureCode;
  message: string;
  /** Names, numbers and error codes that say more; never a prompt or an environment value. */
  detail?: Record<string, string | number | boolean | null>;
}

/* ------------------------------------------------------------------ messages */

/** What of a text goes on record: how long it is, and the first 12 hex digits of its hash. Never the text. */
export interface TextDigest {
  chars: number;
  sha256: string;
}

/** `now`: at the next tool boundary. `next`: after the answer. `auto`: as the agent finds right. */
export type SteerMode = 'now' | 'next' | 'auto';

/** Why a message was not taken by an agent, as far as anybody knows. */
export type UndeliveredReason =
  /** This agent cannot be spoken to while it works. */
  | 'unsupported'
  /** Its time was over first. */
  | 'expired'
  /** Another message had this id. */
  | 'conflict'
  /** It was taken into a turn that was then dropped. */
  | 'aborted'
  /** It was handed over, and nothing ever said that it was taken. */
  | 'unconfirmed'
  /** The step, or its attempt, ended before the message could be handed over or taken. */
  | 'step-ended'
  | 'run-ended'
  /** So many wait already. */
  | 'inbox-full'
  /** It could not be handed over. */
  | 'failed';

/* ------------------------------------------------------------------ usage and proof */

export interface Usage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  /** US dollars; absent where the agent does not say: unknown is not zero. */
  costUsd?: number;
  turns: number;
  tools: number;
}

export type ProofLevel = 'contained' | 'searched' | 'group';

/** A process as the proof names it: pid and start time together are its identity on this boot. */
export interface Member {
  pid: number;
  /** Clock ticks since boot (Linux, /proc/<pid>/stat field 22); null where the platform has none. */
  startTime: number | null;
  /**
   * How it was found. `group`: by process group or session. `descent`: its parent was a member, now or at an earlier look.
   * `pipe`: it holds the attempt's stdout or stderr. `cgroup`, `namespace`: it is inside the attempt's container.
   */
  by: 'leader' | 'group' | 'token' | 'descent' | 'pipe' | 'cgroup' | 'namespace';
  command: string;
  /** Registered by the child as one that outlives it. */
  declared?: boolean;
}

export interface SentSignal {
  at: Instant;
  rung: Rung['do'];
  /** How many processes or groups were signalled; 0 when there was nobody left. */
  targets: number;
  error?: string;
}

export type Verdict = 'gone' | 'survived' | 'unknown';

/** The record of a tree's end: what was found, what was done, and how well we could look. */
export interface Proof {
  verdict: Verdict;
  level: ProofLevel;
  /** Who is still there (`survived`). */
  members: Member[];
  /** Who was found after the leader had gone and was ended by us. */
  leftovers: Member[];
  /** Who was found and stays, because the plan or the child's own declaration says so. */
  kept: Member[];
  signals: SentSignal[];
  /** Why it is unknown. */
  reason?: string;
  at: Instant;
}

/* ------------------------------------------------------------------ attempt */

/** The agent's own verdict on its work, from its protocol and its exit. */
export type AgentEnd = (
  | { type: 'success'; /** Characters of the final text. */ chars: number; stop: 'stop' | 'length' }
  | { type: 'failure'; failure: Failure }
) &
  EndNotes;

/** What else its records told, that counts at a natural end; absent where there is nothing of the kind. */
export interface EndNotes {
  /** The tool that failed last, where nothing was said or done after it. */
  failedTool?: string;
  /** Tools that it was to have, and says it lacks. */
  lacks?: string[];
}

/** What was found when it was looked for what an attempt has to show. */
export interface Findings {
  at: Instant;
  /** Null: no value was asked for. */
  value: ValueFinding | null;
  /** Files that it wrote, of those it has to. */
  files: number;
  /** The others, and why each does not count. */
  missing: { file: string; why: string }[];
  /** `unknown`: it could not be looked at; `reason` says why. Null: it was not asked for. */
  changes: { type: 'some' } | { type: 'none' } | { type: 'unknown'; reason: string } | null;
}

export type ValueFinding =
  | { type: 'valid' }
  /** Nothing was handed in. */
  | { type: 'missing' }
  /** At least one; the first few of them. */
  | { type: 'invalid'; problems: Problem[] }
  | { type: 'ambiguous'; candidates: number };

/** What is wrong with a value. `path`: a JSON Pointer into it, empty for the whole. */
export interface Problem {
  path: string;
  message: string;
}

export interface Exit {
  at: Instant;
  code: number | null;
  signal: string | null;
}

export interface OpenTool {
  id: string;
  name: string;
  since: Instant;
}

/** What the child port tells its attempt. */
export type ChildEvent =
  /** `launch`: digest of what it was started as. */
  | { type: 'child.started'; at: Instant; pid: number; startTime: number | null; launch?: string }
  | { type: 'child.unstarted'; at: Instant; failure: Failure }
  /** Bytes or records came; coalesced to at most ten a second. `progress`: more than noise. */
  | { type: 'child.active'; at: Instant; progress: boolean }
  /** Of the open tools the oldest; `mayChange`: one was opened that may change something outside the agent. */
  | { type: 'child.tool'; at: Instant; tool: OpenTool | null; mayChange: boolean }
  /** The running total of this attempt. */
  | { type: 'child.usage'; at: Instant; usage: Usage }
  | { type: 'child.session'; at: Instant; session: string }
  | { type: 'child.model'; at: Instant; model: string }
  /** From now on it can be spoken to. */
  | { type: 'child.listens'; at: Instant }
  /** The protocol said that the work is done. */
  | { type: 'child.ended'; at: Instant; end: AgentEnd }
  /** What looked like the end was not: the agent went on. */
  | { type: 'child.resumed'; at: Instant }
  /** The child broke its protocol in a way that cannot be survived. */
  | { type: 'child.broken'; at: Instant; reason: string }
  | { type: 'child.exited'; at: Instant; code: number | null; signal: string | null }
  /** Everything that will be read has been read; `end` is the final verdict. Comes once, after `child.exited`. */
  /** `emptied`: nobody who is known is left of it; whether anybody else is, a search has to say. */
  | { type: 'child.drained'; at: Instant; how: 'closed' | 'quiet' | 'limit'; end: AgentEnd; emptied: boolean }
  | ChildSteer
  /** The child asks its supervisor something; `expiresAt` null: it waits for as long as it lives. */
  | { type: 'child.asked'; at: Instant; ask: string; text: TextDigest; expiresAt: Instant | null }
  /** The child no longer waits for an answer. */
  | { type: 'child.ask-gone'; at: Instant; ask: string }
  /** It reviews in the background what was done, or does not any more. Of two reports that with the greater `seq` counts. */
  | { type: 'child.review'; at: Instant; seq: number; active: boolean };

/** What became of a message. `taken`: into the agent's conversation; `delivered`: and the agent went on with it. */
export type ChildSteer =
  | { type: 'child.steer'; at: Instant; id: string; state: 'queued' | 'taken' | 'delivered' }
  | { type: 'child.steer'; at: Instant; id: string; state: 'undelivered'; reason: UndeliveredReason };

/** What an attempt tells its child port. */
export type ChildCommand =
  | { type: 'child.finish' }
  /** There is so much time left; an agent that can be told is told to come to an end. */
  | { type: 'child.wrap-up'; leftMs: number }
  /** Hands over a message; its text is held outside the machines, under this id. */
  | { type: 'child.steer'; id: string; mode: SteerMode }
  /** Answers an ask with the text of this command, which is held outside the machines; null: there will be no answer. */
  | { type: 'child.answer'; ask: string; command: string | null };

export interface AttemptInput {
  step: StepId;
  n: number;
  token: string;
  agent: string;
  model: string | null;
  ladder: Rung[];
  limits: AttemptLimits;
  leftovers: StepPlan['leftovers'];
  /** How the task reaches the child; `file` after it was killed with the task among its arguments. */
  delivery: 'auto' | 'file';
  /** The earliest end that is known now: of the run, of the step. Passed to the child. */
  deadlineAt: Instant | null;
  /** Goes on in this session of the agent: the step was paused in it, or is to repair what it made. Null: begins afresh. */
  session: string | null;
  /** A later attempt could go on in the session of this one. */
  resumes: boolean;
  /** Null: its word is enough. */
  expects: Expected | null;
  /** What the attempt before ended with, and this one is to put right. */
  repair: Failure | null;
  /** It can be spoken to; one that cannot may say later that it can (`child.listens`). */
  listens: boolean;
  at: Instant;
}

export interface AttemptOutput {
  n: number;
  /** Of the process: the token that its environment carried. */
  token: string;
  outcome: 'completed' | 'failed' | 'stopped' | 'paused';
  cause: Cause;
  failure: Failure | null;
  exit: Exit | null;
  /** The work was done but the process had to be ended by us. */
  forcedExit: boolean;
  /** Any sign of life: a byte of output, a tool, a turn. */
  active: boolean;
  /** A tool was opened that may have changed something. */
  sideEffects: boolean;
  startedAt: Instant | null;
  usage: Usage;
  session: string | null;
  model: string | null;
  /** Null when no process was ever started: nothing can be left of it. */
  proof: Proof | null;
  /** Digest of what it was started as; absent when it was not. */
  launch?: string;
  at: Instant;
}

/** What step tells attempt, and run tells step: end, for this cause. `command` waits to hear what came of it. */
export type EndEvent = { type: 'end'; cause: Cause; command?: string };
/** And: the earliest end that is known has moved. */
export type DeadlineNotice = { type: 'deadline.moved'; at: Instant; deadlineAt: Instant | null };
/** And: hand over this message; this ask has had its end. */
export type MessageNotice =
  | { type: 'steer'; at: Instant; id: string; mode: SteerMode }
  /** Nothing is heard of a message: it is to be interrupted and resumed for it. Answered by `steer.recovery`. */
  | { type: 'steer.recover'; at: Instant; id: string; attempt: number }
  | { type: 'ask.settled'; at: Instant; ask: string; command: string | null };

/** What an attempt tells its step, which tells it to the run. */
export type AttemptNews =
  /** It can be spoken to. */
  | { type: 'attempt.live'; at: Instant; step: StepId; attempt: number }
  /** What came of a command to end it: false when another end stands. */
  | {
      type: 'command.heard';
      at: Instant;
      step: StepId;
      command: string;
      taken: boolean;
      /** It came too late for this attempt, which has failed or may yet have; so there might have been another one. */
      undecided?: true;
    }
  | SteerNews
  | RecoveryNews
  | {
      type: 'ask.asked';
      at: Instant;
      step: StepId;
      attempt: number;
      ask: string;
      text: TextDigest;
      expiresAt: Instant | null;
    }
  | { type: 'ask.gone'; at: Instant; step: StepId; ask: string };
/** Whether it is interrupted for this message, to be resumed. */
export type RecoveryNews = {
  type: 'steer.recovery';
  at: Instant;
  step: StepId;
  attempt: number;
  id: string;
  taken: boolean;
};
export type SteerNews =
  | { type: 'steer.heard'; at: Instant; step: StepId; id: string; state: 'queued' | 'taken' | 'delivered' }
  | { type: 'steer.heard'; at: Instant; step: StepId; id: string; state: 'undelivered'; reason: UndeliveredReason };

/* ------------------------------------------------------------------ termination */

export interface TerminationInput {
  step: StepId;
  n: number;
  /** `leftovers`: the leader has gone by itself, look first. `stop`: climb the ladder first. */
  why: 'leftovers' | 'stop';
  ladder: Rung[];
  /** For what is found after a natural exit; everything else is ended. */
  policy: StepPlan['leftovers'];
  /** Its slot has been given on already: nobody who is known is left. */
  released: boolean;
  at: Instant;
}

/** Told by a termination to its attempt: the slot can be given on, the search is still to come. */
export type ReleasedEvent = { type: 'termination.released' };

export type TreeCommand =
  | { type: 'tree.apply'; rung: Rung['do'] }
  /** `watch`: say so at once if nobody who is known is left. */
  | { type: 'tree.look'; watch: boolean };

export type TreeEvent =
  | ({ type: 'tree.applied' } & SentSignal)
  /** This tree has no such rung (no protocol to abort by): the next one, without its grace. */
  | { type: 'tree.refused'; at: Instant; rung: Rung['do'] }
  /** The leader was reaped and nobody but zombies is left in its group. */
  | { type: 'tree.emptied'; at: Instant }
  /** `search` tells one search from another: two attempts can share one, two looks must not. */
  | { type: 'tree.looked'; at: Instant; members: Member[]; level: ProofLevel; search: number }
  | { type: 'tree.blind'; at: Instant; reason: string; level: ProofLevel };

/* ------------------------------------------------------------------ step */

export interface StepInput {
  plan: StepPlan;
  /** Number of the first attempt: 1, or one more than the last of an earlier epoch. */
  firstAttempt: number;
  /** It was paused, and goes on from here. */
  before: StepBefore | null;
  /** Of the run. */
  deadlineAt: Instant | null;
  /** Models that failed a moment ago, and until when they are left alone. */
  cooling: Cooling;
  /** For the jitter of waits: a machine draws no lots. */
  seed: number;
  at: Instant;
}

export type Cooling = Record<string, Instant>;

/** What a step that was paused goes on from. */
export interface StepBefore {
  startedAt: Instant | null;
  attempts: AttemptOutput[];
  notes: Record<number, string>;
  /** Null when it was paused before its first attempt. */
  tries: Tries | null;
  /** The agent's session; null: there is none, or the agent did not say. */
  session: string | null;
  /** What is left of the step's own limit, in milliseconds; null is no limit. */
  limitMs: number | null;
}

/** Where a step is in its candidates and its tries. Data: every try makes a new one. */
export interface Tries {
  models: readonly string[];
  /** Index into `models`. */
  model: number;
  /** Tries at the start, for the model, and at the task itself, so far. */
  startup: number;
  waits: number;
  task: number;
  /** How often it was told what was wrong with what it made. */
  repairs: number;
  delivery: 'auto' | 'file';
}

/** What a run tells its steps besides `end`. */
export type StepNotice =
  | DeadlineNotice
  | MessageNotice
  | { type: 'step.extend'; at: Instant; deadlineAt: Instant; limitMs: number }
  | { type: 'models.cooling'; cooling: Cooling };

/** What a step tells its run on the way. */
export type StepNews =
  | { type: 'step.released'; step: StepId }
  | { type: 'model.failed'; step: StepId; model: string; until: Instant }
  | AttemptNews
  /** It has closed: nothing of it will be heard any more. */
  | { type: 'attempt.over'; at: Instant; step: StepId; attempt: number };

/** What an attempt's activity tells it. */
export type ActivityNews =
  { type: 'limit.reached'; cause: Cause } | { type: 'activity.changed'; at: Instant; state: Activity };
/** `reviewing`: its work is done, and what watches over it in the background is not. */
export type Activity = 'fresh' | 'quiet' | 'stalled' | 'reviewing';
export type ActivityEvent =
  | { type: 'heard'; at: Instant; progress: boolean }
  | { type: 'tool.opened'; at: Instant; tool: OpenTool }
  | { type: 'tool.closed'; at: Instant }
  /** The agent waits for a person, and does not any more. */
  | { type: 'ask.opened'; at: Instant; ask: string }
  | { type: 'ask.closed'; at: Instant; ask: string };
export interface ActivityInput {
  limits: AttemptLimits;
  at: Instant;
}

export interface PrepareInput {
  step: StepId;
  n: number;
  /** Of the agent, which is gone on with; null: it begins afresh. */
  session: string | null;
}

export type PrepareOutput =
  | {
      type: 'ready';
      at: Instant;
      token: string;
      ladder: Rung[];
      /** Its session can be gone on with. */
      resumes: boolean;
      /** It can be spoken to without having said so. */
      listens: boolean;
      /** The attempt has this session of the agent to itself; null: there is none to be had. */
      lease: LeasedSession | null;
    }
  | { type: 'refused'; at: Instant; failure: Failure };

/** A session of an agent, by the name of its file. `from`: the runner of that attempt has died, and nothing is left of it. */
export interface LeasedSession {
  session: string;
  from: { run: string; step: StepId; attempt: number } | null;
}

/** A new limit, from now on; 0 is now. */
export type DeadlineCommand = { type: 'deadline.set'; limitMs: number };

export interface CheckInput {
  step: StepId;
  n: number;
}

export type StepOutcome = 'completed' | 'failed' | 'stopped' | 'paused' | 'skipped';

export interface StepOutput {
  step: StepId;
  outcome: StepOutcome;
  cause: Cause;
  failure: Failure | null;
  attempts: AttemptOutput[];
  /** By attempt: why another one was made after it, or why not. */
  notes: Record<number, string>;
  /** Null for a step that was never started. */
  startedAt: Instant | null;
  /** Of a paused step: what it can go on from. */
  before: StepBefore | null;
  at: Instant;
}

/* ------------------------------------------------------------------ steering */

export interface SteeringInput {
  id: string;
  source: string;
  mode: SteerMode;
  text: TextDigest;
  targets: StepId[];
  /** How long it may take in all; null is for as long as its steps run. */
  expiresMs: number | null;
  /** How long nothing may be heard of it, once it was handed over, before its agent is resumed for it; null is for ever. */
  recoverAfterMs: number | null;
  at: Instant;
}

/** What a run tells a steering request. */
export type SteeringEvent =
  | { type: 'attempt.live'; at: Instant; step: StepId; attempt: number }
  | { type: 'attempt.over'; at: Instant; step: StepId; attempt: number }
  | { type: 'step.over'; at: Instant; step: StepId }
  | { type: 'run.over'; at: Instant }
  | RecoveryNews
  | SteerNews;

/** What a steering request tells its run on the way. */
export type SteeringNews =
  /** Hand it over to this step's attempt. */
  | { type: 'steer.hand'; at: Instant; id: string; step: StepId; mode: SteerMode }
  /** Nothing was heard of it, for as long as that may take. */
  | { type: 'steer.missed'; at: Instant; id: string; step: StepId; attempt: number }
  /** All who are left have it in their queues. */
  | { type: 'steer.waits'; at: Instant; id: string };

/** How a steering request has ended. */
export interface SteeringOutput extends SteerStatus {
  state: 'delivered' | 'undelivered';
  /** Handed over, and not known to have been taken or not: something may still be heard. */
  unheard: StepId[];
  endedAt: Instant;
}

/* ------------------------------------------------------------------ ask */

export interface AskInput {
  id: string;
  step: StepId;
  attempt: number;
  text: TextDigest;
  expiresAt: Instant | null;
  at: Instant;
}

/** What a run tells an ask. */
export type AskEvent =
  | { type: 'ask.answer'; at: Instant; command: string; text: TextDigest }
  | { type: 'ask.decline'; at: Instant }
  | { type: 'ask.gone'; at: Instant }
  | { type: 'run.over'; at: Instant };

export interface AskOutput extends AskStatus {
  state: Exclude<AskState, 'asked'>;
  /** The command that answered it. */
  command: string | null;
  endedAt: Instant;
}

/* ------------------------------------------------------------------ run */

export interface Owner {
  host: string;
  bootId: string;
  pid: number;
  startTime: number | null;
  instance: string;
}

export interface RunInput {
  id: string;
  name: string;
  epoch: number;
  steps: StepPlan[];
  limits: RunLimits;
  labels: Record<string, string>;
  owner: Owner;
  seed: number;
  /** How long nothing may be heard of a message before its step is interrupted and resumed, once in the run; null is never. */
  recoverAfterMs: number | null;
  /** Where it was started, when a child of another run did. */
  parent?: RunParent;
}

/**
 * A command that was read from the inbox or came through the library. `source`: who sends it. Texts are held outside
 * the machines, under the command's id.
 */
export type Command =
  | { type: 'stop'; id: string; source: string; step?: StepId; reason?: string }
  /** Pauses: resumable, in the same session where the agent has one. */
  | { type: 'interrupt'; id: string; source: string; step?: StepId; reason?: string }
  /** Goes on with a paused step; without `step` with all that are paused. */
  | { type: 'resume'; id: string; source: string; step?: StepId }
  /** A message for a step's agent; without `step` for every agent that works. */
  | { type: 'steer'; id: string; source: string; step?: StepId; mode: SteerMode; text: TextDigest; expiresMs?: number }
  /** More steps, resolved and checked. */
  | { type: 'append'; id: string; source: string; steps: StepPlan[] }
  /** A new deadline; `limitMs` counts from now. 0: it is over already, and `deadlineAt` says which instant was named. */
  | { type: 'extend'; id: string; source: string; step?: StepId; deadlineAt: Instant; limitMs: number }
  | { type: 'answer'; id: string; source: string; ask: string; text: TextDigest };
export type CommandType = Command['type'];
export type StopCommand = Extract<Command, { type: 'stop' }>;

/** Final verdicts. `delivered` and `undelivered` are those of steering. */
export type Verdicts = 'applied' | 'delivered' | 'rejected' | 'undelivered' | 'conflict';
export type RejectReason =
  | 'already-ended'
  | 'run-ended'
  | 'invalid'
  | 'unknown-type'
  | 'newer-version'
  | 'too-large'
  | 'not-a-file'
  | 'unsupported'
  | 'id-reused'
  | 'too-many'
  /** The run has not begun. */
  | 'not-begun'
  /** The run is being ended. */
  | 'stopping'
  | 'unknown-step'
  /** The step does not run, so it has no limit to move. */
  | 'not-running'
  /** Nothing that was named is paused. */
  | 'not-paused'
  /** Of a step to append: its id is taken. */
  | 'step-exists'
  | 'unknown-ask'
  /** The ask has had its end. */
  | 'not-waiting';

/** What became of a steering request at one step. */
export interface Target {
  step: StepId;
  state: TargetState;
  /** Of an undelivered one. */
  reason?: UndeliveredReason;
  /** Its agent was interrupted and resumed for it. */
  recovered?: boolean;
}
export type TargetState = 'scheduled' | 'recovering' | 'routed' | 'queued' | 'delivered' | 'undelivered';

export interface Answer {
  id: string;
  command: string;
  verdict: Verdicts;
  reason?: RejectReason | UndeliveredReason;
  at: Instant;
  detail?: string;
  /** Of a steering request that had more than one. */
  targets?: Target[];
  /** Undelivered, but some of its targets took it. */
  partial?: boolean;
}

/** What is known of a command before its final verdict, beyond that it was accepted. */
export interface Progress {
  id: string;
  command: string;
  verdict: 'queued';
  at: Instant;
}

export type RunEvent =
  | { type: 'run.begin'; at: Instant; deadlineAt: Instant | null }
  /** It cannot begin: it ends without having started anything. */
  | { type: 'run.refuse'; at: Instant; cause: Cause }
  | { type: 'run.command'; at: Instant; command: Command }
  /** A signal to the runner, or a fault outside the machines. */
  | { type: 'run.end'; cause: Cause }
  | { type: 'deadline.reached'; at: Instant }
  /** The wall clock was set: it is `byMs` from where the monotonic clock says it should be. */
  | { type: 'clock.jumped'; at: Instant; byMs: number }
  /** How the runs that its children have started are now; those of which there is news. */
  | { type: 'nested.seen'; at: Instant; runs: NestedSeen[] }
  /** The journal cannot be written; its lines wait. */
  | { type: 'record.degraded' }
  | { type: 'record.restored' }
  /** What steps tell on the way, and steering requests. */
  | StepNews
  | SteeringNews;

export type RunState = 'queued' | 'running' | 'stopping' | 'finalizing' | 'completed' | 'failed' | 'stopped' | 'paused';

export interface RunOutcome {
  state: 'completed' | 'failed' | 'stopped' | 'paused';
  cause: Cause;
  /** Failed, but something completed. */
  partial: boolean;
}

export interface RunOutput {
  outcome: RunOutcome;
  /** The end is on disk. False: it could not be written, and nothing claims an end. */
  recorded: boolean;
}

/* ------------------------------------------------------------------ finalize */

export interface FinalizeInput {
  outcome: RunOutcome;
  at: Instant;
}

/** What a line of the end is written from. */
export interface FinalizeLine {
  outcome: RunOutcome;
  /** When `run.settled` was journaled; null before that. */
  settledAt: Instant | null;
}

/** What the finalizer tells its run on the way. */
export type FinalizeEvent =
  /** `run.settled` is durable: from here on the run has ended. */
  | { type: 'finalize.settled'; at: Instant }
  /** And so is the result: from here on the status says so. `at`: when it settled. */
  | { type: 'finalize.published'; at: Instant }
  | { type: 'finalize.degraded' }
  | { type: 'finalize.restored' };
export interface FinalizeOutput {
  recorded: boolean;
}

/* ------------------------------------------------------------------ inbox */

export interface InboxInput {
  /** The folder is on a disk whose changes the system does not tell of. */
  poll: boolean;
}

export type InboxEvent =
  /** Something may have come. */
  | { type: 'folder.hint' }
  /** Another folder lies there under the same name. */
  | { type: 'folder.changed' }
  | { type: 'folder.missing' }
  | { type: 'folder.back' }
  | { type: 'watch.failed'; message: string }
  /** A batch was read and acted on. `unfinished`: a file in it may still be being written. */
  | { type: 'looked'; found: boolean; unfinished: boolean }
  | { type: 'written' }
  | { type: 'stuck'; message: string }
  | { type: 'inbox.close'; state: string }
  | { type: 'inbox.abandon' };

export type InboxWarningCode = 'polling' | 'folder-missing' | 'receipt-unwritten';
export interface InboxOutput {
  /** Receipts that found no folder to go to. */
  unwritten: number;
}

/* ------------------------------------------------------------------ journal */

/** What happened, as machines record it. The journal adds `v`, `seq` and `epoch` and writes `at` as `ts`. */
export type JournalBody =
  | {
      type: 'run.started';
      at: Instant;
      run: string;
      name: string;
      steps: StepPlan[];
      limits: RunLimits;
      labels: Record<string, string>;
      owner: Owner;
      deadlineAt: Instant | null;
      parent?: RunParent;
    }
  | { type: 'run.stopping'; at: Instant; cause: Cause }
  | { type: 'run.deadline-moved'; at: Instant; from: Instant | null; to: Instant }
  | { type: 'clock.jumped'; at: Instant; byMs: number }
  | { type: 'step.extended'; at: Instant; step: StepId; limitMs: number }
  | { type: 'run.appended'; at: Instant; command: string; steps: StepPlan[] }
  | { type: 'run.finalizing'; at: Instant }
  | { type: 'run.settled'; at: Instant; state: RunOutcome['state']; cause: Cause; partial: boolean }
  | { type: 'run.completed'; at: Instant }
  | { type: 'step.started'; at: Instant; step: StepId }
  /** It was paused, and waits for its turn again. */
  | { type: 'step.resumed'; at: Instant; step: StepId; command: string }
  | {
      type: 'step.settled';
      at: Instant;
      step: StepId;
      state: StepOutcome;
      cause: Cause;
      error?: Failure;
      /** Why there was no further attempt. */
      note?: string;
    }
  | {
      type: 'step.backing-off';
      at: Instant;
      step: StepId;
      /** The attempt that failed. */
      attempt: number;
      class: FailureClass;
      /** The next one is told what was wrong. */
      repair?: true;
      delayMs: number;
      model: string | null;
      note: string;
    }
  /** This attempt was ended for the sake of a message; the next one goes on in its session. */
  | { type: 'step.recovering'; at: Instant; step: StepId; attempt: number; request: string; note: string }
  | { type: 'activity.changed'; at: Instant; step: StepId; attempt: number; state: Activity }
  /** Its background review is not waited for any longer. */
  | { type: 'review.overdue'; at: Instant; step: StepId; attempt: number; limitMs: number }
  /** The attempt has this session of its agent to itself, until its tree is proven gone. */
  | ({ type: 'session.leased'; at: Instant; step: StepId; attempt: number } & LeasedSession)
  | { type: 'session.released'; at: Instant; step: StepId; attempt: number; session: string }
  | { type: 'attempt.launching'; at: Instant; step: StepId; attempt: number; token: string; agent: string }
  | {
      type: 'attempt.started';
      at: Instant;
      step: StepId;
      attempt: number;
      pid: number;
      startTime: number | null;
    }
  | {
      type: 'attempt.exited';
      at: Instant;
      step: StepId;
      attempt: number;
      code: number | null;
      signal: string | null;
    }
  | {
      type: 'attempt.closed';
      at: Instant;
      step: StepId;
      attempt: number;
      outcome: AttemptOutput['outcome'];
      cause: Cause;
      error?: Failure;
      forcedExit: boolean;
      model: string | null;
      session: string | null;
      usage: Usage;
      /** Null when no process was ever started. */
      proof: ProofSummary | null;
      launch?: string;
    }
  /** A run that a child of this one has started was seen, or goes on after it had ended. */
  | { type: 'nested.started'; at: Instant; run: string; step: StepId; attempt: number; depth: number }
  | {
      type: 'nested.ended';
      at: Instant;
      run: string;
      step: StepId;
      attempt: number;
      state: RunOutcome['state'];
      name: string;
      counts: NestedStatus['counts'];
    }
  | { type: 'cause.late'; at: Instant; step?: StepId; attempt?: number; cause: Cause; won: Cause }
  | { type: 'command.accepted'; at: Instant; id: string; command: string; source: string }
  | {
      type: 'command.answered';
      at: Instant;
      id: string;
      command: string;
      verdict: Verdicts;
      reason?: RejectReason | UndeliveredReason;
      /** Undelivered, but some of its targets took it. */
      partial?: boolean;
    }
  | {
      type: 'steer.scheduled';
      at: Instant;
      id: string;
      source: string;
      mode: SteerMode;
      text: TextDigest;
      targets: StepId[];
      expiresAt: Instant | null;
    }
  | { type: 'steer.routed'; at: Instant; id: string; step: StepId; attempt: number }
  /** Nothing was heard of it: this attempt is interrupted, and it will be handed to the next one. */
  | { type: 'steer.recovering'; at: Instant; id: string; step: StepId; attempt: number }
  | { type: 'steer.queued'; at: Instant; id: string; step: StepId }
  | { type: 'steer.delivered'; at: Instant; id: string; step: StepId }
  | { type: 'steer.undelivered'; at: Instant; id: string; step: StepId; reason: UndeliveredReason }
  /** It was not taken on at all. */
  | {
      type: 'steer.refused';
      at: Instant;
      id: string;
      source: string;
      mode: SteerMode;
      text: TextDigest;
      reason: UndeliveredReason;
    }
  /** The agent took it after all, when its end was known already. Changes no verdict. */
  | { type: 'steer.late'; at: Instant; id: string; step: StepId }
  | {
      type: 'ask.asked';
      at: Instant;
      id: string;
      step: StepId;
      attempt: number;
      text: TextDigest;
      expiresAt: Instant | null;
    }
  | { type: 'ask.answered'; at: Instant; id: string; step: StepId; command: string; text: TextDigest }
  | { type: 'ask.declined'; at: Instant; id: string; step: StepId }
  | { type: 'ask.expired'; at: Instant; id: string; step: StepId; reason: AskExpiry }
  | { type: 'ask.run-ended'; at: Instant; id: string; step: StepId }
  /** Something a person should know of. */
  | {
      type: 'notice';
      at: Instant;
      about: 'steering';
      id: string;
      state: 'undelivered' | 'partial';
      reason: UndeliveredReason;
    }
  | { type: 'persistence.degraded'; at: Instant; line: string; message: string }
  | { type: 'persistence.restored'; at: Instant };

export type JournalType = JournalBody['type'];
/** A line of `events.jsonl`. */
export type JournalRecord = { v: 1; seq: number; epoch: number; ts: Instant } & DistributiveOmit<JournalBody, 'at'>;
type DistributiveOmit<T, K extends PropertyKey> = T extends unknown ? Omit<T, K> : never;

/* ------------------------------------------------------------------ status */

export interface ProofSummary {
  verdict: Verdict;
  level: ProofLevel;
  leftovers: number;
  kept: number;
  survivors: number;
  reason?: string;
}

export type StepState = 'pending' | 'preparing' | 'running' | 'backing-off' | StepOutcome;

export interface StepStatus {
  id: StepId;
  agent: string;
  needs: StepId[];
  state: StepState;
  cause?: Cause;
  /** Number of the current or last attempt; 0 before the first. */
  attempt: number;
  model?: string;
  pid?: number;
  /** Only while it runs. */
  activity?: Activity;
  lastActivityAt?: Instant;
  lastProgressAt?: Instant;
  tool?: OpenTool;
  startedAt?: Instant;
  endedAt?: Instant;
  usage?: Usage;
  error?: Failure;
  forcedExit?: boolean;
  proof?: ProofSummary;
  /** Its agent has asked something, and nobody has answered yet. */
  waiting?: 'person';
  /** Only while it runs, and only where its agent cannot be spoken to (yet). */
  listens?: false;
  /** The attempts so far, their models and what became of them; at most the last 20. */
  attempts?: AttemptStatus[];
}

export interface AttemptStatus {
  n: number;
  model: string | null;
  outcome: AttemptOutput['outcome'];
  class: FailureCode | null;
  /** Why another attempt was made after it. */
  note?: string;
  /** Digest of what it was started as, as in its `launch.json`; absent when it was not started. */
  launch?: string;
}

/** Every request is counted in `requested` and in one of the six states; the other two say more of some. */
export interface SteeringCounts extends Record<TargetState, number> {
  requested: number;
  /** Undelivered, but some of its targets took it. */
  partial: number;
  /** Undelivered as far as was known, and taken all the same, by one of its targets. */
  late: number;
}

/** A steering request: as far as its slowest target. */
export interface SteerStatus {
  id: string;
  source: string;
  mode: SteerMode;
  text: TextDigest;
  at: Instant;
  expiresAt?: Instant;
  state: TargetState;
  /** Of an undelivered one: of its first target that did not take it. */
  reason?: UndeliveredReason;
  partial?: boolean;
  /** One of its targets was interrupted and resumed for it. */
  recovered?: boolean;
  /** At most 16. */
  targets: Target[];
  /** How many there are. */
  targetCount: number;
  endedAt?: Instant;
}

export type AskState = 'asked' | 'answered' | 'declined' | 'expired' | 'run-ended';
/** Its time was over, the child took it back, or its attempt has ended. */
export type AskExpiry = 'time' | 'gone';

export interface AskStatus {
  id: string;
  step: StepId;
  attempt: number;
  text: TextDigest;
  at: Instant;
  expiresAt?: Instant;
  state: AskState;
  endedAt?: Instant;
}

export interface Status {
  v: 1;
  id: string;
  /** The last journal event this reflects. */
  seq: number;
  epoch: number;
  name: string;
  state: RunState;
  cause?: Cause;
  partial?: boolean;
  startedAt: Instant;
  updatedAt: Instant;
  endedAt?: Instant;
  deadlineAt?: Instant;
  owner: Owner;
  limits: RunLimits;
  usage: Usage;
  steps: StepStatus[];
  counts: Record<StepState, number>;
  labels: Record<string, string>;
  /** The last 20 requests that have ended, then those that are open (at most 64). */
  steering: { counts: SteeringCounts; recent: SteerStatus[] };
  /** The last 20 that have ended, then those that are open (at most 64). */
  asks: AskStatus[];
  /** Of a nested run. */
  parent?: RunParent;
  /**
   * Runs that its children have started, once there was one: how many, at most 16 of them, and how many questions wait for an
   * answer in all of them and below them (missing: none).
   */
  nested?: { total: number; asks?: number; runs: NestedStatus[] };
  /** Only while a record could not be written. */
  persistence?: 'degraded';
}

/** A command that would be obeyed now. */
export interface Possible {
  command: CommandType;
  step?: StepId;
  ask?: string;
}

/** A step on the way to where a run is: an event, and the state before and after it. */
export interface PathStep {
  seq: number;
  at: Instant;
  /** Whose state it is; absent: the run's. */
  step?: StepId;
  from: string | null;
  to: string;
  record: JournalRecord;
}

/* ------------------------------------------------------------------ nested runs */

/** Where a nested run was started, and how far below the top run: 1 is by a child of the top run itself. */
export interface RunParent {
  run: string;
  step: StepId;
  attempt: number;
  depth: number;
}

/** A nested run as its own status says, read by the runner of its parent. */
export interface NestedSeen extends NestedStatus {
  epoch: number;
  seq: number;
}

/** What the parent shows of it. */
export interface NestedStatus {
  id: string;
  /** In which attempt of the parent it was started. */
  step: StepId;
  attempt: number;
  depth: number;
  state: RunState;
  name: string;
  /** Of its steps. */
  counts: Partial<Record<StepState, number>>;
  /** Questions that wait for an answer in it and in the runs below it; missing: none. */
  asks?: number;
  /** When it said so. */
  updatedAt: Instant;
}
