import type { ChildExit } from '../exit.ts';
import { type Told, foreignMessage } from '../text.ts';
import { type UnendedChild, type Verdict, failed, modelFailure, verdictOfAnswer, verdictOfExit } from '../verdict.ts';
import type { ClaudeRecord, TurnResult } from './records.ts';

/** The verdict of a turn. `error`: what the client called the last error of a model in it; `begun`: the turn had begun. */
export function verdictOf(result: TurnResult, error: string | null, begun: boolean, told: Told): Verdict {
  // An error of the model comes as a "success" whose text is the error's.
  if (result.subtype === 'success' && !result.isError) {
    return verdictOfAnswer(result.text, result.stop === 'max_tokens' ? 'length' : 'stop');
  }
  if (result.terminal.startsWith('aborted')) return failed('aborted', 'the answer was aborted');
  const words = [result.text, ...result.errors].filter((text) => text !== '').join('; ');
  if (result.subtype === 'success') {
    return { t: 'error', failure: modelFailure(words, told, whole(words, result.status, error)) };
  }
  if (!begun) return failed('spawn-failed', foreignMessage(words || 'the agent could not begin', told));
  const { code, message, detail } = modelFailure(words || `ended with "${result.subtype}"`, told);
  return failed(code, message, { ...detail, subtype: foreignMessage(result.subtype, told) });
}

/** A retry of the client that has not ended yet. */
export type Retry = Extract<ClaudeRecord, { type: 'retry' }>;

export const retryReason = ({ error, status }: Retry): string => [status ?? '', error].join(' ').trim();

/** The verdict of an exit without a result. */
export function verdictAtExit(exit: ChildExit, child: UnendedChild, retry: Retry | null, told: Told): Verdict {
  if (retry === null) return verdictOfExit(exit, child, told);
  const strayError = whole(retryReason(retry), retry.status, retry.error);
  const verdict = verdictOfExit(exit, { ...child, strayError }, told);
  if (verdict.t === 'final' || exit.signal === null) return verdict;
  const { code, message, detail } = verdict.failure;
  const why = foreignMessage(`${message} while it tried again after an error (${retryReason(retry)})`, told);
  return failed(code, why, { ...detail, ...(retry.status === null ? {} : { status: retry.status }) });
}

/** As an error's text is read: the name and the status that came beside the words stand in front of them. */
function whole(words: string, status: number | null, name: string | null): string {
  return `${status === null ? '' : `HTTP ${status} `}${name === null || name === 'unknown' ? '' : `${name} `}${words}`;
}
