import type { Failure } from '../../machines/protocol.ts';
import { classify } from './failure/classify.ts';
import { type Told, foreignMessage, lastLine, plain, withoutTold } from './text.ts';

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

/** The failure of an exit that is not a success by itself, with the last words of its stderr; null for exit code 0. */
export function exitFailure(exit: ChildExit, told: Told): Failure | null {
  return isGood(exit) ? null : failureWith(exit, foreignMessage(lastLine(exit.stderrTail), told));
}

/**
 * As `exitFailure`, for a child that asks a model: an exit code becomes `rate-limited`, `auth` and so on where its
 * stderr says it plainly. `any-line`: the last line that says it, warnings left out; `last-line`: that one only.
 */
export function agentExitFailure(exit: ChildExit, told: Told, where: 'last-line' | 'any-line'): Failure | null {
  const failure = exitFailure(exit, told);
  if (failure === null || failure.code !== 'exit-code') return failure;
  const tail = where === 'last-line' ? lastLine(exit.stderrTail) : exit.stderrTail;
  const lines = withoutTold(tail, told).split('\n').slice(-LINES_READ).map(plain);
  for (const line of lines.filter((text) => !/^warning\b/i.test(text)).toReversed()) {
    const { code, detail } = classify(line, 'stderr');
    if (code === null) continue;
    const said = failureWith(exit, foreignMessage(line, told));
    return { code, message: said.message, detail: { ...said.detail, ...detail } };
  }
  return failure;
}

/** Lines of a stderr that are read for what they say about the model. */
const LINES_READ = 20;

const isGood = (exit: ChildExit): boolean => exit.signal === null && exit.code === 0;

function failureWith(exit: ChildExit, said: string): Failure {
  const words = said === '' ? '' : `: ${said}`;
  if (exit.signal !== null) {
    return { code: 'signal', message: `ended by signal ${exit.signal}${words}`, detail: { signal: exit.signal } };
  }
  return { code: 'exit-code', message: `ended with ${exitName(exit)}${words}`, detail: { exitCode: exit.code } };
}
