import type { CommandEnvelope, Delivery } from './bus.ts';
import { RecentIds } from './recent-ids.ts';

/** Commands that wait for a consumer. */
const mostWaiting = 256;
/** Ids remembered to tell a repeat. */
export const mostIds = 10_000;

/** The commands of one run: in order, each id once. */
export class CommandQueue {
  readonly #seen = new RecentIds<string>(mostIds);
  readonly #waiting: CommandEnvelope[] = [];
  #handler: ((envelope: CommandEnvelope) => void) | null = null;
  #handing = false;

  accept(envelope: CommandEnvelope): Delivery {
    const { id } = envelope;
    const meaning = JSON.stringify(envelope.body);
    const before = this.#seen.get(id);
    if (before !== undefined) return { type: before === meaning ? 'duplicate' : 'conflict', id };
    if (this.#waiting.length >= mostWaiting) return { type: 'refused', id, reason: 'queue-full' };
    this.#seen.add(id, meaning);
    this.#waiting.push(envelope);
    this.#hand();
    return { type: 'accepted', id };
  }

  consume(handler: (envelope: CommandEnvelope) => void): () => void {
    this.#handler = handler;
    this.#hand();
    return () => {
      if (this.#handler === handler) this.#handler = null;
    };
  }

  /** Hands over what waits. A command sent from within the handler comes after the one it is at. */
  #hand(): void {
    if (this.#handing) return;
    this.#handing = true;
    try {
      while (this.#handler !== null) {
        const next = this.#waiting.shift();
        if (next === undefined) return;
        this.#handler(next);
      }
    } finally {
      this.#handing = false;
    }
  }
}
