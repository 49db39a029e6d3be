import type { Receipt, ReceiptVerdict, Trouble, Written } from '../record/index.ts';

export interface ReceiptWriterOptions {
  /** Puts a receipt in its place, durably. */
  write: (receipt: Receipt) => Promise<Written>;
  /** A receipt is on disk. */
  written: (receipt: Receipt) => void;
  onTrouble: (trouble: Trouble) => void;
  /** Pause before what failed is tried again; doubles up to 10 s. @default 250 ms */
  retryMs?: number;
}

const retryMostMs = 10_000;
/** Files open at one time. */
const parallel = 8;

/**
 * Receipts on their way to disk: the newest of each command, a few at a time, until they are written.
 * A final one takes the place of an `accepted` that still waits, never the other way round.
 */
export class ReceiptWriter {
  readonly #options: ReceiptWriterOptions;
  readonly #waiting = new Map<string, Receipt>();
  readonly #writing = new Set<string>();
  #idle: (() => void)[] = [];
  #trouble: Trouble | null = null;
  #retry: NodeJS.Timeout | null = null;
  #retryMs: number;
  #closed = false;

  constructor(options: ReceiptWriterOptions) {
    this.#options = options;
    this.#retryMs = options.retryMs ?? 250;
  }

  /** Receipts that are not on disk yet. */
  get open(): number {
    return this.#waiting.size + this.#writing.size;
  }

  /** The verdict that waits for this file, if one does. */
  waiting(key: string): ReceiptVerdict | undefined {
    return this.#waiting.get(key)?.verdict;
  }

  put(key: string, receipt: Receipt): void {
    if (this.#waiting.get(key)?.final === true) return;
    this.#waiting.set(key, receipt);
    if (this.#retry === null) this.#pump();
  }

  /** Settles when everything has been written, or when trying it now has failed. */
  async flush(): Promise<Written> {
    this.#stopRetry();
    this.#trouble = null;
    this.#pump();
    if (this.open > 0 && this.#trouble === null) {
      await new Promise<void>((resolve) => {
        this.#idle.push(resolve);
      });
    }
    return this.#trouble ?? { type: 'ok' };
  }

  /** No more retries. What is being written still ends. */
  close(): void {
    this.#closed = true;
    this.#stopRetry();
  }

  #pump(): void {
    if (this.#trouble !== null) return;
    for (const [key, receipt] of this.#waiting) {
      if (this.#writing.size >= parallel) return;
      if (this.#writing.has(key)) continue;
      this.#waiting.delete(key);
      this.#writing.add(key);
      void this.#write(key, receipt);
    }
    if (this.open === 0) this.#settle();
  }

  async #write(key: string, receipt: Receipt): Promise<void> {
    const outcome = await this.#options.write(receipt);
    this.#writing.delete(key);
    if (outcome.type === 'trouble') this.#failed(key, receipt, outcome);
    else this.#options.written(receipt);
    if (this.#trouble === null) this.#pump();
    else if (this.#writing.size === 0) this.#settle();
  }

  #failed(key: string, receipt: Receipt, trouble: Trouble): void {
    if (!this.#waiting.has(key)) this.#waiting.set(key, receipt);
    const first = this.#trouble === null;
    this.#trouble = trouble;
    if (first) this.#options.onTrouble(trouble);
    if (this.#closed || this.#retry !== null) return;
    this.#retry = setTimeout(() => {
      this.#retry = null;
      this.#trouble = null;
      this.#pump();
    }, this.#retryMs);
    this.#retry.unref();
    this.#retryMs = Math.min(this.#retryMs * 2, retryMostMs);
  }

  #stopRetry(): void {
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = null;
  }

  #settle(): void {
    const idle = this.#idle;
    this.#idle = [];
    for (const resolve of idle) resolve();
  }
}
