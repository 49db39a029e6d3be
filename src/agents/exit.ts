import type { Failure } from '../../machines/protocol.ts';
import { foreignMessage, lastLine } from './text.ts';

/** How a child went, as its process tells. */
export interface ChildExit {
  code: number | null;
  signal: string | null;
  /** The end of its stderr, as text. */
  stderrTail: string;
}

/** "exit code 7", "signal SIGTERM". */
export function exitName(exit: ChildExit): string {
  if (exit.signal !== null) return `signal ${exit.signal}`;
  return exit.code === null ? 'no exit code' : `exit code ${exit.code}`;
}

/** The failure of an exit that is not a success by itself; null for exit code 0. */
export function exitFailure(exit: ChildExit, task: string | null): Failure | null {
  if (exit.signal === null && exit.code === 0) return null;
  const said = foreignMessage(lastLine(exit.stderrTail), task);
  const words = said === '' ? '' : `: ${said}`;
  if (exit.signal !== null) {
    return {
      code: 'signal',
      message: `ended by signal ${exit.signal}${words}`,
      detail: { signal: exit.signal },
    };
  }
  return {
    code: 'exit-code',
    message: `ended with ${exitName(exit)}${words}`,
    detail: { exitCode: exit.code },
  };
}
