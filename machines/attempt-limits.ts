import type { AttemptContext } from './attempt-outcome.ts';
import { WRAP_UP } from './policy/defaults.ts';
import { between, earlier, later } from './policy/time.ts';
import type { Cause, Instant } from './protocol.ts';

/** What an attempt's limits come to: how long it has, and what a stall means. */

/** What a stall comes to, by the plan; null when it is only noticed. */
export function stallCause({ limits }: AttemptContext, at: Instant): Cause | null {
  const { stall } = limits;
  switch (stall?.action) {
    case 'stop':
    case 'retry':
      return { type: 'stall-limit', at, limitMs: stall.afterMs, action: stall.action };
    case 'interrupt':
      return { type: 'interrupt', at, source: 'stall' };
    case 'notice':
    case undefined:
      return null;
  }
}

/** The earliest end that is known; null is none. */
export function endKnown({ limits, deadlineAt, startedAt, at }: AttemptContext): Instant | null {
  return earlier(deadlineAt, limits.attemptMs === null ? null : later(startedAt ?? at, limits.attemptMs));
}

/** Until then, from the last that was heard; null is for ever. */
function timeLeft(context: AttemptContext): number | null {
  const end = endKnown(context);
  return end === null ? null : Math.max(0, between(context.at, end));
}

export const wrapUpLeft = (context: AttemptContext): number => Math.min(WRAP_UP, (timeLeft(context) ?? 0) / 2);

/** XState has no "never": an attempt without an end is asked to wrap up in 24 days. */
export function wrapUpAfter(context: AttemptContext): number {
  const left = timeLeft(context);
  return left === null ? 2 ** 31 - 1 : left - wrapUpLeft(context);
}
