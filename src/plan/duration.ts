import ms from 'ms';

/** The longest delay a timer of Node takes: 24.8 days. */
const MAX_DURATION_MS = 2 ** 31 - 1;

export type Duration = { type: 'ok'; ms: number } | { type: 'bad'; reason: string };

const PART = /(\d+(?:\.\d+)?)\s*(ms|s|m|h|d)/g;
const WHOLE = /^(?:\d+(?:\.\d+)?\s*(?:ms|s|m|h|d)\s*)+$/;

/**
 * Milliseconds of `500ms`, `30s`, `10m`, `1h30m`, `2d`, or of a number, which is milliseconds already.
 * Whole, positive, and no longer than a timer can be. `reason` continues "must be a duration like 30m; …".
 */
export function parseDuration(value: string | number): Duration {
  if (typeof value === 'number') return bounded(value);
  const text = value.trim().toLowerCase();
  if (/^[+-]?\d+(?:\.\d+)?$/.test(text)) return bad(`"${value}" has no unit: write ${text}s, ${text}m or ${text}ms`);
  if (text.length > 100 || !WHOLE.test(text)) {
    return bad('the units are ms, s, m, h and d, as in 500ms, 30m or 1h30m');
  }
  let total = 0;
  for (const [, amount, unit] of text.matchAll(PART)) total += ms(`${Number(amount)}${unit as 'ms'}`);
  return bounded(total);
}

function bounded(value: number): Duration {
  if (!Number.isFinite(value) || value <= 0) return bad('it must be more than 0');
  const whole = Math.round(value);
  if (whole < 1) return bad('it must be 1ms or more');
  if (whole > MAX_DURATION_MS) return bad('it must be at most 24 days (2147483647 ms)');
  return { type: 'ok', ms: whole };
}

function bad(reason: string): Duration {
  return { type: 'bad', reason };
}

/** Milliseconds of a duration that has passed the checks. */
export function millisecondsOf(value: string | number): number {
  const parsed = parseDuration(value);
  if (parsed.type === 'bad') throw new Error(`bug: the duration ${value} came through the checks`);
  return parsed.ms;
}

/** The same for a time limit; null is none. */
export function limitOf(value: string | number | undefined): number | null {
  return value === undefined || value === 'none' ? null : millisecondsOf(value);
}
