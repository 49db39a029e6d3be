import type { Status } from '../../machines/protocol.ts';
import { type WriteOptions, writeText } from './atomic.ts';
import { type Trouble, troubleOf, type Written, written } from './trouble.ts';

export interface StatusFileOptions extends WriteOptions {
  /** A write failed for good; called once when trouble begins, and again when its code changes. */
  onTrouble?: (trouble: Trouble) => void;
  /** A write worked after trouble. */
  onRestored?: () => void;
  /** First pause before a failed write is tried again by itself; doubles up to 60 s. @default 1000 ms */
  retryMs?: number;
}

/**
 * `status.json`. One write at a time; what is handed over meanwhile replaces what waits, so the newest wins and
 * memory holds two at most. Failures never surface as rejections: they are told to `onTrouble` and tried again.
 */
export interface StatusFile {
  write(status: Status): void;
  /** Settles when what was handed over before, or something newer, is in the file, or when trying it now has failed. */
  flush(): Promise<Written>;
  /** `flush`, then no more retries and no more writes. */
  close(): Promise<Written>;
}

export function createStatusFile(path: string, options: StatusFileOptions = {}): StatusFile {
  return new CoalescingFile(path, options);
}

const retryMostMs = 60_000;

class CoalescingFile implements StatusFile {
  readonly #path: string;
  readonly #options: StatusFileOptions;
  /** Counts what was handed over; the newest that waits has this number. */
  #handed = 0;
  #waiting: Status | null = null;
  #writing = false;
  #flushes: { upTo: number; settle: (outcome: Written) => void }[] = [];
  #trouble: Trouble | null = null;
  #retry: NodeJS.Timeout | null = null;
  #retryMs: number;
  #closed = false;

  constructor(path: string, options: StatusFileOptions) {
    this.#path = path;
    this.#options = options;
    this.#retryMs = this.#firstRetryMs;
  }

  get #firstRetryMs(): number {
    return this.#options.retryMs ?? 1000;
  }

  write(status: Status): void {
    if (this.#closed) return;
    this.#handed += 1;
    this.#waiting = status;
    // While there is trouble the retry timer sets the pace.
    if (this.#retry === null) void this.#drain();
  }

  async flush(): Promise<Written> {
    if (this.#waiting === null && !this.#writing) return written;
    const done = new Promise<Written>((settle) => this.#flushes.push({ upTo: this.#handed, settle }));
    void this.#drain();
    return done;
  }

  async close(): Promise<Written> {
    this.#closed = true;
    const outcome = await this.flush();
    this.#stopRetry();
    return outcome;
  }

  async #drain(): Promise<void> {
    if (this.#writing) return;
    this.#stopRetry();
    this.#writing = true;
    while (this.#waiting !== null) {
      const status = this.#waiting;
      const number = this.#handed;
      this.#waiting = null;
      const outcome = await this.#attempt(status);
      if (outcome.type === 'ok') this.#succeeded();
      else this.#failed(outcome, status);
      this.#settle(number, outcome);
      // Whoever flushes something newer has a right to a try of their own.
      if (outcome.type === 'trouble' && this.#flushes.length === 0) break;
    }
    this.#writing = false;
    if (this.#waiting !== null) this.#retryLater();
  }

  async #attempt(status: Status): Promise<Written> {
    try {
      return await writeText(this.#path, `${JSON.stringify(status)}\n`, this.#options);
    } catch (error) {
      return troubleOf(error);
    }
  }

  #succeeded(): void {
    this.#retryMs = this.#firstRetryMs;
    if (this.#trouble === null) return;
    this.#trouble = null;
    this.#options.onRestored?.();
  }

  #failed(trouble: Trouble, status: Status): void {
    // A newer one may have come meanwhile.
    this.#waiting ??= status;
    const known = this.#trouble?.code === trouble.code;
    this.#trouble = trouble;
    if (!known) this.#options.onTrouble?.(trouble);
  }

  #settle(number: number, outcome: Written): void {
    const due = this.#flushes.filter((flush) => flush.upTo <= number);
    this.#flushes = this.#flushes.filter((flush) => flush.upTo > number);
    for (const { settle } of due) settle(outcome);
  }

  #retryLater(): void {
    if (this.#closed || this.#retry !== null) return;
    this.#retry = setTimeout(() => {
      this.#retry = null;
      void this.#drain();
    }, this.#retryMs);
    this.#retry.unref();
    this.#retryMs = Math.min(this.#retryMs * 2, retryMostMs);
  }

  #stopRetry(): void {
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = null;
  }
}
