import { type FSWatcher, watch } from 'node:fs';
import type { ControlPaths, Receipt } from '../record/light.ts';
import { readReceiptFor } from './receipt.ts';

export interface WaitOptions {
  /** @default 10 000 ms */
  timeoutMs?: number;
  /** What to wait for. @default 'final' */
  until?: 'final' | 'any';
  /** Of the command sent: tells its receipt from that of another under the same id. */
  sha256?: string;
  signal?: AbortSignal;
  /** Between two looks. @default 100 ms */
  pollMs?: number;
}

export type Waited =
  | { type: 'receipt'; receipt: Receipt }
  /** `last` is what there is so far: `accepted` means that the run knows of it. */
  | { type: 'timed-out'; last: Receipt | null }
  | { type: 'aborted'; last: Receipt | null };

/** Waits for the answer to a command. Looks at intervals, and at once when the system tells that something has changed. */
export async function waitReceipt(dir: ControlPaths, id: string, options: WaitOptions = {}): Promise<Waited> {
  const { timeoutMs = 10_000, until = 'final', sha256, signal, pollMs = 100 } = options;
  const end = performance.now() + timeoutMs;
  const bell = new Bell(dir.receipts);
  try {
    for (;;) {
      const last = readReceiptFor(dir, { id, sha256 });
      if (last !== null && (last.final || until === 'any')) return { type: 'receipt', receipt: last };
      if (signal?.aborted === true) return { type: 'aborted', last };
      const left = end - performance.now();
      if (left <= 0) return { type: 'timed-out', last };
      await bell.ring(Math.min(left, pollMs), signal);
    }
  } finally {
    bell.close();
  }
}

/** Rings when something changes in a folder, as far as the system tells. */
class Bell {
  #watcher: FSWatcher | null = null;
  #rung = false;
  #wake: (() => void) | null = null;

  constructor(folder: string) {
    try {
      this.#watcher = watch(folder, { persistent: false }, () => this.#ring());
      // Looking at intervals is enough.
      this.#watcher.on('error', () => this.close());
    } catch {
      this.#watcher = null;
    }
  }

  #ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Settles when it has rung since the last time, after `ms`, or when `signal` is aborted. */
  async ring(ms: number, signal: AbortSignal | undefined): Promise<void> {
    if (!this.#rung) {
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, ms);
        const wake = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', wake);
          resolve();
        };
        this.#wake = wake;
        signal?.addEventListener('abort', wake, { once: true });
      });
    }
    this.#wake?.();
    this.#wake = null;
    this.#rung = false;
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }
}
