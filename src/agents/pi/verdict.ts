import type { Failure, FailureCode } from '../../../machines/protocol.ts';
import type { AgentEvent } from '../adapter.ts';
import { type ChildExit, agentExitFailure, exitName } from '../exit.ts';
import { classify } from '../failure/classify.ts';
import { type Told, foreignMessage, withoutLastNewline, withoutTold } from '../text.ts';
import type { AssistantMessage } from './records.ts';

/** The one event that says how the work ended. */
export type Verdict = Extract<AgentEvent, { t: 'final' | 'error' }>;

/** The verdict of an ended run by its last assistant message. */
export function verdictOf(last: AssistantMessage | null, told: Told): Verdict {
  if (last === null) return failed('empty-output', 'the agent ended without an answer');
  switch (last.stop) {
    case 'error':
      return { t: 'error', failure: modelFailure(last.error ?? '', told) };
    case 'aborted':
      return failed('aborted', 'the answer was aborted');
    case 'length':
      if (last.text.trim() === '') return failed('length', 'the answer was cut by the length limit before it began');
      return final(last.text, 'length');
    default:
      if (last.text.trim() === '') return failed('empty-output', 'the agent ended with an empty answer');
      return final(last.text, 'stop');
  }
}

/** Did this message, by itself, end its run? Then only a retry, a compaction or a queued message can follow. */
export function endsRun(message: AssistantMessage | null): boolean {
  return message !== null && message.stop !== 'toolUse' && message.stop !== '';
}

/** What is known of a child that has exited without an end record. */
export interface UnendedChild {
  openTool: string | null;
  /** An error that a record nobody knows brought. */
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
  // What pi says when it cannot start (no key, no such model) has advice below it.
  const byExit = agentExitFailure(exit, told, 'any-line');
  if (byExit !== null) return { t: 'error', failure: byExit };
  if (child.strayError !== null) return { t: 'error', failure: modelFailure(child.strayError, told) };
  if (child.silent) return failed('empty-output', 'ended with exit code 0 and without any output');
  return failed('no-end-record', 'ended with exit code 0 before it said that the work was done');
}

/** A model's error: the code is what its text tells, `model-error` when that is nothing we know. */
export function modelFailure(error: string, told: Told): Failure {
  const words = foreignMessage(error, told);
  const message = words === '' ? 'the model failed without saying why' : words;
  const { code, detail } = classify(withoutTold(error, told), 'model');
  return { code: code ?? 'model-error', message, ...(Object.keys(detail).length === 0 ? {} : { detail }) };
}

function final(text: string, stop: 'stop' | 'length'): Verdict {
  return { t: 'final', text: withoutLastNewline(text), stop, truncated: false };
}

function failed(code: FailureCode, message: string, detail?: Failure['detail']): Verdict {
  return { t: 'error', failure: { code, message, ...(detail === undefined ? {} : { detail }) } };
}
