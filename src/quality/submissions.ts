import type { Problem, ValueFinding } from '../../machines/protocol.ts';
import { type Answered, valueIn, valueOf } from './answer.ts';
import type { Validator } from './schema.ts';

/** Of a value as JSON. */
export const MAX_VALUE_BYTES = 4 * 1024 * 1024;

/**
 * The values that an attempt has handed in. Each is checked as it comes, and one is kept: the last that fits, else the
 * last. So a better one replaces a worse, and a worse one does not spoil a better.
 */
export class Submissions {
  readonly #check: Validator;
  #fits: string | null = null;
  #last: { json: string | null; problems: Problem[] } | null = null;
  #ambiguous = 0;

  constructor(check: Validator) {
    this.#check = check;
  }

  add(value: unknown): void {
    const json = asJson(value);
    const problems =
      json === null
        ? [{ path: '', message: `has more than ${MAX_VALUE_BYTES} bytes as JSON, or cannot be written as JSON` }]
        : this.#check(value);
    if (problems.length === 0) this.#fits = json;
    this.#last = { json, problems };
  }

  /** The last words of an agent that has no other way. `whole`: they are to be the value, and nothing but it. */
  read(text: string, whole: boolean): void {
    const answered = Buffer.byteLength(text) > MAX_VALUE_BYTES ? ({ type: 'broken' } as const) : readAs(text, whole);
    switch (answered.type) {
      case 'value':
        this.add(answered.value);
        return;
      case 'broken':
        this.#last = { json: null, problems: [{ path: '', message: 'is not JSON, or larger than is taken' }] };
        return;
      case 'ambiguous':
        this.#ambiguous = answered.candidates;
        return;
      case 'none':
        return;
    }
  }

  /** What is kept, as JSON; null when there is nothing. */
  get kept(): string | null {
    return this.#fits ?? this.#last?.json ?? null;
  }

  finding(): ValueFinding {
    if (this.#fits !== null) return { type: 'valid' };
    if (this.#ambiguous > 0) return { type: 'ambiguous', candidates: this.#ambiguous };
    return this.#last === null ? { type: 'missing' } : { type: 'invalid', problems: this.#last.problems };
  }
}

const readAs = (text: string, whole: boolean): Answered => (whole ? valueOf(text) : valueIn(text));

function asJson(value: unknown): string | null {
  try {
    const json = JSON.stringify(value);
    return typeof json === 'string' && Buffer.byteLength(json) <= MAX_VALUE_BYTES ? json : null;
  } catch {
    return null;
  }
}
