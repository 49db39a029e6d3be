import { folderIdentity, type StartWatch, type Watch } from './watch.ts';

export interface WatchingOptions {
  folder: string;
  start: StartWatch;
  /** Something may have changed: read the folder. Several hints of one turn of the loop make one call. */
  look: () => void;
  onWarning: (warning: InboxWarning) => void;
  /** Between two looks when all is well. @default 2000 ms */
  safetyMs?: number;
  /** Between two looks when the folder cannot be watched or is away. @default 250 ms */
  pollMs?: number;
}

export interface InboxWarning {
  code: 'polling' | 'folder-missing' | 'receipt-unwritten';
  message: string;
}

/**
 * Keeps looking at a folder that may go away and come back. Native events are hints; a slow poll is the net.
 * When watching fails it polls from then on, and says so once. Its timers do not keep the process alive, though the
 * native watch does until `close`.
 */
export class Watching {
  readonly #options: WatchingOptions;
  #watch: Watch | null = null;
  #identity: string | null = null;
  #polling = false;
  #missing = false;
  #timer: NodeJS.Timeout | null = null;
  #scheduled: NodeJS.Immediate | null = null;
  #closed = false;

  constructor(options: WatchingOptions) {
    this.#options = options;
    // Nothing is called back from here: whoever opens has its own things to finish first.
    this.#scheduled = setImmediate(() => this.#tick());
  }

  get mode(): 'native' | 'polling' {
    return this.#polling ? 'polling' : 'native';
  }

  /** Looks soon. */
  hint(): void {
    if (!this.#closed) this.#scheduled ??= setImmediate(() => this.#look());
  }

  /** Looks after so many milliseconds, or sooner. */
  lookWithin(ms: number): void {
    if (!this.#closed) this.#arm(ms);
  }

  #look(): void {
    if (this.#scheduled !== null) clearImmediate(this.#scheduled);
    this.#scheduled = null;
    if (!this.#closed) this.#options.look();
  }

  #tick(): void {
    if (this.#closed) return;
    this.#follow();
    const { safetyMs = 2000, pollMs = 250 } = this.#options;
    this.#arm(this.#polling || this.#missing ? pollMs : safetyMs);
    this.#look();
  }

  #arm(ms: number): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#tick(), ms);
    this.#timer.unref();
  }

  /** Watches the folder that is there now. */
  #follow(): void {
    const identity = folderIdentity(this.#options.folder);
    if (identity === null && !this.#missing) {
      const message = `${this.#options.folder} is missing: no command can come in until it is back`;
      this.#options.onWarning({ code: 'folder-missing', message });
    }
    this.#missing = identity === null;
    if (identity === this.#identity) return;
    this.#identity = identity;
    void this.#drop();
    if (identity !== null && !this.#polling) this.#begin();
  }

  #begin(): void {
    const failed = (error: unknown): void => this.#failed(error);
    try {
      this.#watch = this.#options.start(this.#options.folder, { hint: () => this.hint(), failed });
    } catch (error) {
      this.#failed(error);
    }
  }

  #failed(error: unknown): void {
    if (this.#polling || this.#closed) return;
    this.#polling = true;
    void this.#drop();
    const { folder, pollMs = 250, onWarning } = this.#options;
    const reason = error instanceof Error ? error.message : String(error);
    onWarning({
      code: 'polling',
      message: `${folder} cannot be watched (${reason}): looking every ${pollMs} ms instead`,
    });
    this.#arm(pollMs);
  }

  async #drop(): Promise<void> {
    const watch = this.#watch;
    this.#watch = null;
    try {
      await watch?.close();
    } catch {
      // It is gone either way.
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    if (this.#scheduled !== null) clearImmediate(this.#scheduled);
    await this.#drop();
  }
}
