/**
 * The part of the record that costs nothing to load: paths, readers and what is placed exclusively, on `node:` modules alone.
 * Rooms use `index.ts`; this door is for the client, which must start fast.
 */
export { isSafeId, safeId } from '../ids.ts';
export { checkRunId, digest, sha256, type RunIdCheck, type TextDigest } from './names.ts';
export { placeNew, syncDir } from './create.ts';
export { leasesDir, runDir, sharedSessionsDir, type AttemptPaths, type ControlPaths, type RunDir } from './paths.ts';
export { resolveRoot, secureRoot, type ResolvedRoot, type RootRequest, type SecuredRoot } from './root.ts';
export { codeOf, troubleOf, type Trouble, type Written } from './trouble.ts';
export { faultIn, isObject, parseObject, readRecord, type JsonObject, type Reading } from './json.ts';
export { readJournal, type JournalPage, type JournalReadOptions } from './journal-read.ts';
export {
  findRun,
  lastEpoch,
  listActive,
  listRuns,
  readOwner,
  readProof,
  readResult,
  readRun,
  readStatus,
  type FoundRun,
  type RunList,
  type RunReading,
} from './readers.ts';
export type {
  AttemptProof,
  AttemptResult,
  Acknowledged,
  LaunchFacts,
  LaunchRecord,
  RunProof,
  RunResult,
  OutputFile,
  StepOutputRef,
  StepResult,
} from './result.ts';
export type { NestCapability, NestPlace, NestSlot } from './nest.ts';
export type { ClosedInbox, CommandFile, Receipt, ReceiptVerdict } from './receipts.ts';
