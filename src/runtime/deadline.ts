import { fromCallback } from 'xstate';
import type { DeadlineCommand } from '../../machines/protocol.ts';
import { patient } from './clock.ts';
import { now } from './kit.ts';

/**
 * The `deadline` port: says once that the limit is over, on the monotonic clock. A new limit counts from when it is
 * set; 0 is over at once.
 */
export const deadline = fromCallback<DeadlineCommand, { limitMs: number | null }>(({ sendBack, receive, input }) => {
  let timer: unknown;
  const arm = (limitMs: number): void => {
    patient.clearTimeout(timer);
    timer = patient.setTimeout(() => sendBack({ type: 'deadline.reached', at: now() }), Math.max(0, limitMs));
  };
  if (input.limitMs !== null) arm(input.limitMs);
  receive(({ limitMs }) => arm(limitMs));
  return () => patient.clearTimeout(timer);
});
