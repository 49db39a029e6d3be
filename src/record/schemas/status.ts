import { z } from 'zod';
import type { Status, StepState, StepStatus } from '../../../machines/protocol.ts';
import {
  causeSchema,
  failureSchema,
  instant,
  limitsSchema,
  ownerSchema,
  proofSummarySchema,
  usageSchema,
  v1,
  whole,
} from './shared.ts';

const stepState = z.enum([
  'pending',
  'preparing',
  'running',
  'completed',
  'failed',
  'stopped',
  'paused',
  'skipped',
]) satisfies z.ZodType<StepState>;

const stepStatusSchema = z.object({
  id: z.string(),
  agent: z.string(),
  needs: z.array(z.string()),
  state: stepState,
  cause: causeSchema.exactOptional(),
  attempt: whole,
  model: z.string().exactOptional(),
  pid: z.int().exactOptional(),
  lastActivityAt: instant.exactOptional(),
  lastProgressAt: instant.exactOptional(),
  tool: z.object({ id: z.string(), name: z.string(), since: instant }).exactOptional(),
  startedAt: instant.exactOptional(),
  endedAt: instant.exactOptional(),
  usage: usageSchema.exactOptional(),
  error: failureSchema.exactOptional(),
  forcedExit: z.boolean().exactOptional(),
  proof: proofSummarySchema.exactOptional(),
}) satisfies z.ZodType<StepStatus>;

/** `status.json`. */
export const statusSchema = z.object({
  v: v1,
  id: z.string(),
  seq: whole.describe('the last journal record this reflects'),
  epoch: z.int(),
  name: z.string(),
  state: z.enum(['queued', 'running', 'stopping', 'finalizing', 'completed', 'failed', 'stopped', 'paused']),
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
  persistence: z.literal('degraded').exactOptional(),
}) satisfies z.ZodType<Status>;
