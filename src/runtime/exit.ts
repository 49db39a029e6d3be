import { constants } from 'node:os';
import type { RunOutput } from '../../machines/protocol.ts';

/** What ended the runner's process itself, if something did. */
export interface RunnerEnd {
  signal: NodeJS.Signals | null;
}

/**
 * The exit code of `run`, `wait` and the detached runner: 0 completed, 1 failed, 3 stopped, 4 paused,
 * 9 done but the record of the end is incomplete, 128+n when this process got signal n and ended the run in good order.
 */
export function exitCodeOf(output: RunOutput, { signal }: RunnerEnd = { signal: null }): number {
  if (!output.recorded) return 9;
  if (signal !== null && output.outcome.cause.type === 'runner-signal') return 128 + constants.signals[signal];
  switch (output.outcome.state) {
    case 'completed':
      return 0;
    case 'failed':
      return 1;
    case 'stopped':
      return 3;
    case 'paused':
      return 4;
  }
}
