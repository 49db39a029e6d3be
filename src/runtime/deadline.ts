import { fromCallback } from 'xstate';
import type { Instant } from '../../machines/protocol.ts';
import { now } from './kit.ts';

/** A timer later than this met a loop that was blocked, or a machine that slept. */
const LATE_MS = 1_000;

/**
 * The `deadline` port: says once that the limit is over, on the monotonic clock. When it fires late, the loop first
 * reads what waits: a child that has finished in time is not ended for our own slowness.
 */
export const deadline = fromCallback<{ type: 'none' }, { limitMs: number | null }>(({ sendBack, input }) => {
  if (input.limitMs === null) return undefined;
  let stopped = false;
  const due = performance.now() + input.limitMs;
  const tell = (): void => {
    const at: Instant = now();
    if (!stopped) sendBack({ type: 'deadline.reached', at });
  };
  const timer = setTimeout(() => {
    if (performance.now() - due < LATE_MS) tell();
    else setImmediate(() => setImmediate(tell));
  }, input.limitMs);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
});
