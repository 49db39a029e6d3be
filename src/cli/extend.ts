import { extend as sendExtend } from '../client.ts';
import { type CommandingOptions, VERDICT_MS, command } from './commanding.ts';
import type { Io } from './io.ts';

export interface ExtendOptions extends CommandingOptions {
  step?: string;
}

export function extend(run: string, deadline: string, options: ExtendOptions, io: Io): Promise<number> {
  const { step } = options;
  const what = step === undefined ? run : `step ${step} of ${run}`;
  return command(
    { name: 'the new deadline', done: () => `new deadline for ${what}: ${deadline}`, waitMs: VERDICT_MS },
    options,
    io,
    (sending) => sendExtend(run, deadline, { ...sending, step }),
  );
}
