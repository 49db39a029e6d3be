import * as z from 'zod';
import { parseDuration } from './duration.ts';
import { didYouMean } from './suggest.ts';
import type { PlanErrorCode } from './types.ts';

/**
 * What the fields of a plan are made of. They check and change nothing.
 * A message given here completes "<field>: "; `issues.ts` writes the others.
 */

export function fail(context: z.RefinementCtx, code: PlanErrorCode, message: string): void {
  context.addIssue({ code: 'custom', message, params: { code } });
}

export const line = (max: number) =>
  z
    .string()
    .min(1, { error: 'must not be empty' })
    .max(max, { error: `must be at most ${max} characters` })
    .refine((text) => !/\p{Cc}/u.test(text), { error: 'must not contain line breaks or control characters' });

export const withoutNul = z
  .string()
  .refine((text) => !text.includes('\0'), { error: 'must not contain a NUL character' });

/** The name of a model, or several in order. */
export const modelNames = z.union(
  [line(200), z.array(line(200)).min(1, { error: 'needs at least one model; leave it out for the default' })],
  { error: 'must be the name of a model, or a list of names' },
);

/** One of a few words. */
export const oneOf = <const Words extends readonly string[]>(words: Words) =>
  z.enum(words, {
    error: ({ input }) =>
      `must be one of ${words.join(', ')}.${typeof input === 'string' ? didYouMean(input, words) : ''}`,
  });

export const duration = z
  .union([z.string(), z.number()], { error: 'must be a duration like 30m, or a number of milliseconds' })
  .superRefine((value, context) => {
    const parsed = parseDuration(value);
    if (parsed.type === 'bad') fail(context, 'bad-value', `must be a duration like 30m; ${parsed.reason}`);
  })
  .meta({ description: 'A duration like 500ms, 30s, 10m or 1h30m, or a number of milliseconds; at most 24 days.' });

/** A duration, or `none`. */
export const timeLimit = z
  .union([z.string(), z.number()], { error: 'must be a duration like 30m, a number of milliseconds, or none' })
  .superRefine((value, context) => {
    if (value === 'none') return;
    const parsed = parseDuration(value);
    if (parsed.type === 'bad') fail(context, 'bad-value', `must be a duration like 30m, or none; ${parsed.reason}`);
  });

export const timeLimitOf = (what: string) =>
  timeLimit.meta({ description: `Time limit of ${what}: 30m, 1h30m, 500ms, a number of milliseconds, or none.` });
