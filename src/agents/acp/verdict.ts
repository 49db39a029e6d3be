import type { FailureCode } from '../../../machines/protocol.ts';
import type { Told } from '../text.ts';
import { type Verdict, failed, modelFailure, verdictOfAnswer } from '../verdict.ts';
import type { RpcError } from './incoming.ts';
import { AUTH_REQUIRED } from './messages.ts';
import type { Ended } from './updates.ts';

/** The verdict of an answered prompt. */
export function verdictOf(reason: Ended['reason'], text: string, truncated: boolean): Verdict {
  switch (reason) {
    case 'end_turn':
      return verdictOfAnswer(text, 'stop', truncated);
    case 'max_tokens':
      return verdictOfAnswer(text, 'length', truncated);
    case 'max_turn_requests':
      return failed('aborted', 'the agent stopped at its own limit of requests to the model');
    case 'refusal':
      return failed('model-error', 'the model refused to answer');
    case 'cancelled':
      return failed('aborted', 'the answer was aborted');
    case null:
      return failed('protocol', 'the agent ended its answer and did not say how');
  }
}

/** The verdict of an answer that is an error. `otherwise`: what it is when it says nothing we know. */
export function verdictOfError(error: RpcError, told: Told, otherwise: FailureCode): Verdict {
  const failure = modelFailure(error.message, told, error.whole);
  if (error.code === AUTH_REQUIRED) return { t: 'error', failure: { ...failure, code: 'auth' } };
  return { t: 'error', failure: failure.code === 'model-error' ? { ...failure, code: otherwise } : failure };
}
