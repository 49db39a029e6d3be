import type { Instant } from '../protocol.ts';

/** An instant so many milliseconds later. Arithmetic on given instants: a machine has no clock. */
export const later = (at: Instant, ms: number): Instant => new Date(Date.parse(at) + ms).toISOString();

/** Milliseconds from one instant to another; negative when the second is earlier. */
export const between = (from: Instant, to: Instant): number => Date.parse(to) - Date.parse(from);

/** The earlier of two; null is never. */
export const earlier = (a: Instant | null, b: Instant | null): Instant | null =>
  a === null || (b !== null && Date.parse(b) < Date.parse(a)) ? b : a;

/** Of a deadline that was over when it was set: which instant that was. */
export const overAlready = (limitMs: number | null, deadlineAt: Instant | null): { deadlineAt?: Instant } =>
  limitMs === 0 && deadlineAt !== null ? { deadlineAt } : {};
