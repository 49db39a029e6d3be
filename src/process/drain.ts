/**
 * When to stop reading after a child has exited. The pipes may stay open as long as a grandchild holds them,
 * so their close alone cannot be waited for. Milliseconds.
 */
export interface DrainLimits {
  /** Done after this long without bytes. */
  quietMs: number;
  /** Done by then, unless bytes still come. */
  limitMs: number;
  /** After `limitMs`, bytes within this time count as "still come". */
  freshMs: number;
  /** Done by then in any case. */
  hardMs: number;
}

export const DRAIN: DrainLimits = { quietMs: 500, limitMs: 2_000, freshMs: 100, hardMs: 8_000 };

/** `closed`: both pipes reached their end. `quiet`: nothing came any more. `limit`: we stopped while bytes may have come. */
export type DrainEnd = 'closed' | 'quiet' | 'limit';

export interface DrainView {
  /** A pipe has not reached its end yet. */
  open: boolean;
  sinceExitMs: number;
  /** Since the last bytes, or since the exit if none came after it. */
  quietForMs: number;
}

export type DrainDecision = { type: 'done'; how: DrainEnd } | { type: 'wait'; ms: number };

export function decideDrain(view: DrainView, limits: DrainLimits = DRAIN): DrainDecision {
  if (!view.open) return { type: 'done', how: 'closed' };
  if (view.quietForMs >= limits.quietMs) return { type: 'done', how: 'quiet' };
  if (view.sinceExitMs >= limits.hardMs) return { type: 'done', how: 'limit' };
  if (view.sinceExitMs < limits.limitMs) {
    return wait(limits.quietMs - view.quietForMs, limits.limitMs - view.sinceExitMs);
  }
  if (view.quietForMs >= limits.freshMs) return { type: 'done', how: 'limit' };
  return wait(limits.freshMs - view.quietForMs, limits.hardMs - view.sinceExitMs);
}

function wait(a: number, b: number): DrainDecision {
  return { type: 'wait', ms: Math.max(1, Math.ceil(Math.min(a, b))) };
}
