import type { Failure, FailureCode } from '../../../machines/protocol.ts';
import type { AgentEvent } from '../adapter.ts';
import { type ChildExit, exitFailure, exitName } from '../exit.ts';
import { foreignMessage, withoutLastNewline } from '../text.ts';
import type { AssistantMessage } from './records.ts';

/** The one event that says how the work ended. */
export type Verdict = Extract<AgentEvent, { t: 'final' | 'error' }>;

/** The verdict of an ended run by its last assistant message. */
export function verdictOf(last: AssistantMessage | null, task: string): Verdict {
  if (last === null) return failed('empty-output', 'the agent ended without an answer');
  switch (last.stop) {
    case 'error':
      return { t: 'error', failure: modelFailure(last.error ?? '', task) };
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
export function verdictOfExit(exit: ChildExit, child: UnendedChild, task: string): Verdict {
  if (child.openTool !== null) {
    const message = `ended (${exitName(exit)}) while the tool "${child.openTool}" was running`;
    return failed('exited-mid-tool', message, {
      tool: child.openTool,
      exitCode: exit.code,
      signal: exit.signal,
    });
  }
  const byExit = exitFailure(exit, task);
  if (byExit !== null) return { t: 'error', failure: byExit };
  if (child.strayError !== null) return { t: 'error', failure: modelFailure(child.strayError, task) };
  if (child.silent) return failed('empty-output', 'ended with exit code 0 and without any output');
  return failed('no-end-record', 'ended with exit code 0 before it said that the work was done');
}

/** A model's error, classed by its status where it gives one, by its words otherwise. */
export function modelFailure(error: string, task: string): Failure {
  const words = foreignMessage(error, task);
  const message = words === '' ? 'the model failed without saying why' : words;
  const status = statusOf(error);
  return { code: classOf(error, status), message, ...(status === null ? {} : { detail: { status } }) };
}

function final(text: string, stop: 'stop' | 'length'): Verdict {
  return { t: 'final', text: withoutLastNewline(text), stop, truncated: false };
}

function failed(code: FailureCode, message: string, detail?: Failure['detail']): Verdict {
  return { t: 'error', failure: { code, message, ...(detail === undefined ? {} : { detail }) } };
}

/** pi 0.73: "429 text", pi 1: "429: {json}". */
function statusOf(error: string): number | null {
  const match = /^\s*([45]\d\d)(?!\d)/.exec(error);
  return match === null ? null : Number(match[1]);
}

// Providers word a full context in many ways, and most give it the status of any bad request.
const OVERFLOW =
  /prompt (?:is )?too long|request_too_large|input is too long|context[_ ](?:window|length|size)|input token count|maximum prompt length|reduce the length of the messages|exceeded model token limit|exceeds the limit of \d|too large for model with|token limit exceeded|too many tokens/i;
const RATE = /rate.?limit|too many requests|throttl|quota|\b429\b/i;
const AUTH =
  /unauthori[sz]ed|forbidden|authentication|permission denied|(?:invalid|incorrect|bad|expired|no) (?:api )?(?:key|token|credentials)|api key|\b40[13]\b/i;
const TIMEOUT = /timed? ?out|timeout|deadline exceeded/i;

function classOf(error: string, status: number | null): FailureCode {
  if (status === 429) return 'rate-limited';
  if (status === 401 || status === 403) return 'auth';
  if (status === 408 || status === 504) return 'model-timeout';
  if (status !== null && status >= 500) return 'model-error';
  // Throttled requests speak of tokens as well, so this comes before the full context.
  if (RATE.test(error)) return 'rate-limited';
  if (status === 413 || OVERFLOW.test(error)) return 'context-overflow';
  if (AUTH.test(error)) return 'auth';
  if (TIMEOUT.test(error)) return 'model-timeout';
  return 'model-error';
}
