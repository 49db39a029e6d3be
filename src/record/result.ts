import type {
  AttemptOutput,
  Cause,
  Failure,
  FailureCode,
  Instant,
  ProofLevel,
  ProofSummary,
  RunOutcome,
  StepId,
  StepOutcome,
  Usage,
  Verdict,
} from '../../machines/protocol.ts';

/** `result.json` (v1): what came of a run. Written once an epoch, when the run has settled. */
export interface RunResult {
  v: 1;
  id: string;
  name: string;
  epoch: number;
  state: RunOutcome['state'];
  cause: Cause;
  /** Failed, but something completed. */
  partial?: boolean;
  startedAt: Instant;
  endedAt: Instant;
  usage: Usage;
  steps: StepResult[];
  /** The plan this came from: hash of `plan.json`, as it was written. */
  plan: { sha256: string };
}

export interface StepResult {
  id: StepId;
  agent: string;
  state: StepOutcome;
  cause: Cause;
  error?: Failure;
  output: StepOutputRef | null;
  /** `unknown`: it ended in a way that leaves open whether `output` is all of it. */
  outputState: 'present' | 'absent' | 'unknown';
  /** `output` is not the whole text. */
  truncated: boolean;
  /** Those of the plan that its last attempt has written; absent where the plan names none. */
  files?: OutputFile[];
  attempts: AttemptResult[];
}

/**
 * The text itself, or the file it lies in: a path relative to the run directory, or that of the step's output file.
 * Of a step with a schema the value itself, or the file that holds it as JSON.
 */
export type StepOutputRef =
  { text: string } | { path: string; bytes: number; lines: number; sha256: string } | { value: unknown };

/** A file that the step was to write and has written, as it was right after that. */
export interface OutputFile {
  /** As the plan names it. */
  file: string;
  path: string;
  bytes: number;
  lines: number;
  sha256: string;
}

export interface AttemptResult {
  n: number;
  /** Of the process: the token that its environment carried. */
  instance: string;
  agent: string;
  model: string | null;
  outcome: AttemptOutput['outcome'];
  /** Why it failed; null when it did not. */
  class: FailureCode | null;
  usage: Usage;
  /** Exit code; null when it was ended by a signal or never ran. */
  exit: number | null;
  signal: string | null;
  forcedExit: boolean;
  /** When its end was complete: exit, streams and proof. */
  closedAt: Instant;
  /** Null when no process was ever started or its end was never recorded. */
  proof: ProofSummary | null;
  /** Why there was another attempt after it, or why not. */
  note?: string;
  /** Digest of what it was started as, as in its `launch.json`; absent when it was not started. */
  launch?: string;
}

/** `proof.json` of a run (v1): whether everything it started has ended, and how well that could be seen. */
export interface RunProof {
  v: 1;
  run: string;
  epoch: number;
  /** `not-started`: nothing was launched. A launch without a closing record makes it `unknown`. */
  verdict: Verdict | 'not-started';
  /** The weakest of the attempts' levels. */
  level: ProofLevel | null;
  launches: number;
  closes: number;
  attempts: AttemptProof[];
  at: Instant;
}

export interface AttemptProof extends ProofSummary {
  step: StepId;
  attempt: number;
}

/** `launch.json` of an attempt (v1): what was started. Arguments as they were given, less the secrets; no values of variables. */
export interface LaunchRecord {
  v: 1;
  step: StepId;
  attempt: number;
  agent: string;
  model: string | null;
  argv: string[];
  shell: boolean;
  cwd: string;
  /** Names of the environment variables the child got. */
  env: string[];
  stdin: 'none' | 'text' | 'protocol';
  exit: 'own' | 'asked';
  /** What is known of the task's text; null for a command step. */
  task: { chars: number; sha256: string } | null;
  /** What it was started in, so that a later process can look there; null when in nothing. `path`: of a control group. */
  container: { kind: 'cgroup' | 'pidns'; path: string | null } | null;
  at: Instant;
  /** What it is, apart from where and when: two launches with the same digest have the same facts. */
  facts?: LaunchFacts;
  /** Of the facts; also in status and result. */
  digest?: string;
  /** It goes on in the session of an earlier attempt: the facts that are not what they were then. */
  differs?: string[];
  /** What the client itself says that it is and has; absent while it has not said anything. */
  acknowledged?: Acknowledged;
}

/** What was asked for, by whom, for which task. Names, numbers and hashes; no text and no value of a variable. */
export interface LaunchFacts {
  agent: string;
  /** `version`: as far as it can be known without starting what may be anything; null for plain commands. */
  client: { adapter: string; mode: string | null; version: string | null };
  /** What the definition says is started; null: what is found by its usual name, or the step's own command. */
  program: string[] | null;
  /** With `{attempt}` and `{sessions}` for the folders of this attempt and run, as if it began a session. */
  argv: string[];
  cwd: string;
  /** Names of the environment variables. */
  env: string[];
  model: string | null;
  thinking: string | null;
  systemPrompt: { how: 'append' | 'replace'; chars: number; sha256: string } | null;
  /** `only` null: those it has by itself. */
  tools: { only: string[] | null; required: string[] };
  extensions: string[];
  skills: string[];
  /** Names of the servers. */
  mcp: string[];
  /** What it is kept from taking over. */
  without: string[];
  /** As `<tool>: <answer>`. */
  permissions: string[];
  task: { chars: number; sha256: string } | null;
}

export interface Acknowledged {
  version?: string;
  model?: string;
  tools?: string[];
  extensions?: string[];
  skills?: string[];
  mcp?: { name: string; status: string }[];
}
