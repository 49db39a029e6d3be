import { resume as sendResume } from '../client.ts';
import { type CommandingOptions, VERDICT_MS, command } from './commanding.ts';
import type { Io } from './io.ts';

export interface ResumeOptions extends CommandingOptions {
  step?: string;
}

/** Of paused steps in a run that goes on. */
export function resume(run: string, options: ResumeOptions, io: Io): Promise<number> {
  const { step } = options;
  const what = step === undefined ? run : `step ${step} of ${run}`;
  return command({ name: 'the resume', done: () => `${what} goes on`, waitMs: VERDICT_MS }, options, io, (sending) =>
    sendResume(run, { ...sending, step }),
  );
}
