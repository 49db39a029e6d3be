/**
 * The light way in: find, read, wait for and command runs that another process owns, through their directories alone.
 * Starts nothing, changes nothing but by commands, and loads nothing heavy, so that it is quick in a short-lived process. Of a
 * run that has ended, reading answers the commands that came too late: `rejected`, each by one receipt, some at a time.
 * A run is named by its id or by a prefix of one id only.
 */
export { find, rootOf, type Found, type NotFound, type Place } from './client/place.ts';
export { hasEnded, type OwnerState } from './client/owner.ts';
export {
  journal,
  list,
  proof,
  result,
  status,
  type JournalReading,
  type Listing,
  type ResultReading,
  type StatusReading,
  type Unreadable,
} from './client/read.ts';
export { wait, type WaitOptions, type Waited } from './client/wait.ts';
export { describeNotFound, follow, type FollowOptions } from './client/follow.ts';
export {
  answer,
  append,
  extend,
  interrupt,
  resume,
  send,
  steer,
  stop,
  type Answer,
  type CommandOptions,
  type SendOptions,
  type SteerOptions,
  type StepOptions,
  type StopOptions,
} from './client/send.ts';
export { asks, type Ask, type AsksReading } from './client/asks.ts';
export { can, why, type CanReading, type WhyReading } from './client/explain.ts';
export { describeCause, describeProof } from './record/report.ts';
export { parseTime } from './client/time.ts';
export { CoxswainError, isCoxswainError, type ErrorCode } from './errors.ts';
export type { Receipt, RunDir, RunProof, RunResult, StepResult } from './record/light.ts';
export type { Outgoing } from './inbox/light.ts';
export type {
  Activity,
  Cause,
  JournalRecord,
  Owner,
  PathStep,
  Possible,
  ProofSummary,
  Status,
  StepStatus,
  Usage,
} from '../machines/protocol.ts';
