import { z } from 'zod';
import type {
  AttemptStatus,
  NestedStatus,
  RunState,
  Status,
  StepState,
  StepStatus,
} from '../../../machines/protocol.ts';
import {
  causeSchema,
  failureCode,
  failureSchema,
  instant,
  limitsSchema,
  ownerSchema,
  proofSummarySchema,
  runOutcomeState,
  runParentSchema,
  usageSchema,
  v1,
  whole,
} from './shared.ts';

const stepState = z.enum([
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

const attemptStatusSchema = z.object({
  n: z.int(),
  model: z.string().nullable(),
  outcome: runOutcomeState,
  class: failureCode.nullable(),
  note: z.string().exactOptional(),
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
  activity: z.enum(['fresh', 'quiet', 'stalled']).exactOptional(),
  lastActivityAt: instant.exactOptional(),
  lastProgressAt: instant.exactOptional(),
  tool: z.object({ id: z.string(), name: z.string(), since: instant }).exactOptional(),
  startedAt: instant.exactOptional(),
  endedAt: instant.exactOptional(),
  usage: usageSchema.exactOptional(),
  error: failureSchema.exactOptional(),
  forcedExit: z.boolean().exactOptional(),
  proof: proofSummarySchema.exactOptional(),
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
  counts: z.partialRecord(stepState, whole),
  updatedAt: instant,
}) satisfies z.ZodType<NestedStatus>;

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
  parent: runParentSchema.exactOptional(),
  nested: z.object({ total: whole, runs: z.array(nestedStatusSchema) }).exactOptional(),
  persistence: z.literal('degraded').exactOptional(),
}) satisfies z.ZodType<Status>;
