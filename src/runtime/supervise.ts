import { exitCodeOf } from './exit.ts';
import type { Run } from './start.ts';

/** Those that ask a program to end. */
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const;

/** After the second signal everything is killed; if the record is not made by then, we leave without it. */
const KILLED_MS = 10_000;

/** A run that this process is there for. */
export interface Supervised {
  run: Run;
  /** Resolves when the run has ended, with the exit code of this process; the handlers are gone then. Never rejects. */
  exitCode: Promise<number>;
}

/**
 * Begins a run and ties it to this process: signals and uncaught errors end the run in good order. The first signal
 * stops, the second kills at once. For the command line and the detached runner; a host that embeds the library has
 * handlers of its own. A signal that comes before there is a run ends this process as it would without us.
 * Rejects as `begin` does; nothing is tied then.
 */
export async function superviseProcess(begin: () => Promise<Run>): Promise<Supervised> {
  // Before there is a run: from its first file on, a signal must end it in good order.
  const signals = catchSignals();
  try {
    const run = await begin();
    signals.tie(run);
    return { run, exitCode: untilEnded(run, signals) };
  } catch (error) {
    signals.letGo();
    throw error;
  }
}

async function untilEnded(run: Run, signals: Caught): Promise<number> {
  const onFault = (error: unknown): void => run.fault(error);
  process.on('uncaughtException', onFault);
  process.on('unhandledRejection', onFault);
  try {
    const output = await run.ended();
    return exitCodeOf(output, { signal: signals.first });
  } finally {
    process.off('uncaughtException', onFault);
    process.off('unhandledRejection', onFault);
    signals.letGo();
  }
}

interface Caught {
  /** What ended the run, if a signal did. */
  readonly first: NodeJS.Signals | null;
  tie(run: Run): void;
  letGo(): void;
}

function catchSignals(): Caught {
  let run: Run | null = null;
  let first: NodeJS.Signals | null = null;
  let patience: NodeJS.Timeout | null = null;
  const letGo = (): void => {
    for (const signal of SIGNALS) process.off(signal, onSignal);
    process.off('SIGXFSZ', ignore);
    if (patience !== null) clearTimeout(patience);
  };
  const onSignal = (signal: NodeJS.Signals): void => {
    if (run === null) {
      letGo();
      process.kill(process.pid, signal);
    } else if (first === null) {
      first = signal;
      run.signalled(signal);
    } else {
      run.kill();
      patience ??= setTimeout(() => process.exit(9), KILLED_MS);
    }
  };
  for (const signal of SIGNALS) process.on(signal, onSignal);
  process.on('SIGXFSZ', ignore);
  return {
    get first() {
      return first;
    },
    tie(begun) {
      run = begun;
    },
    letGo,
  };
}

/** A file over the size limit is an error of the write, which knows what to do. node ignores this signal until somebody listens to it and stops. */
function ignore(): void {}
