import type { News } from './messages.ts';

/** More than this on its way to the runner, in bytes of output, and nothing more is read until it has been taken. */
const MOST_WAITING_BYTES = 1024 * 1024;

/**
 * News for the runner: what happens within one turn of the loop goes as one message. Output is bounded: while the
 * runner does not take it, `hold(true)` is asked for.
 */
export class Outbox {
  readonly #send: (news: News[], taken: () => void) => void;
  readonly #hold: (held: boolean) => void;
  #news: News[] = [];
  #waiting = 0;
  #held = false;

  constructor(send: (news: News[], taken: () => void) => void, hold: (held: boolean) => void) {
    this.#send = send;
    this.#hold = hold;
  }

  get held(): boolean {
    return this.#held;
  }

  put(one: News): void {
    if (this.#news.length === 0) setImmediate(() => this.#flush());
    this.#news.push(one);
    if (one.type !== 'stdout' && one.type !== 'stderr') return;
    this.#waiting += one.chunk.length;
    this.#decide();
  }

  #flush(): void {
    const news = this.#news;
    this.#news = [];
    const bytes = news.reduce((sum, one) => sum + ('chunk' in one ? one.chunk.length : 0), 0);
    this.#send(news, () => {
      this.#waiting -= bytes;
      this.#decide();
    });
  }

  #decide(): void {
    const held = this.#waiting > MOST_WAITING_BYTES;
    if (held === this.#held) return;
    this.#held = held;
    this.#hold(held);
  }
}
