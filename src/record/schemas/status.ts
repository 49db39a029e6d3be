import { z } from 'zod';
import type {
  AskStatus,
  AttemptStatus,
  NestedStatus,
  RunState,
  Status,
  SteerStatus,
  SteeringCounts,
  StepStatus,
} from '../../../machines/protocol.ts';
import {
  activityState,
  causeSchema,
  failureCode,
  failureSchema,
  instant,
  limitsSchema,
  ownerSchema,
  proofSummarySchema,
  runOutcomeState,
  nestedCounts,
  runParentSchema,
  stepState,
  steerMode,
  targetSchema,
  targetState,
  textDigestSchema,
  undeliveredReason,
  usageSchema,
  v1,
  whole,
} from './shared.ts';

const attemptStatusSchema = z.object({
  n: z.int(),
  model: z.string().nullable(),
  outcome: runOutcomeState,
  class: failureCode.nullable(),
  note: z.string().exactOptional(),
  launch: z.string().exactOptional().describe('digest of what was started, as in launch.json'),
}) satisfies z.ZodType<AttemptStatus>;

const stepStatusSchema = z.object({
  id: z.string(),
  agent: z.string(),
  needs: z.array(z.string()),
  state: stepState,
  cause: causeSchema.exactOptional(),
  attempt: whole,
  model: z.string().exactOptional(),
  pid: z.int().exactOptional(),
  activity: activityState.exactOptional(),
  lastActivityAt: instant.exactOptional(),
  lastProgressAt: instant.exactOptional(),
  tool: z.object({ id: z.string(), name: z.string(), since: instant }).exactOptional(),
  startedAt: instant.exactOptional(),
  endedAt: instant.exactOptional(),
  usage: usageSchema.exactOptional(),
  error: failureSchema.exactOptional(),
  forcedExit: z.boolean().exactOptional(),
  proof: proofSummarySchema.exactOptional(),
  waiting: z.literal('person').exactOptional().describe('its agent has asked something'),
  attempts: z.array(attemptStatusSchema).exactOptional(),
}) satisfies z.ZodType<StepStatus>;

const runState = z.enum([
  'queued',
  'running',
  'stopping',
  'finalizing',
  'completed',
  'failed',
  'stopped',
  'paused',
]) satisfies z.ZodType<RunState>;

const nestedStatusSchema = z.object({
  id: z.string(),
  step: z.string(),
  attempt: z.int(),
  depth: z.int(),
  state: runState,
  name: z.string(),
  counts: nestedCounts,
  asks: whole.exactOptional().describe('questions that wait for an answer in it and below it'),
  updatedAt: instant,
}) satisfies z.ZodType<NestedStatus>;

const steerStatusSchema = z.object({
  id: z.string(),
  source: z.string(),
  mode: steerMode,
  text: textDigestSchema,
  at: instant,
  expiresAt: instant.exactOptional(),
  state: targetState.describe('as far as the slowest of its targets'),
  reason: undeliveredReason.exactOptional(),
  partial: z.boolean().exactOptional(),
  recovered: z.boolean().exactOptional().describe('an agent was interrupted and resumed for it'),
  targets: z.array(targetSchema).describe('at most 16'),
  targetCount: whole,
  endedAt: instant.exactOptional(),
}) satisfies z.ZodType<SteerStatus>;

const steeringCountsSchema = z.object({
  requested: whole.describe('all: each is counted in one of the next six'),
  scheduled: whole,
  recovering: whole,
  routed: whole,
  queued: whole,
  delivered: whole,
  undelivered: whole,
  partial: whole,
  late: whole,
}) satisfies z.ZodType<SteeringCounts>;

const askStatusSchema = z.object({
  id: z.string(),
  step: z.string(),
  attempt: z.int(),
  text: textDigestSchema,
  at: instant,
  expiresAt: instant.exactOptional(),
  state: z.enum(['asked', 'answered', 'declined', 'expired', 'run-ended']),
  endedAt: instant.exactOptional(),
}) satisfies z.ZodType<AskStatus>;

/** `status.json`. */
export const statusSchema = z.object({
  v: v1,
  id: z.string(),
  seq: whole.describe('the last journal record this reflects'),
  epoch: z.int(),
  name: z.string(),
  state: runState,
  cause: causeSchema.exactOptional(),
  partial: z.boolean().exactOptional(),
  startedAt: instant,
  updatedAt: instant,
  endedAt: instant.exactOptional(),
  deadlineAt: instant.exactOptional(),
  owner: ownerSchema,
  limits: limitsSchema,
  usage: usageSchema,
  steps: z.array(stepStatusSchema),
  counts: z.record(stepState, whole),
  labels: z.record(z.string(), z.string()),
  steering: z.object({ counts: steeringCountsSchema, recent: z.array(steerStatusSchema) }),
  asks: z.array(askStatusSchema),
  parent: runParentSchema.exactOptional(),
  nested: z.object({ total: whole, asks: whole.exactOptional(), runs: z.array(nestedStatusSchema) }).exactOptional(),
  persistence: z.literal('degraded').exactOptional(),
}) satisfies z.ZodType<Status>;
