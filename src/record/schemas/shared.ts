import { z } from 'zod';
import type {
  Activity,
  AttemptLimits,
  Cause,
  Failure,
  FailureClass,
  FailureCode,
  Member,
  Owner,
  Proof,
  ProofSummary,
  RejectReason,
  RetryPlan,
  RunLimits,
  RunParent,
  NestedStatus,
  StepState,
  SentSignal,
  SteerMode,
  StepPlan,
  Rung,
  Target,
  TargetState,
  TextDigest,
  UndeliveredReason,
  Usage,
  Verdicts,
} from '../../../machines/protocol.ts';
import type { RunProof } from '../result.ts';

/** What more than one record is made of, and the proofs. Unknown fields are accepted and dropped. */

export const instant = z.string().describe('ISO 8601, UTC, with milliseconds');
export const whole = z.int().nonnegative();
export const v1 = z.literal(1);
export const sha256 = z.string().describe('hex');

export const activityState = z.enum(['fresh', 'quiet', 'stalled', 'reviewing']) satisfies z.ZodType<Activity>;

export const failureCode = z.enum([
  'command-missing',
  'command-not-executable',
  'cwd-missing',
  'argument-list-too-long',
  'argument-invalid',
  'resources-exhausted',
  'spawn-failed',
  'not-contained',
  'session-busy',
  'launch-changed',
  'exit-code',
  'signal',
  'exited-mid-tool',
  'no-end-record',
  'empty-output',
  'schema-missing',
  'schema-invalid',
  'schema-ambiguous',
  'hidden-error',
  'missing-output',
  'no-changes',
  'model-error',
  'rate-limited',
  'model-unavailable',
  'tool-unavailable',
  'auth',
  'context-overflow',
  'model-timeout',
  'aborted',
  'length',
  'protocol',
  'template',
  'leftovers',
  'unproven',
  'runner-start',
]) satisfies z.ZodType<FailureCode>;

export const failureSchema = z.object({
  code: failureCode,
  message: z.string(),
  detail: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])).exactOptional(),
}) satisfies z.ZodType<Failure>;

const limited = { at: instant, limitMs: z.number() };
const moved = { deadlineAt: instant.exactOptional().describe('it was moved to this instant, which was over already') };
const commanded = { at: instant, source: z.string(), command: z.string().exactOptional() };

export const causeSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('stop'), ...commanded, reason: z.string().exactOptional() }),
  z.object({ type: z.literal('runner-signal'), at: instant, signal: z.string() }),
  z.object({ type: z.literal('runner-crashed'), at: instant, message: z.string() }),
  z.object({ type: z.literal('run-deadline'), ...limited, ...moved }),
  z.object({ type: z.literal('step-limit'), ...limited, ...moved }),
  z.object({ type: z.literal('attempt-limit'), ...limited }),
  z.object({ type: z.literal('first-output-limit'), ...limited }),
  z.object({ type: z.literal('stall-limit'), ...limited, action: z.enum(['stop', 'retry']) }),
  z.object({ type: z.literal('tool-limit'), ...limited, tool: z.string() }),
  z.object({ type: z.literal('budget'), at: instant, budget: z.enum(['turns', 'tools', 'usage']) }),
  z.object({ type: z.literal('protocol-error'), at: instant, reason: z.string() }),
  z.object({ type: z.literal('interrupt'), ...commanded }),
  z.object({ type: z.literal('recovery'), at: instant, request: z.string() }),
  z.object({ type: z.literal('superseded'), at: instant, by: z.string() }),
  z.object({ type: z.literal('dependency'), at: instant, step: z.string() }),
  z.object({ type: z.literal('failure'), at: instant, reason: failureCode }),
  z.object({ type: z.literal('completed'), at: instant }),
]) satisfies z.ZodType<Cause>;

export const usageSchema = z.object({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  costUsd: z.number().exactOptional().describe('US dollars; absent where the agent does not say'),
  turns: z.number(),
  tools: z.number(),
}) satisfies z.ZodType<Usage>;

export const ownerSchema = z.object({
  host: z.string(),
  bootId: z.string(),
  pid: z.int(),
  startTime: z.number().nullable(),
  instance: z.string(),
}) satisfies z.ZodType<Owner>;

export const limitsSchema = z.object({
  concurrency: z.int(),
  timeoutMs: z.number().nullable(),
}) satisfies z.ZodType<RunLimits>;

export const stepState = z.enum([
  'pending',
  'preparing',
  'running',
  'backing-off',
  'completed',
  'failed',
  'stopped',
  'paused',
  'skipped',
]) satisfies z.ZodType<StepState>;

export const nestedCounts = z.partialRecord(stepState, whole) satisfies z.ZodType<NestedStatus['counts']>;

export const runParentSchema = z.object({
  run: z.string(),
  step: z.string(),
  attempt: z.int(),
  depth: z.int(),
}) satisfies z.ZodType<RunParent>;

const milliseconds = z.number();

export const attemptLimitsSchema = z.object({
  attemptMs: milliseconds.nullable(),
  firstOutputMs: milliseconds.nullable(),
  stall: z.object({ afterMs: milliseconds, action: z.enum(['notice', 'interrupt', 'stop', 'retry']) }).nullable(),
  toolMs: milliseconds.nullable(),
}) satisfies z.ZodType<AttemptLimits>;

export const failureClass = z.enum([
  'startup',
  'model',
  'next-model',
  'task',
  'never',
]) satisfies z.ZodType<FailureClass>;

export const retryPlanSchema = z.object({
  attempts: z.int(),
  backoff: z.object({ firstMs: milliseconds, factor: z.number(), mostMs: milliseconds }),
  startupMs: z.array(milliseconds),
  modelMs: z.array(milliseconds),
  mostWaitMs: milliseconds,
  afterSideEffects: z.boolean(),
  unproven: z.boolean(),
  rules: z.array(z.object({ code: failureCode.exactOptional(), text: z.string().exactOptional(), as: failureClass })),
}) satisfies z.ZodType<RetryPlan>;

export const stepPlanSchema = z.object({
  id: z.string(),
  agent: z.string(),
  models: z.array(z.string()),
  needs: z.array(z.string()),
  timeoutMs: milliseconds.nullable(),
  limits: attemptLimitsSchema,
  retry: retryPlanSchema,
  leftovers: z.enum(['end', 'keep', 'fail']),
  proof: z.enum(['contained', 'searched', 'group']),
  asks: z.enum(['wait', 'decline']),
  expects: z
    .object({ value: z.boolean(), repairs: whole, files: z.array(z.string()), changes: z.boolean() })
    .exactOptional(),
}) satisfies z.ZodType<StepPlan>;

const verdict = z.enum(['gone', 'survived', 'unknown']);
const level = z.enum(['contained', 'searched', 'group']);

export const proofSummarySchema = z.object({
  verdict,
  level,
  leftovers: whole,
  kept: whole,
  survivors: whole,
  reason: z.string().exactOptional(),
}) satisfies z.ZodType<ProofSummary>;

const memberSchema = z.object({
  pid: z.int(),
  startTime: z.number().nullable(),
  by: z.enum(['leader', 'group', 'token', 'descent', 'pipe', 'cgroup', 'namespace']),
  command: z.string(),
  declared: z.boolean().exactOptional(),
}) satisfies z.ZodType<Member>;

const rung = z.enum([
  'stop-nested',
  'interrupt-nested',
  'abort',
  'close-stdin',
  'SIGINT',
  'SIGTERM',
  'SIGKILL',
]) satisfies z.ZodType<Rung['do']>;

const sentSignalSchema = z.object({
  at: instant,
  rung,
  targets: whole,
  error: z.string().exactOptional(),
}) satisfies z.ZodType<SentSignal>;

/** `attempts/<step>/<n>/proof.json`. */
export const proofSchema = z.object({
  v: v1,
  verdict,
  level,
  members: z.array(memberSchema),
  leftovers: z.array(memberSchema),
  kept: z.array(memberSchema),
  signals: z.array(sentSignalSchema),
  reason: z.string().exactOptional(),
  at: instant,
}) satisfies z.ZodType<Proof & { v: 1 }>;

/** `proof.json` of the run. */
export const runProofSchema = z.object({
  v: v1,
  run: z.string(),
  epoch: z.int(),
  verdict: z.enum(['gone', 'survived', 'unknown', 'not-started']),
  level: level.nullable(),
  launches: whole,
  closes: whole,
  attempts: z.array(z.object({ step: z.string(), attempt: z.int(), ...proofSummarySchema.shape })),
  at: instant,
}) satisfies z.ZodType<RunProof>;

export const runOutcomeState = z.enum(['completed', 'failed', 'stopped', 'paused']);

export const stepOutcome = z.enum(['completed', 'failed', 'stopped', 'paused', 'skipped']);

const rejectReason = z.enum([
  'already-ended',
  'run-ended',
  'invalid',
  'unknown-type',
  'newer-version',
  'too-large',
  'not-a-file',
  'unsupported',
  'id-reused',
  'too-many',
  'not-begun',
  'stopping',
  'unknown-step',
  'not-running',
  'not-paused',
  'step-exists',
  'unknown-ask',
  'not-waiting',
]) satisfies z.ZodType<RejectReason>;

export const undeliveredReason = z.enum([
  'unsupported',
  'expired',
  'conflict',
  'aborted',
  'unconfirmed',
  'step-ended',
  'run-ended',
  'inbox-full',
  'failed',
]) satisfies z.ZodType<UndeliveredReason>;

export const answerReason = z.enum([...new Set([...rejectReason.options, ...undeliveredReason.options])]);

export const verdicts = z.enum([
  'applied',
  'delivered',
  'rejected',
  'undelivered',
  'conflict',
]) satisfies z.ZodType<Verdicts>;

export const textDigestSchema = z.object({ chars: whole, sha256 }) satisfies z.ZodType<TextDigest>;

export const steerMode = z.enum(['now', 'next', 'auto']) satisfies z.ZodType<SteerMode>;

export const targetState = z.enum([
  'scheduled',
  'recovering',
  'routed',
  'queued',
  'delivered',
  'undelivered',
]) satisfies z.ZodType<TargetState>;

export const targetSchema = z.object({
  step: z.string(),
  state: targetState,
  reason: undeliveredReason.exactOptional(),
  recovered: z.boolean().exactOptional().describe('its agent was interrupted and resumed for it'),
}) satisfies z.ZodType<Target>;
