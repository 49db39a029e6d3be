import type { Duration } from '../plan/duration.ts';

/** Milliseconds of `500ms`, `90s`, `30m`, `1h30m`: the same lengths of time as in plans. Loaded when it is needed. */
export async function parseTime(value: string): Promise<Duration> {
  const { parseDuration } = await import('../plan/duration.ts');
  return parseDuration(value);
}
