import { posix } from 'node:path';
import * as z from 'zod';
import { agentDefinition, agentName, agentPlaces } from './agentSchema.ts';
import { attemptFields, attemptPlaces } from './attemptSchema.ts';
import { duration, fail, line, oneOf, modelNames, timeLimitOf, withoutNul } from './fields.ts';
import { checkId, ID_PATTERN } from '../ids.ts';
import { badOutputFile } from './output-file.ts';

/** Most steps one plan may have. */
export const MAX_STEPS = 10_000;

/** The shape of a plan as people write it. It checks and changes nothing; `resolve.ts` fills in the defaults. */

const id = z
  .string()
  .superRefine((text, context) => {
    const checked = checkId(text);
    if (checked.type === 'bad') {
      fail(
        context,
        'bad-id',
        `"${text.slice(0, 100)}" ${checked.reason}. An id is 1 to 100 letters, digits, ".", "_" and "-".`,
      );
    }
  })
  .meta({ pattern: ID_PATTERN.source, description: 'Stable name of the step; unique, also without regard to case.' });

const model = modelNames.meta({ description: 'The model, or candidates in order. Default: the agent decides.' });

const cwd = z
  .string()
  .min(1, { error: 'must not be empty' })
  .refine((text) => !text.includes('\0'), { error: 'must not contain a NUL character' });

const count = (most: number) =>
  z
    .int({ error: `must be a whole number, 0 to ${most}` })
    .min(0, { error: `must be 0 to ${most}` })
    .max(most, { error: `must be 0 to ${most}` });

const env = z
  .record(
    z.string().regex(/^[^=\0]+$/, { error: 'must not be empty, and not contain "=" or a NUL character' }),
    withoutNul,
  )
  .meta({ description: 'Environment variables, added to those of the runner.' });

const outputFile = line(1_000).superRefine((text, context) => {
  const bad = badOutputFile(text);
  if (bad !== null) fail(context, 'bad-value', bad);
});

const output = z.strictObject({
  allowEmpty: z
    .boolean()
    .optional()
    .meta({ description: 'An empty answer is a result. Default: true for run, false for task.' }),
  schema: z
    .union([line(1_000), z.record(z.string(), z.unknown())], {
      error: 'must be a JSON Schema (a mapping), or the path of its file, relative to the plan',
    })
    .optional()
    .meta({
      description:
        'The output is a value that fits this JSON Schema (draft 2020-12, or 7 by $schema): a mapping, or the path of a file, relative to the plan.',
    }),
  repair: z
    .int({ error: 'must be a whole number, 0 to 5' })
    .min(0, { error: 'must be 0 to 5' })
    .max(5, { error: 'must be 0 to 5' })
    .optional()
    .meta({
      description: 'How often its agent is told what is wrong with the value and may put it right, 0 to 5; default 1.',
    }),
  file: outputFile
    .optional()
    .meta({ description: "The output is the content of this file, relative to the step's working directory." }),
  files: z
    .array(outputFile)
    .min(1, { error: 'names no file' })
    .max(100, { error: 'must be at most 100 files' })
    .refine((files) => new Set(files.map((file) => posix.normalize(file))).size === files.length, {
      error: 'names a file twice',
    })
    .optional()
    .meta({ description: "Files that each attempt has to write, relative to the step's working directory." }),
  changes: oneOf(['required', 'any']).optional().meta({
    description:
      'required: an attempt that changed nothing in the git work tree has failed. any: it may leave all as it was (the default).',
  }),
});

const argv = z
  .array(withoutNul)
  .min(1, { error: 'needs the program at least' })
  .refine((words) => words[0] !== '', { error: 'starts with an empty program name' });

const step = z.strictObject({
  id,
  agent: line(100).optional().meta({ description: 'Who does the task. Default: defaults.agent.' }),
  model: model.optional(),
  task: z
    .string()
    .refine((text) => text.trim() !== '', { error: 'is empty: say what is to be done' })
    .optional()
    .meta({ description: 'What the agent is asked to do; a template. Excludes run.' }),
  run: z
    .union([withoutNul.refine((text) => text.trim() !== '', { error: 'is empty' }), argv], {
      error: 'must be a command line (for the shell), or a list: program and arguments',
    })
    .optional()
    .meta({
      description:
        'A command: a list is program and arguments, each a template; a text goes to the shell and is none. Excludes task.',
    }),
  needs: z
    .array(z.string())
    .max(MAX_STEPS, { error: `must have at most ${MAX_STEPS} ids` })
    .optional()
    .meta({ description: 'Steps that must have completed first. Default: the step before; [] for none.' }),
  timeout: timeLimitOf('the step, its retries and waits included').optional(),
  cwd: cwd.optional().meta({ description: "Working directory, relative to the plan's." }),
  env: env.optional().meta({ description: 'Environment variables, over those in defaults; the values are templates.' }),
  template: z
    .boolean()
    .optional()
    .meta({ description: 'false: task, run and env are taken as they are. Default: true.' }),
  output: output.optional().meta({ description: 'What counts as a result.' }),
  ...attemptFields,
});

const nested = z.strictObject({
  depth: count(16)
    .optional()
    .meta({ description: 'How far down runs may start runs: 0 (not at all) to 16; default 3.' }),
  total: count(256)
    .optional()
    .meta({ description: 'How many nested runs there may be in all, at any depth: 0 to 256; default 10.' }),
});

const limits = z.strictObject({
  concurrency: z
    .int({ error: 'must be a whole number, 1 to 64' })
    .min(1, { error: 'must be 1 to 64' })
    .max(64, { error: 'must be 1 to 64' })
    .optional()
    .meta({ description: 'Steps that run side by side, 1 to 64; default 4.' }),
  timeout: timeLimitOf('the whole run').optional(),
  nested: nested
    .optional()
    .meta({ description: 'Limits of runs that the steps of this run start, and of those below them.' }),
});

const steering = z.strictObject({
  recover: z.union([z.boolean(), duration], { error: 'must be true, false, or a duration like 10s' }).optional().meta({
    description:
      'When nothing is heard of a message that was handed to an agent: interrupt its step, resume it and hand the message over again, once in the run. true: after 3s. A duration: after that. Default: false.',
  }),
});

const defaults = z.strictObject({
  agent: line(100).optional().meta({ description: 'For task steps that name none.' }),
  model: model.optional(),
  timeout: timeLimitOf('each step that names none').optional(),
  cwd: cwd.optional().meta({ description: "For steps that name none; relative to the plan's." }),
  env: env.optional().meta({ description: 'For all steps; taken as they are, not templates.' }),
  ...attemptFields,
});

export const planSchema = z.strictObject({
  $schema: z.string().optional().meta({ description: 'For editors; not read.' }),
  version: z
    .literal(1, { error: 'must be 1: this is the only version of the plan format that is known here' })
    .meta({ description: 'Version of the plan format.' }),
  name: line(200).optional().meta({ description: 'Shown to people. Default: the name of the file.' }),
  cwd: cwd.optional().meta({ description: "Working directory, relative to the plan file's folder, the default." }),
  labels: z
    .record(line(100), line(1_000))
    .refine((labels) => Object.keys(labels).length <= 64, { error: 'must be at most 64 labels' })
    .optional()
    .meta({ description: 'Kept with the run, for finding it again.' }),
  limits: limits.optional(),
  steering: steering.optional().meta({ description: 'What is done about messages to agents.' }),
  defaults: defaults.optional(),
  agents: z.record(agentName, agentDefinition).optional().meta({ description: "Agents of one's own, by name." }),
  steps: z
    .array(step)
    .min(1, { error: 'is empty: a plan needs at least one step' })
    .max(MAX_STEPS, { error: `must be at most ${MAX_STEPS} steps` })
    .meta({ description: 'What is to be done, in order.' }),
});

/** A plan as it is written: what `resolvePlan` takes. */
export type PlanInput = z.input<typeof planSchema>;

/** Names of the fields that an object may have at a place of the plan; for suggestions. */
export const knownFields = {
  plan: Object.keys(planSchema.shape),
  limits: Object.keys(limits.shape),
  nested: Object.keys(nested.shape),
  steering: Object.keys(steering.shape),
  defaults: Object.keys(defaults.shape),
  ...agentPlaces,
  step: Object.keys(step.shape),
  output: Object.keys(output.shape),
  ...attemptPlaces,
} as const satisfies Record<string, string[]>;

/** The plan as a JSON Schema (draft 7), for editors. It knows the shape; references between steps it does not check. */
export function planJsonSchema(): object {
  return { ...z.toJSONSchema(planSchema, { io: 'input', target: 'draft-7' }), title: 'coxswain plan, version 1' };
}
