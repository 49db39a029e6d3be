import { type FSWatcher, watch } from 'node:fs';

export interface WatchOptions {
  folders: readonly string[];
  /** Something may have changed. Several hints of one turn of the loop make one call. */
  look: () => void;
  /** Told once: from then on it polls. */
  failed: (reason: string) => void;
  /** @default fs.watch, which keeps no process alive */
  start?: StartWatch;
  /** Between two looks when all is well. @default 2000 ms */
  safetyMs?: number;
  /** Between two looks when the folders cannot be watched. @default 250 ms */
  pollMs?: number;
}

/** Throws, or calls `failed`, when it cannot watch. */
export type StartWatch = (folder: string, hint: () => void, failed: (error: unknown) => void) => { close(): void };

const watchFolder: StartWatch = (folder, hint, failed) => {
  const watcher: FSWatcher = watch(folder, { persistent: false });
  watcher.on('change', hint);
  watcher.on('error', failed);
  return watcher;
};

/** Two looks are at least so far apart: a child that writes all the time must not have all of our time. */
const APART_MS = 4;

/**
 * Looks at folders when they change. Events are hints, and a slow poll is the net below them. Neither keeps the
 * process alive.
 */
export class FolderWatch {
  readonly #options: WatchOptions;
  readonly #watches = new Map<string, { close(): void }>();
  #timer: NodeJS.Timeout | null = null;
  #soon: NodeJS.Timeout | NodeJS.Immediate | null = null;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #polling = false;
  #closed = false;

  constructor(options: WatchOptions) {
    this.#options = options;
    for (const folder of options.folders) this.follow(folder);
    this.#arm();
    this.hint();
  }

  /** One more folder, if it is not watched already. */
  follow(folder: string): void {
    if (this.#closed || this.#polling || this.#watches.has(folder)) return;
    const { start = watchFolder } = this.#options;
    try {
      const hint = (): void => this.hint();
      this.#watches.set(
        folder,
        start(folder, hint, (error) => this.#failed(error)),
      );
      // What came before we watched.
      this.hint();
    } catch (error) {
      this.#failed(error);
    }
  }

  hint(): void {
    if (this.#closed || this.#soon !== null) return;
    const wait = this.#lookedAt + APART_MS - performance.now();
    if (wait > 0) this.#soon = setTimeout(() => this.#look(), wait).unref();
    else this.#soon = setImmediate(() => this.#look());
  }

  close(): void {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#dropSoon();
    this.#dropWatches();
  }

  #look(): void {
    this.#dropSoon();
    if (this.#closed) return;
    this.#options.look();
    this.#lookedAt = performance.now();
  }

  #arm(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    const { safetyMs = 2000, pollMs = 250 } = this.#options;
    this.#timer = setTimeout(
      () => {
        this.#look();
        if (!this.#closed) this.#arm();
      },
      this.#polling ? pollMs : safetyMs,
    );
    this.#timer.unref();
  }

  #failed(error: unknown): void {
    if (this.#polling || this.#closed) return;
    this.#polling = true;
    this.#dropWatches();
    this.#options.failed(error instanceof Error ? error.message : String(error));
    this.#arm();
  }

  #dropSoon(): void {
    // Either kind of handle; clearing the wrong way does nothing.
    if (this.#soon !== null) {
      clearTimeout(this.#soon as NodeJS.Timeout);
      clearImmediate(this.#soon as NodeJS.Immediate);
    }
    this.#soon = null;
  }

  #dropWatches(): void {
    const watches = [...this.#watches.values()];
    this.#watches.clear();
    for (const watcher of watches) {
      try {
        watcher.close();
      } catch {
        // It is gone either way.
      }
    }
  }
}
