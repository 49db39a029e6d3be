/**
 * coxswain as a library: start and own runs. Adds no handlers of its own to the process, keeps no
 * globals, prints nothing.
 * To find, read and steer runs of other processes without loading all this, use `coxswain/client`.
 */
export { start, type Run, type StartOptions } from './runtime/start.ts';
export type { CommandOptions, EndOptions, RunCommands, StepCommandOptions, SteerOptions } from './runtime/commands.ts';
export type { Answered } from './runtime/callers.ts';
export { startDetached, type DetachedRun } from './runtime/detach.ts';
export { PlanInvalidError, resolveSource, type PlanSource, type SourceOptions } from './runtime/source.ts';
export { type Supervised, superviseProcess } from './runtime/supervise.ts';
export { exitCodeOf } from './runtime/exit.ts';
export {
  lookAgain,
  type AttemptAgain,
  type LookAgainOptions,
  type LookedAgain,
  type SeenAgain,
} from './runtime/look-again.ts';
export { parseSteps, readSteps, type StepsFile } from './plan/index.ts';
export { listAgents } from './runtime/list-agents.ts';
export { CoxswainError, isCoxswainError, type ErrorCode } from './errors.ts';

export type { AgentReport, AgentSettings, Capabilities, Permission } from './agents/index.ts';
export type {
  AgentInput,
  PlanError,
  PlanErrorCode,
  PlanInput,
  ResolvedOutput,
  ResolvedPlan,
  ResolvedStep,
  TaskRequest,
} from './plan/index.ts';
export type { AttemptResult, OutputFile, RunResult, StepOutputRef, StepResult } from './record/index.ts';
export { describeCause, describeProof } from './record/index.ts';
export type * from '../machines/protocol.ts';
