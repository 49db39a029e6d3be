import type { AttemptLimits, ProofLevel, RetryPlan, StepPlan } from '../../machines/protocol.ts';
import type { AgentSettings } from '../agents/index.ts';
import type { Path, PlanErrorCode } from './words.ts';

export type { Path, PlanErrorCode } from './words.ts';

/** A plan after defaults: what a run is started from and what `plan.json` keeps. Plain JSON, every path absolute. */
export interface ResolvedPlan {
  version: 1;
  name: string;
  cwd: string;
  /** `concurrency`: 1 to 64, default 4. `timeoutMs`: whole milliseconds for the run; null (the default) is none. */
  limits: { concurrency: number; timeoutMs: number | null; nested: NestedLimits };
  labels: Record<string, string>;
  /**
   * `recoverAfterMs`: how long nothing may be heard of a message to an agent before its step is interrupted and resumed for
   * it, once in the run. Missing: never, the default.
   */
  steering?: { recoverAfterMs: number };
  /** The definitions the plan itself brings, by name. Built-in agents are not listed. */
  agents: Record<string, AgentSettings>;
  /** As they were written: for steps that are appended later. Those of the plan have taken them in. */
  defaults?: object;
  /** 1 to 10,000, in the order of the plan. */
  steps: ResolvedStep[];
}

/** Of the runs that steps of a run start; those of the top run hold for all below it. */
export interface NestedLimits {
  /** How far down: 0 forbids them, 1 is runs that steps of the top run start. Default 3. */
  depth: number;
  /** How many in all, ever, at any depth. Default 10. */
  total: number;
}

export interface ResolvedStep {
  /** Passes `checkId`; unique in its plan, also without regard to case. */
  id: string;
  /** `command` for `run` steps. */
  agent: string;
  /** Candidates in order; empty is the agent's own default. */
  model: string[];
  /** Ids of steps that must have completed first; no duplicates, no cycles, in plan order. */
  needs: string[];
  /** Whole milliseconds; null (the default) is none. */
  timeoutMs: number | null;
  cwd: string;
  /** Added to the environment of the child, over the runner's. */
  env: Record<string, string>;
  /** For an agent; null on `run` steps. */
  task: string | null;
  /** Whether `task`, a list in `run`, and the values of `env` are templates. */
  template: boolean;
  /** A command step: an argv, or a line for the shell (never a template); null on `task` steps. */
  run: string[] | string | null;
  /** An empty answer counts as a result. Default: true for `run`, false for `task`. */
  allowEmpty: boolean;
  /** What it has to show besides; null: nothing. */
  output: ResolvedOutput | null;
  /** Of each attempt, whole milliseconds; default: none. */
  limits: AttemptLimits;
  /** Default: one attempt at the task; starts that fail, and models, are tried again. */
  retry: RetryPlan;
  /** Default `end`. */
  leftovers: StepPlan['leftovers'];
  /** `declared`: processes that the attempt declares may outlive it. Default `none`. */
  survivors: 'declared' | 'none';
  /** The least that must be known of the end of an attempt before another one begins. Default: `ResolveOptions.proof`. */
  proof: ProofLevel;
  /** What each attempt is started in. Default `auto`: a control group where one is delegated, else nothing. */
  contain: 'auto' | 'cgroup' | 'pidns' | 'none';
  /** When its agent asks something. Default `wait`. */
  asks: StepPlan['asks'];
}

export interface ResolvedOutput {
  /** Compiles, refers to nothing outside itself; null: the output is a text. */
  schema: Record<string, unknown> | null;
  /** How often an agent is told what is wrong with its value; 0 without a schema, and for commands. */
  repair: number;
  /** Whose content is the output; relative to the step's folder, and within it. */
  file: string | null;
  /** That have to be written besides. */
  files: string[];
  /** Something in the git work tree has to change. */
  changes: boolean;
}

export interface PlanError {
  /** As the caller named it; null for a plan that came as an object. */
  file: string | null;
  /** From 1; null where there is no text or no place in it. */
  line: number | null;
  column: number | null;
  /** Like `steps[1].needs[0]`; empty for the plan as a whole. */
  field: string;
  code: PlanErrorCode;
  message: string;
}

/** `errors` are in the order of the file, at most 20; `more` is how many were left out. */
export type Loaded = { type: 'ok'; plan: ResolvedPlan } | { type: 'invalid'; errors: PlanError[]; more: number };

/** A mistake before it has a place in a file. */
export interface Finding {
  path: Path;
  /** What to point at: the value (default) or the key, which is the mistake itself when it is unknown. */
  at?: 'key';
  code: PlanErrorCode;
  message: string;
}
