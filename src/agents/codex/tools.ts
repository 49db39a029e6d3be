import { OpenTools } from '../open-tools.ts';
import type { Outbox } from '../outbox.ts';
import type { Tool } from './items.ts';
import type { Tally } from './tokens.ts';

/** The tools that run, by their items. Some show only when they have ended. */
export class Tools {
  readonly #out: Outbox;
  readonly #tally: Tally;
  readonly #open = new OpenTools();

  constructor(out: Outbox, tally: Tally) {
    this.#out = out;
    this.#tally = tally;
  }

  /** Whether it is a new one. */
  item({ id, name, input, ok, output, truncated }: Tool, ended: boolean): boolean {
    const isNew = !this.#open.has(id);
    if (isNew) {
      this.#open.begin(id, name);
      this.#tally.tool();
      this.#out.put({ t: 'toolStart', id, name, input });
    }
    if (ended) {
      this.#open.end(id);
      this.#out.put({ t: 'toolEnd', id, name, ok, output, truncated });
    }
    return isNew;
  }

  /** The name of the last that runs. */
  get last(): string | null {
    return this.#open.last;
  }

  /** The turn is over, and so are they. */
  clear(): void {
    this.#open.clear();
  }
}
