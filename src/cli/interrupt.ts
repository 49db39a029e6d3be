import { interrupt as sendInterrupt } from '../client.ts';
import { type CommandingOptions, VERDICT_MS, command } from './commanding.ts';
import type { Io } from './io.ts';

export interface InterruptOptions extends CommandingOptions {
  step?: string;
  reason?: string;
}

export function interrupt(run: string, options: InterruptOptions, io: Io): Promise<number> {
  const { step, reason } = options;
  const what = step === undefined ? run : `step ${step} of ${run}`;
  return command(
    { name: 'the interrupt', done: () => `interrupt applied to ${what}`, waitMs: VERDICT_MS },
    options,
    io,
    (sending) => sendInterrupt(run, { ...sending, step, reason }),
  );
}
