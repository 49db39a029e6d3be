import type { Outbox } from '../outbox.ts';
import type { Tool } from './items.ts';
import type { Tally } from './tokens.ts';

/** The tools that run, by their items. Some show only when they have ended. */
export class Tools {
  readonly #out: Outbox;
  readonly #tally: Tally;
  readonly #open = new Map<string, string>();

  constructor(out: Outbox, tally: Tally) {
    this.#out = out;
    this.#tally = tally;
  }

  /** Whether it is a new one. */
  item({ id, name, input, ok, output, truncated }: Tool, ended: boolean): boolean {
    const isNew = !this.#open.has(id);
    if (isNew) {
      this.#open.set(id, name);
      this.#tally.tool();
      this.#out.put({ t: 'toolStart', id, name, input });
    }
    if (ended) {
      this.#open.delete(id);
      this.#out.put({ t: 'toolEnd', id, name, ok, output, truncated });
    }
    return isNew;
  }

  /** The name of the last that runs. */
  open(): string | null {
    return [...this.#open.values()].at(-1) ?? null;
  }

  /** The turn is over, and so are they. */
  clear(): void {
    this.#open.clear();
  }
}
