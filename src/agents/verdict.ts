import type { Failure, FailureCode } from '../../machines/protocol.ts';
import type { AgentEvent } from './adapter.ts';
import { type ChildExit, agentExitFailure, exitName } from './exit.ts';
import { classify } from './failure/classify.ts';
import { type Told, foreignMessage, withoutLastNewline, withoutTold } from './text.ts';

/** The one event that says how the work ended. */
export type Verdict = Extract<AgentEvent, { t: 'final' | 'error' }>;

/** The verdict of an agent that says it has ended well, by what it answered. */
export function verdictOfAnswer(text: string, stop: 'stop' | 'length', truncated = false): Verdict {
  if (text.trim() !== '') return { t: 'final', text: withoutLastNewline(text), stop, truncated };
  return stop === 'length'
    ? failed('length', 'the answer was cut by the length limit before it began')
    : failed('empty-output', 'the agent ended with an empty answer');
}

/** What is known of a child that has exited without an end record. */
export interface UnendedChild {
  openTool: string | null;
  /** An error that came beside the work. */
  strayError: string | null;
  /** Nothing at all came on stdout. */
  silent: boolean;
}

/** The verdict of an exit without an end record. */
export function verdictOfExit(exit: ChildExit, child: UnendedChild, told: Told): Verdict {
  if (child.openTool !== null) {
    const message = `ended (${exitName(exit)}) while the tool "${child.openTool}" was running`;
    return failed('exited-mid-tool', message, {
      tool: child.openTool,
      exitCode: exit.code,
      signal: exit.signal,
    });
  }
  // What an agent says when it cannot start (no key, no such model) has advice below it.
  const byExit = agentExitFailure(exit, told, 'any-line');
  if (byExit !== null) return { t: 'error', failure: byExit };
  if (child.strayError !== null) return { t: 'error', failure: modelFailure(child.strayError, told) };
  if (child.silent) return failed('empty-output', 'ended with exit code 0 and without any output');
  return failed('no-end-record', 'ended with exit code 0 before it said that the work was done');
}

/**
 * A model's error: the code is what its text tells, `model-error` when that is nothing we know. `whole`: the text with all
 * that came along and is not for people.
 */
export function modelFailure(error: string, told: Told, whole = error): Failure {
  const words = foreignMessage(error, told);
  const message = words === '' ? 'the model failed without saying why' : words;
  const { code, detail } = classify(withoutTold(whole, told), 'model');
  return { code: code ?? 'model-error', message, ...(Object.keys(detail).length === 0 ? {} : { detail }) };
}

export function failed(code: FailureCode, message: string, detail?: Failure['detail']): Verdict {
  return { t: 'error', failure: { code, message, ...(detail === undefined ? {} : { detail }) } };
}
