import { parseDuration } from './duration.ts';

/** `limitMs` counts from the instant it was asked at; 0: it is over already. `at`: as an ISO 8601 instant in UTC. */
export type Deadline = { type: 'ok'; at: string; limitMs: number } | { type: 'bad'; reason: string };

/** A date with a time and an offset: without one it would mean another instant on another machine. */
const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(?:Z|[+-]\d{2}:?\d{2})$/;
/** The furthest away: a deadline in ten years is a mistake in the year. */
const MOST_MS = 10 * 366 * 24 * 3_600_000;

/**
 * When something has to be over: a duration (`10m`) counts from `nowMs`, an ISO 8601 instant is taken as it is, and
 * `now` is at once. `reason` continues "must be a duration like 30m or an instant like 2026-12-01T10:00:00Z; …".
 */
export function parseDeadline(value: string | number, nowMs: number): Deadline {
  if (value === 'now' || value === 0) return after(0, nowMs);
  if (typeof value === 'string' && /^\s*\d{4}-/.test(value)) return instant(value.trim(), nowMs);
  const duration = parseDuration(value);
  return duration.type === 'ok' ? after(duration.ms, nowMs) : duration;
}

function instant(text: string, nowMs: number): Deadline {
  const at = ISO.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) return { type: 'bad', reason: 'an instant has a date, a time, and Z or an offset' };
  if (at - nowMs > MOST_MS) return { type: 'bad', reason: 'it is more than ten years away' };
  return { type: 'ok', at: new Date(at).toISOString(), limitMs: Math.max(0, at - nowMs) };
}

const after = (limitMs: number, nowMs: number): Deadline => ({
  type: 'ok',
  at: new Date(nowMs + limitMs).toISOString(),
  limitMs,
});
