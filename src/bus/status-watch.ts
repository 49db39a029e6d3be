import type { Status } from '../../machines/protocol.ts';
import { isAborted, Signal } from './signal.ts';

/** The newest status for each of any number of readers. Holds nothing but what a reader has not fetched yet. */
export class StatusWatch {
  readonly #changed = new Signal();
  readonly #slots = new Set<{ newest: Status | null }>();
  #ended = false;

  put(status: Status): void {
    for (const slot of this.#slots) slot.newest = status;
    this.#changed.wake();
  }

  end(): void {
    this.#ended = true;
    this.#changed.wake();
  }

  /** `current` is asked when the reader begins, so that nothing falls between. */
  async *watch(current: () => Status | null, signal: AbortSignal | undefined): AsyncGenerator<Status> {
    const slot = { newest: current() };
    this.#slots.add(slot);
    try {
      while (!isAborted(signal)) {
        const status = slot.newest;
        slot.newest = null;
        if (status !== null) yield status;
        else if (this.#ended) return;
        else await this.#changed.next(signal);
      }
    } finally {
      this.#slots.delete(slot);
    }
  }
}
