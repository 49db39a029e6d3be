import type { Run } from './start.ts';
import { exitCodeOf } from './exit.ts';

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** After the second signal everything is killed; if the record is not made by then, we leave without it. */
const KILLED_MS = 10_000;

/**
 * Ties a run to this process: signals and uncaught errors end the run in good order. The first signal stops, the
 * second kills at once. For the command line and the detached runner; a host that embeds the library has handlers of
 * its own. Resolves with the exit code of this process; the handlers are gone then.
 */
export async function superviseProcess(run: Run): Promise<number> {
  let first: NodeJS.Signals | null = null;
  let patience: NodeJS.Timeout | null = null;
  const onSignal = (signal: NodeJS.Signals): void => {
    if (first === null) {
      first = signal;
      run.signalled(signal);
      return;
    }
    run.kill();
    patience ??= setTimeout(() => process.exit(9), KILLED_MS);
  };
  const onFault = (error: unknown): void => run.fault(error);
  for (const signal of SIGNALS) process.on(signal, onSignal);
  process.on('uncaughtException', onFault);
  process.on('unhandledRejection', onFault);
  try {
    const output = await run.ended();
    return exitCodeOf(output, { signal: first });
  } finally {
    for (const signal of SIGNALS) process.off(signal, onSignal);
    process.off('uncaughtException', onFault);
    process.off('unhandledRejection', onFault);
    if (patience !== null) clearTimeout(patience);
  }
}
