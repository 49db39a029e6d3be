import type { Usage } from '../../../machines/protocol.ts';
import { type Fields, count } from '../json.ts';

/** What a thread has used since it began, in its earlier processes too. */
export interface Tokens {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

export const NOTHING: Tokens = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };

/** The client's `input` is all that went in, with what came from the cache and what was put there. */
export function tokensOf(all: number, cacheRead: number, cacheWrite: number, output: number): Tokens {
  return { input: Math.max(0, all - cacheRead - cacheWrite), output, cacheRead, cacheWrite };
}

export const readExecTokens = (usage: Fields): Tokens =>
  tokensOf(
    count(usage['input_tokens']),
    count(usage['cached_input_tokens']),
    count(usage['cache_write_input_tokens']),
    count(usage['output_tokens']),
  );

export const readServerTokens = (total: Fields): Tokens =>
  tokensOf(
    count(total['inputTokens']),
    count(total['cachedInputTokens']),
    count(total['cacheWriteInputTokens']),
    count(total['outputTokens']),
  );

/** What one codex has used: the thread's tokens without those that were counted before it. The price is never said. */
export class Tally {
  #before: Tokens;
  #thread: Tokens;
  #turns = 0;
  #tools = 0;

  constructor(before: Tokens) {
    this.#before = before;
    this.#thread = before;
  }

  /** What is said of the thread before anything was asked of it here. */
  begin(before: Tokens): void {
    this.#before = before;
    this.#thread = before;
  }

  thread(tokens: Tokens): void {
    this.#thread = tokens;
  }

  /** The model was asked once more, as far as it shows. */
  turn(): void {
    this.#turns += 1;
  }

  tool(): void {
    this.#tools += 1;
  }

  get turns(): number {
    return this.#turns;
  }

  total(): Usage {
    const since = (key: keyof Tokens): number => Math.max(0, this.#thread[key] - this.#before[key]);
    return {
      input: since('input'),
      output: since('output'),
      cacheRead: since('cacheRead'),
      cacheWrite: since('cacheWrite'),
      turns: this.#turns,
      tools: this.#tools,
    };
  }
}
