import * as z from 'zod';
import type { FailureCode, FailureRule, ProofLevel, StepPlan } from '../../machines/protocol.ts';
import { duration, line, oneOf, timeLimit, timeLimitOf } from './fields.ts';
import type { ResolvedStep } from './types.ts';

/** How the attempts of a step are limited, repeated and ended: the same fields on a step and in `defaults`. */

const actions = ['notice', 'interrupt', 'stop', 'retry'] as const;

const stall = z.strictObject({
  after: duration.meta({
    description: 'How long there may be no progress while no tool is open: 2m, 90s, or a number of milliseconds.',
  }),
  action: oneOf(actions).optional().meta({
    description:
      'What is done then. notice: only say so (the default). interrupt: pause the step. stop: end the attempt. retry: end it and try again.',
  }),
});

const limits = z.strictObject({
  attempt: timeLimitOf('a single attempt').optional(),
  firstOutput: timeLimitOf('an attempt until its first byte of output').optional(),
  stall: z
    .union([timeLimit, stall], { error: 'must be a duration like 2m, a mapping of after and action, or none' })
    .optional()
    .meta({ description: 'Limit for an attempt without progress. A duration alone is only noticed: 2m.' }),
  tool: timeLimitOf('a single tool call').optional(),
});

const backoff = z.strictObject({
  first: duration.optional().meta({ description: 'The first wait; default 1s.' }),
  factor: z
    .number({ error: 'must be a number, 1 or more' })
    .min(1, { error: 'must be 1 or more' })
    .optional()
    .meta({ description: 'How much longer each wait is than the one before, 1 or more; default 2.' }),
  most: duration.optional().meta({ description: 'No wait is longer; default 60s, or the first wait if that is more.' }),
});

/** Failures that an attempt can end with; the others (of templates, of the runner) are never tried again. */
const failureCodes = [
  'command-missing',
  'command-not-executable',
  'cwd-missing',
  'argument-list-too-long',
  'argument-invalid',
  'resources-exhausted',
  'spawn-failed',
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
  'leftovers',
] as const satisfies readonly FailureCode[];

const failureClasses = ['startup', 'model', 'next-model', 'task', 'never'] as const satisfies FailureRule['as'][];

const rule = z.strictObject({
  code: oneOf(failureCodes).optional().meta({ description: 'Matches failures with this code.' }),
  text: line(1_000)
    .optional()
    .meta({ description: 'Matches failures whose message contains this, without regard to case.' }),
  as: oneOf(failureClasses).meta({
    description:
      'What the failure is taken for. startup: it did not start. model: the next model, or a wait for the last. next-model: the next model only. task: tried as often as attempts says. never: not tried again.',
  }),
});

const waits = (what: string) =>
  z
    .union([z.literal('none'), z.array(duration).max(20, { error: 'must be at most 20 waits' })], {
      error: 'must be a list of durations like [1s, 5s], or none',
    })
    .optional()
    .meta({ description: `${what}; one more try after each.` });

const attempts = z
  .int({ error: 'must be a whole number, 1 to 20' })
  .min(1, { error: 'must be 1 to 20' })
  .max(20, { error: 'must be 1 to 20' });

const retry = z.strictObject({
  attempts: attempts
    .optional()
    .meta({ description: 'How many attempts may fail at the task, the first included, 1 to 20; default 1.' }),
  backoff: z
    .union([duration, backoff], { error: 'must be a duration like 1s, or a mapping of first, factor and most' })
    .optional()
    .meta({ description: 'Waits between those attempts. A duration alone is the first wait.' }),
  startup: waits('Waits after a start without any sign of life; default [250ms, 750ms, 1500ms]'),
  model: waits('Waits for the last model when it failed; default [2s, 8s, 20s]; run steps have none'),
  mostWait: duration
    .optional()
    .meta({ description: 'A model that asks for a longer wait is not waited for; default 60s.' }),
  afterSideEffects: z
    .boolean()
    .optional()
    .meta({ description: 'Try again even after a tool that may have changed something. Default: false.' }),
  unproven: z.boolean().optional().meta({
    description: 'Try again even when nobody can say that the processes of the last attempt are gone. Default: false.',
  }),
  on: z.array(rule).max(100, { error: 'must be at most 100 rules' }).optional().meta({
    description:
      'What failures are taken for; the first rule that matches wins. A rule without code and text matches every failure.',
  }),
});

/** A field that is not there is looked up in `defaults`, each by itself; what is there replaces it as a whole. */
export const attemptFields = {
  limits: limits.optional().meta({ description: 'Time limits of each attempt; none undoes a default.' }),
  retry: z
    .union([z.literal('none'), attempts, retry], {
      error: 'must be a number of attempts (1 to 20), a mapping, or none',
    })
    .optional()
    .meta({
      description:
        'When there is another attempt. A number alone is the number of attempts; none: one attempt, whatever happens to it.',
    }),
  leftovers: oneOf(['end', 'keep', 'fail'] as const satisfies StepPlan['leftovers'][])
    .optional()
    .meta({
      description:
        'Processes left behind by an attempt that ended by itself. end: end them (the default). keep: list them. fail: end them, and the attempt has failed.',
    }),
  survivors: oneOf(['declared', 'none'] as const satisfies ResolvedStep['survivors'][])
    .optional()
    .meta({
      description:
        'declared: processes that the attempt itself declares may outlive it. none: nobody may (the default).',
    }),
  proof: oneOf(['contained', 'searched', 'group'] as const satisfies ProofLevel[])
    .optional()
    .meta({
      description:
        'How well it must be known that all processes of an attempt are gone before another one begins. contained: nothing can have left its container. searched: all processes of the machine were looked through (the default on Linux). group: its process group is empty (the default elsewhere).',
    }),
  contain: oneOf(['auto', 'cgroup', 'pidns', 'none'] as const satisfies ResolvedStep['contain'][])
    .optional()
    .meta({
      description:
        'What an attempt is started in. auto: a control group where one is delegated (the default). cgroup, pidns: a control group, a pid namespace. none: nothing.',
    }),
  asks: oneOf(['wait', 'decline'] as const satisfies StepPlan['asks'][])
    .optional()
    .meta({
      description:
        'When its agent asks something. wait: until somebody answers, within the limits (the default). decline: it is told at once that nobody will.',
    }),
};

/** Names of the fields at each place in them; for suggestions. */
export const attemptPlaces = {
  attemptLimits: Object.keys(limits.shape),
  stall: Object.keys(stall.shape),
  retry: Object.keys(retry.shape),
  backoff: Object.keys(backoff.shape),
  rule: Object.keys(rule.shape),
} as const satisfies Record<string, string[]>;
