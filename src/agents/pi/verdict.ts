import { type Told } from '../text.ts';
import { type Verdict, failed, modelFailure, verdictOfAnswer } from '../verdict.ts';
import type { AssistantMessage } from './records.ts';

/** The verdict of an ended run by its last assistant message. */
export function verdictOf(last: AssistantMessage | null, told: Told): Verdict {
  if (last === null) return failed('empty-output', 'the agent ended without an answer');
  switch (last.stop) {
    case 'error':
      return { t: 'error', failure: modelFailure(last.error ?? '', told) };
    case 'aborted':
      return failed('aborted', 'the answer was aborted');
    default:
      return verdictOfAnswer(last.text, last.stop === 'length' ? 'length' : 'stop');
  }
}

/** Did this message, by itself, end its run? Then only a retry, a compaction or a queued message can follow. */
export function endsRun(message: AssistantMessage | null): boolean {
  return message !== null && message.stop !== 'toolUse' && message.stop !== '';
}
