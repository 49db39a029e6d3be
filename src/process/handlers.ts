import type { Failure } from '../../machines/protocol.ts';
import type { DrainEnd } from './drain.ts';

/** A child that runs, as it can be known again. */
export interface Started {
  pid: number;
  startTime: number | null;
  /**
   * Its ends of stdout and stderr, as `/proc/<pid>/fd` names them: read right after the start. What it had closed or redirected
   * by then is missing; so are all when it had ended already (a busy machine), and where there is no /proc.
   */
  pipes: readonly string[];
}

/**
 * What happens to a child, in this order: `started` or `unstarted`, never both, never before `launch` has returned;
 * after `started`: any output, exactly one `exited`, perhaps more output, exactly one `drained`, then nothing.
 */
export interface ChildHandlers {
  started(process: Started): void;
  /** It could not be started; nothing was left behind, nothing else will come. */
  unstarted(failure: Failure): void;
  /** Bytes as they come. There is no back-pressure: the child never waits for us. */
  stdout(chunk: Buffer): void;
  stderr(chunk: Buffer): void;
  /** The process itself has ended. Says nothing about processes it started. */
  exited(exit: { code: number | null; signal: string | null }): void;
  /** Both streams have been read as far as they will be; the pipes are closed on our side. */
  drained(how: DrainEnd): void;
}

/** Handlers that keep everything in order until `release`. Bounded by what a wrapper can say. */
export function hold(handlers: ChildHandlers): { handlers: ChildHandlers; release(): void } {
  let waiting: (() => void)[] | null = [];
  const later = (action: () => void): void => {
    if (waiting === null) action();
    else waiting.push(action);
  };
  return {
    handlers: {
      started: (process) => later(() => handlers.started(process)),
      unstarted: (failure) => later(() => handlers.unstarted(failure)),
      stdout: (chunk) => later(() => handlers.stdout(chunk)),
      stderr: (chunk) => later(() => handlers.stderr(chunk)),
      exited: (exit) => later(() => handlers.exited(exit)),
      drained: (how) => later(() => handlers.drained(how)),
    },
    release() {
      const actions = waiting ?? [];
      waiting = null;
      for (const action of actions) action();
    },
  };
}
