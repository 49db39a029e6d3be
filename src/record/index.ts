/** The record of a run: writes bytes, knows no machine. */
export * from './light.ts';
export {
  syncFolder,
  writeDurable,
  writeDurableText,
  writeFlushed,
  writeJson,
  writeText,
  type Replace,
  type WriteOptions,
} from './atomic.ts';
export {
  addActive,
  addPlanPart,
  claimOwner,
  createAttemptDir,
  createRunDir,
  makeDir,
  removeActive,
  removePlanPart,
  removeStaleTemporaries,
  type Claim,
  type CreatedRun,
} from './create.ts';
export { openJournal, type Journal, type JournalFiles, type JournalOptions } from './journal.ts';
export { createRawLog, type RawLog, type RawLogOptions, type RawSummary } from './raw.ts';
export { createRedactor, type Redactor } from './redact.ts';
export { describeCause, describeProof, renderReport } from './report.ts';
export {
  causeSchema,
  closedInboxSchema,
  commandFileSchema,
  failureSchema,
  journalRecordSchema,
  jsonSchemas,
  launchSchema,
  nestCapabilitySchema,
  nestSlotSchema,
  ownerSchema,
  proofSchema,
  proofSummarySchema,
  receiptSchema,
  resultSchema,
  runProofSchema,
  statusSchema,
  usageSchema,
} from './schemas.ts';
export { createStatusFile, type StatusFile, type StatusFileOptions } from './status-file.ts';
export {
  createStatusSchedule,
  type ScheduleClock,
  type StatusSchedule,
  type StatusScheduleOptions,
} from './status-schedule.ts';
export { createTranscript, type Transcript, type TranscriptOptions, type TranscriptSummary } from './transcript.ts';
