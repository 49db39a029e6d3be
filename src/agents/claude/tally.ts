import type { Usage } from '../../../machines/protocol.ts';
import type { AssistantBlock, Tokens, TurnResult } from './records.ts';

/**
 * What one Claude Code has used.
 *
 * A turn's `result` says what the turn used; the cost in it is that of the process so far, so the last one counts. While a
 * turn runs, its answers say what went in (the records of one answer all say the same) and not yet what came out: of a
 * turn that was cut off this is what is known, a lower bound.
 */
export class Tally {
  #ended: Tokens = NOTHING;
  #open: Tokens = NOTHING;
  #answer: string | null = null;
  #cost: number | null = null;
  #turns = 0;
  #tools = 0;

  block({ id, tools, usage, ofHelper, synthetic }: AssistantBlock): void {
    this.#tools += tools.length;
    // A helper's answers are in its turn's result.
    if (ofHelper || synthetic || id === this.#answer) return;
    this.#answer = id;
    this.#turns += 1;
    this.#open = sum(this.#open, usage);
  }

  result({ usage, totalCost }: TurnResult): void {
    this.#ended = sum(this.#ended, most(usage, this.#open));
    this.#open = NOTHING;
    this.#answer = null;
    this.#cost = totalCost ?? this.#cost;
  }

  total(): Usage {
    const tokens = sum(this.#ended, this.#open);
    const cost = this.#cost === null ? {} : { costUsd: this.#cost };
    return { ...tokens, turns: this.#turns, tools: this.#tools, ...cost };
  }
}

const NOTHING: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

function both(a: Tokens, b: Tokens, by: (x: number, y: number) => number): Tokens {
  return {
    input: by(a.input, b.input),
    output: by(a.output, b.output),
    cacheRead: by(a.cacheRead, b.cacheRead),
    cacheWrite: by(a.cacheWrite, b.cacheWrite),
  };
}

const sum = (a: Tokens, b: Tokens): Tokens => both(a, b, (x, y) => x + y);
/** What an answer has used was used, also where a result forgets it: totals only grow. */
const most = (a: Tokens, b: Tokens): Tokens => both(a, b, Math.max);
