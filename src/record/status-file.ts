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
  /** Settles when what was handed over is in its file, or when trying it now has failed. */
  flush(): Promise<Written>;
  /** `flush`, then no more retries and no more writes. */
  close(): Promise<Written>;
}

const retryMostMs = 60_000;

export function createStatusFile(path: string, options: StatusFileOptions = {}): StatusFile {
  const firstRetryMs = options.retryMs ?? 1000;
  let waiting: Status | null = null;
  let writing: Promise<Written> | null = null;
  let trouble: Trouble | null = null;
  let retry: NodeJS.Timeout | null = null;
  let retryMs = firstRetryMs;
  let closed = false;

  function begin(): Promise<Written> {
    stopRetry();
    writing ??= drain().finally(() => {
      writing = null;
    });
    return writing;
  }

  async function drain(): Promise<Written> {
    while (waiting !== null) {
      const status = waiting;
      waiting = null;
      const outcome = await attempt(status);
      if (outcome.type === 'trouble') {
        // A newer one may have come meanwhile.
        waiting ??= status;
        failed(outcome);
        return outcome;
      }
      restored();
    }
    return written;
  }

  async function attempt(status: Status): Promise<Written> {
    try {
      return await writeText(path, `${JSON.stringify(status)}\n`, options);
    } catch (error) {
      return troubleOf(error);
    }
  }

  function failed(outcome: Trouble): void {
    const known = trouble?.code === outcome.code;
    trouble = outcome;
    if (!closed) {
      retry = setTimeout(() => void begin(), retryMs);
      retry.unref();
      retryMs = Math.min(retryMs * 2, retryMostMs);
    }
    if (!known) options.onTrouble?.(outcome);
  }

  function restored(): void {
    retryMs = firstRetryMs;
    if (trouble === null) return;
    trouble = null;
    options.onRestored?.();
  }

  function stopRetry(): void {
    if (retry !== null) clearTimeout(retry);
    retry = null;
  }

  async function flush(): Promise<Written> {
    // What is being written now may be older than what waits, and its failure puts it back.
    if (writing !== null) await writing;
    return waiting === null ? written : begin();
  }

  return {
    write(status) {
      if (closed) return;
      waiting = status;
      // While there is trouble the retry timer sets the pace.
      if (retry === null) void begin();
    },
    flush,
    async close() {
      closed = true;
      const outcome = await flush();
      stopRetry();
      return outcome;
    },
  };
}
