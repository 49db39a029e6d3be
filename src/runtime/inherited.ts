import type { Instant } from '../../machines/protocol.ts';

/** When a child is ended at the latest, as an ISO 8601 instant. Only ever earlier further down. */
export const DEADLINE_ENV = 'COXSWAIN_DEADLINE';

/** The deadline that we were started under, where we run below another runner; null is none. */
export function inheritedDeadline(env: Readonly<Record<string, string | undefined>>): Instant | null {
  const value = env[DEADLINE_ENV];
  if (value === undefined || Number.isNaN(Date.parse(value))) return null;
  return new Date(value).toISOString();
}

/** The run's own limit, cut to what is left of the deadline we were started under. */
export function limitUnder(env: Readonly<Record<string, string | undefined>>, limitMs: number | null): number | null {
  const inherited = inheritedDeadline(env);
  if (inherited === null) return limitMs;
  const left = Math.max(0, Date.parse(inherited) - Date.now());
  return limitMs === null ? left : Math.min(limitMs, left);
}
