import { type FSWatcher, watch } from 'node:fs';

/**
 * Wakes a reader when something changes in a folder, as far as the system tells. It may ring for nothing and may
 * stay silent: who waits has to look by itself at intervals.
 */
export class Bell {
  #watcher: FSWatcher | null = null;
  #rung = false;
  #wake: (() => void) | null = null;

  /** `wanted` says which entries matter; default all. */
  constructor(folder: string, wanted: (name: string) => boolean = () => true) {
    try {
      this.#watcher = watch(folder, { persistent: false }, (_, name) => {
        if (name === null || wanted(name)) this.#ring();
      });
      this.#watcher.on('error', () => this.close());
    } catch {
      // No such folder any more, or no watches left.
    }
  }

  #ring(): void {
    this.#rung = true;
    this.#wake?.();
  }

  /** Settles when it has rung since the last call, after `ms`, or when `signal` is aborted. */
  async wait(ms: number, signal?: AbortSignal): Promise<void> {
    if (!this.#rung && signal?.aborted !== true) {
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          clearTimeout(timer);
          signal?.removeEventListener('abort', wake);
          this.#wake = null;
          resolve();
        };
        const timer = setTimeout(wake, ms);
        signal?.addEventListener('abort', wake, { once: true });
        this.#wake = wake;
      });
    }
    this.#rung = false;
  }

  close(): void {
    this.#watcher?.close();
    this.#watcher = null;
  }
}
