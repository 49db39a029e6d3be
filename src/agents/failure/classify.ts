import type { Failure, FailureCode } from '../../../machines/protocol.ts';
import { type Body, readBody } from './body.ts';
import { codeOfName, codeOfStatus } from './codes.ts';
import { waitInText } from './wait.ts';
import { codeOfWords } from './words.ts';

/**
 * Whose text it is. `model`: what an agent calls its model's error; a status may stand in front without a word
 * ("429 slow down"). `stderr`: a line of any program, where "500 tests failed" is no status.
 */
export type Teller = 'model' | 'stderr';

/** What an error's text tells. `code` is null when nothing in it is known. */
export interface Told {
  code: FailureCode | null;
  /** `status` (HTTP), `errorCode` (the provider's), `retryAfterMs` (whole milliseconds); each only where it was said. */
  detail: NonNullable<Failure['detail']>;
}

/** More than this is not an error message any more; the rest is not looked at. In UTF-16 units. */
const READ_LIMIT = 16 * 1024;

/**
 * Reads an error's text: the provider's own error code first, then the HTTP status, the words last.
 *
 * Agents hand on little of what the provider said. `retryAfterMs` is known only where the text repeats it, as a span
 * of time (a date is not read). The text must not hold the task: its words would be taken for the provider's.
 */
export function classify(text: string, teller: Teller): Told {
  const read = text.slice(0, READ_LIMIT);
  const body = readBody(read);
  const status = statusIn(read, teller) ?? body.status;
  const errorCode = errorCodeOf(body);
  const retryAfterMs = body.retryAfterMs ?? waitInText(read);
  return {
    code: codeOf(body, status, errorCode),
    detail: {
      ...(status === null ? {} : { status }),
      ...(errorCode === null ? {} : { errorCode }),
      ...(retryAfterMs === null ? {} : { retryAfterMs }),
    },
  };
}

function codeOf({ sentences }: Body, status: number | null, errorCode: string | null): FailureCode | null {
  const byName = errorCode === null ? null : codeOfName(errorCode);
  const bySure = byName ?? (status === null ? null : codeOfStatus(status));
  if (bySure !== null) return bySure;
  for (const sentence of sentences) {
    const code = codeOfWords(sentence);
    if (code !== null) return code;
  }
  if (status === null) return null;
  // "Not found" about anything else is a wrong address or a wrong request.
  return status === 404 && sentences.some((sentence) => /\bmodel\b/i.test(sentence))
    ? 'model-unavailable'
    : 'model-error';
}

const known = (name: string): boolean => codeOfName(name) !== null;

/** One of ours where there is one, else the first that is there. */
function errorCodeOf({ names, sentences }: Body): string | null {
  return names.find(known) ?? sentences.flatMap(namesIn).find(known) ?? names[0] ?? null;
}

/** Words in a sentence that look like error codes: rate_limit_exceeded, ECONNRESET, ThrottlingException. */
function namesIn(sentence: string): string[] {
  return (
    sentence.match(/\b(?:[A-Za-z]{2,30}(?:_[A-Za-z]{2,30}){1,5}|E[A-Z]{4,14}|[A-Z][A-Za-z]{2,40}Exception)\b/g) ?? []
  );
}

const LEADING = /^\W{0,3}([45]\d\d)(?!\d)/;
const NAMED =
  /\b(?:HTTP(?:\/\d(?:\.\d)?)?|status(?:[ _-]?code)?|error[ _-]?code|API error)["']?\s{0,3}[:=]?\s{0,3}["'(]?([45]\d\d)(?!\d)/i;

function statusIn(text: string, teller: Teller): number | null {
  const match = (teller === 'model' ? LEADING.exec(text) : null) ?? NAMED.exec(text);
  return match === null ? null : Number(match[1]);
}
