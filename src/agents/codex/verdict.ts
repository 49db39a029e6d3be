import type { FailureCode } from '../../../machines/protocol.ts';
import { codeOfStatus } from '../failure/codes.ts';
import { type Fields, fields, isFields, number, string } from '../json.ts';
import type { Told } from '../text.ts';
import { type Verdict, failed, modelFailure } from '../verdict.ts';

/** How a turn failed. `info` is what the app server calls it; `exec` has words only. */
export interface TurnError {
  message: string;
  info: unknown;
}

export function readTurnError(value: unknown): TurnError {
  const error = fields(value);
  const { additionalDetails: details } = error;
  const message = string(error['message']);
  return {
    message: typeof details === 'string' && details !== '' ? `${message}: ${details}` : message,
    info: error['codexErrorInfo'] ?? null,
  };
}

/** `exec` says no more than this of an answer that was cut by its length, and so does the app server. */
const CUT = /\bmax_output_tokens\b/;

export function failureOf({ message, info }: TurnError, told: Told): Verdict {
  if (CUT.test(message))
    return failed('length', 'the answer was cut by the length limit, and codex kept nothing of it');
  const failure = modelFailure(message, told);
  const { name, status } = readInfo(info);
  // Its own name of the error goes before the words; where it has none, the words say more than "bad request".
  const code = CODES.get(name) ?? (status === null ? null : codeOfStatus(status)) ?? failure.code;
  const known = code === 'model-error' && LOST.has(name) ? 'model-unavailable' : code;
  const detail = {
    ...failure.detail,
    ...(status === null ? {} : { status }),
    ...(name === '' ? {} : { errorCode: name }),
  };
  return failed(known, failure.message, Object.keys(detail).length === 0 ? undefined : detail);
}

function readInfo(info: unknown): { name: string; status: number | null } {
  if (typeof info === 'string') return { name: plainName(info), status: null };
  const [entry] = isFields(info) ? Object.entries(info) : [];
  if (entry === undefined) return { name: '', status: null };
  const inside: Fields = fields(entry[1]);
  return { name: plainName(entry[0]), status: number(inside['httpStatusCode']) };
}

/** A name is a word; anything else could be a text of somebody. */
const plainName = (name: string): string => (/^[A-Za-z]{3,60}$/.test(name) ? name : '');

const CODES: ReadonlyMap<string, FailureCode> = new Map<string, FailureCode>([
  ['contextWindowExceeded', 'context-overflow'],
  ['sessionBudgetExceeded', 'rate-limited'],
  ['usageLimitExceeded', 'rate-limited'],
  ['rateLimitExceeded', 'rate-limited'],
  ['serverOverloaded', 'model-unavailable'],
  ['flexUnavailable', 'model-unavailable'],
  ['policyCapacityUnavailable', 'model-unavailable'],
  ['modelNotFound', 'model-unavailable'],
  ['internalServerError', 'model-unavailable'],
  ['unauthorized', 'auth'],
]);

/** The connection was lost, and nothing says why. */
const LOST: ReadonlySet<string> = new Set([
  'httpConnectionFailed',
  'responseStreamConnectionFailed',
  'responseStreamDisconnected',
  'responseTooManyFailedAttempts',
]);

/** "Reconnecting... 1/5 (why)": the only form in which `exec` tells of another try. Null for any other error. */
export function readReconnect(message: string): { attempt: number; max: number; reason: string } | null {
  const match = /^Reconnecting\W{0,5}(\d{1,4})\/(\d{1,4})(?:[:\s]*\(?([^]*?)\)?)?$/.exec(message);
  return match === null
    ? null
    : { attempt: Number(match[1]), max: Number(match[2]), reason: (match[3] ?? '').trim() || message };
}
