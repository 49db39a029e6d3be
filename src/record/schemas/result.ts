import { z } from 'zod';
import type { Acknowledged, AttemptResult, LaunchFacts, LaunchRecord, RunResult, StepResult } from '../result.ts';
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
  launch: z.string().exactOptional(),
}) satisfies z.ZodType<AttemptResult>;

const stepResultSchema = z.object({
  id: z.string(),
  agent: z.string(),
  state: stepOutcome,
  cause: causeSchema,
  error: failureSchema.exactOptional(),
  output: z
    .union([
      z.object({ text: z.string() }),
      z.object({ path: z.string(), bytes: whole, lines: whole, sha256 }),
      z.object({ value: z.unknown() }),
    ])
    .nullable(),
  outputState: z.enum(['present', 'absent', 'unknown']),
  truncated: z.boolean(),
  files: z.array(z.object({ file: z.string(), path: z.string(), bytes: whole, lines: whole, sha256 })).exactOptional(),
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

const known = z.object({ chars: whole, sha256 });
const names = z.array(z.string());

const factsSchema = z.object({
  agent: z.string(),
  client: z.object({ adapter: z.string(), mode: z.string().nullable(), version: z.string().nullable() }),
  program: names.nullable(),
  argv: names.describe('with {attempt} and {sessions} for the folders of this attempt and run'),
  cwd: z.string(),
  env: names,
  model: z.string().nullable(),
  thinking: z.string().nullable(),
  systemPrompt: z.object({ how: z.enum(['append', 'replace']), chars: whole, sha256 }).nullable(),
  tools: z.object({ only: names.nullable(), required: names }),
  extensions: names,
  skills: names,
  mcp: names,
  without: names,
  permissions: names,
  task: known.nullable(),
}) satisfies z.ZodType<LaunchFacts>;

const acknowledgedSchema = z.object({
  version: z.string().exactOptional(),
  model: z.string().exactOptional(),
  tools: names.exactOptional(),
  extensions: names.exactOptional(),
  skills: names.exactOptional(),
  mcp: z.array(z.object({ name: z.string(), status: z.string() })).exactOptional(),
}) satisfies z.ZodType<Acknowledged>;

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
  facts: factsSchema.exactOptional(),
  digest: z.string().exactOptional(),
  differs: names.exactOptional(),
  acknowledged: acknowledgedSchema.exactOptional(),
}) satisfies z.ZodType<LaunchRecord>;
