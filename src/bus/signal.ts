/** Wakes whoever waits, any number of them. A call while nobody waits is not remembered. */
export class Signal {
  #waiting = new Set<() => void>();

  wake(): void {
    const waiting = this.#waiting;
    this.#waiting = new Set();
    for (const resolve of waiting) resolve();
  }

  /** Settles at the next `wake`, or when `signal` is aborted. */
  async next(signal?: AbortSignal): Promise<void> {
    if (isAborted(signal)) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        this.#waiting.delete(done);
        signal?.removeEventListener('abort', done);
        resolve();
      };
      this.#waiting.add(done);
      signal?.addEventListener('abort', done, { once: true });
    });
  }
}

/** A call, because a property that was false stays false for the compiler, over an await too. */
export function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted === true;
}
