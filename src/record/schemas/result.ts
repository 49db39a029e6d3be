import { z } from 'zod';
import type { AttemptResult, LaunchRecord, RunResult, StepResult } from '../result.ts';
import {
  causeSchema,
  failureCode,
  failureSchema,
  instant,
  proofSummarySchema,
  runOutcomeState,
  sha256,
  stepOutcome,
  usageSchema,
  v1,
  whole,
} from './shared.ts';

const attemptResultSchema = z.object({
  n: z.int(),
  instance: z.string().describe('of the process: its token'),
  agent: z.string(),
  model: z.string().nullable(),
  outcome: runOutcomeState,
  class: failureCode.nullable(),
  usage: usageSchema,
  exit: z.int().nullable(),
  signal: z.string().nullable(),
  forcedExit: z.boolean(),
  closedAt: instant,
  proof: proofSummarySchema.nullable(),
  note: z.string().exactOptional(),
}) satisfies z.ZodType<AttemptResult>;

const stepResultSchema = z.object({
  id: z.string(),
  agent: z.string(),
  state: stepOutcome,
  cause: causeSchema,
  error: failureSchema.exactOptional(),
  output: z
    .union([z.object({ text: z.string() }), z.object({ path: z.string(), bytes: whole, lines: whole, sha256 })])
    .nullable(),
  outputState: z.enum(['present', 'absent', 'unknown']),
  truncated: z.boolean(),
  attempts: z.array(attemptResultSchema),
}) satisfies z.ZodType<StepResult>;

/** `result.json`. */
export const resultSchema = z.object({
  v: v1,
  id: z.string(),
  name: z.string(),
  epoch: z.int(),
  state: runOutcomeState,
  cause: causeSchema,
  partial: z.boolean().exactOptional(),
  startedAt: instant,
  endedAt: instant,
  usage: usageSchema,
  steps: z.array(stepResultSchema),
  plan: z.object({ sha256 }),
}) satisfies z.ZodType<RunResult>;

/** `attempts/<step>/<n>/launch.json`. */
export const launchSchema = z.object({
  v: v1,
  step: z.string(),
  attempt: z.int(),
  agent: z.string(),
  model: z.string().nullable(),
  argv: z.array(z.string()),
  shell: z.boolean(),
  cwd: z.string(),
  env: z.array(z.string()).describe('names only'),
  stdin: z.enum(['none', 'text', 'protocol']),
  exit: z.enum(['own', 'asked']),
  task: z.object({ chars: whole, sha256 }).nullable(),
  container: z.object({ kind: z.enum(['cgroup', 'pidns']), path: z.string().nullable() }).nullable(),
  at: instant,
}) satisfies z.ZodType<LaunchRecord>;
