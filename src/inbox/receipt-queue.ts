import type { Receipt, Trouble, Written } from '../record/index.ts';

export interface ReceiptQueueOptions {
  /** Puts a receipt in its place: flushed to disk, but for its name. */
  write: (receipt: Receipt) => Promise<Written>;
  /** Makes the names durable of what was written since the last time. */
  sync: () => Promise<void>;
  /** A receipt is on disk. */
  written: (receipt: Receipt) => void;
}

/** Files that are written at one time. */
const parallel = 16;

/** A receipt could not be written. */
export class ReceiptError extends Error {
  readonly code: string;

  constructor({ code, message }: Trouble) {
    super(message);
    this.code = code;
  }
}

/**
 * Receipts on their way to disk: the newest of each command, in batches, until they are written. A final one takes the
 * place of an `accepted` that still waits, never the other way round. When and how often is its user's to say.
 */
export class ReceiptQueue {
  readonly #options: ReceiptQueueOptions;
  readonly #waiting = new Map<string, Receipt>();
  readonly #writing = new Map<string, Receipt>();
  /** One after the other, so that of two receipts of a command the later one stays. */
  #turn: Promise<unknown> = Promise.resolve();
  #wake: () => void = () => {};

  constructor(options: ReceiptQueueOptions) {
    this.#options = options;
  }

  /** Receipts that are not on disk yet. */
  get open(): number {
    return this.#waiting.size + this.#writing.size;
  }

  /** The newest receipt under this key that is not on disk yet. */
  get(key: string): Receipt | null {
    return this.#waiting.get(key) ?? this.#writing.get(key) ?? null;
  }

  put(key: string, receipt: Receipt): void {
    if (this.get(key)?.final === true) return;
    this.#waiting.set(key, receipt);
    this.#wake();
  }

  /** Calls back when something is put; one at a time. Returns the way to stop. */
  onPut(wake: () => void): () => void {
    this.#wake = wake;
    return () => {
      if (this.#wake === wake) this.#wake = () => {};
    };
  }

  /** Writes until nothing waits. What cannot be written goes on waiting. @throws ReceiptError */
  write(): Promise<{ written: number }> {
    const turn = this.#turn.then(() => this.#writeAll());
    this.#turn = turn.catch(() => {});
    return turn;
  }

  async #writeAll(): Promise<{ written: number }> {
    let written = 0;
    while (this.#waiting.size > 0) {
      // In the turn after: what is put together is written together.
      await Promise.resolve();
      written += await this.#writeSome();
    }
    return { written };
  }

  async #writeSome(): Promise<number> {
    const some: [string, Receipt][] = [];
    for (const one of this.#waiting) {
      some.push(one);
      if (some.length === parallel) break;
    }
    for (const [key, receipt] of some) {
      this.#waiting.delete(key);
      this.#writing.set(key, receipt);
    }
    const outcomes = await Promise.all(some.map(([, receipt]) => this.#options.write(receipt)));
    await this.#options.sync();
    let trouble: Trouble | null = null;
    for (const [index, [key, receipt]] of some.entries()) {
      this.#writing.delete(key);
      const outcome = outcomes[index];
      if (outcome?.type === 'trouble') {
        trouble ??= outcome;
        if (!this.#waiting.has(key)) this.#waiting.set(key, receipt);
      } else this.#options.written(receipt);
    }
    if (trouble !== null) throw new ReceiptError(trouble);
    return some.length;
  }
}
