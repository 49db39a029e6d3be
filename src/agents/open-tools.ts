/** An agent has a few tools open at a time; of more, which only a broken one has, the oldest are not waited for. */
const MAX_OPEN = 256;

/** The names of the tools that run, by their ids. */
export class OpenTools {
  readonly #names = new Map<string, string>();

  has(id: string): boolean {
    return this.#names.has(id);
  }

  begin(id: string, name: string): void {
    this.#names.set(id, name);
    const [oldest] = this.#names.keys();
    if (this.#names.size > MAX_OPEN && oldest !== undefined) this.#names.delete(oldest);
  }

  /** Its name; '' when it was not known to run. */
  end(id: string): string {
    const name = this.#names.get(id) ?? '';
    this.#names.delete(id);
    return name;
  }

  /** The turn is over, and so are they. */
  clear(): void {
    this.#names.clear();
  }

  /** The name of the last that runs. */
  get last(): string | null {
    return [...this.#names.values()].at(-1) ?? null;
  }
}
