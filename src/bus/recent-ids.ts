/** The last so many ids, with a value each; the oldest is forgotten for a new one. */
export class RecentIds<T> {
  readonly #most: number;
  readonly #ids = new Map<string, T>();

  constructor(most: number) {
    this.#most = most;
  }

  get(id: string): T | undefined {
    return this.#ids.get(id);
  }

  add(id: string, value: T): void {
    this.#ids.set(id, value);
    if (this.#ids.size <= this.#most) return;
    const [oldest] = this.#ids.keys();
    if (oldest !== undefined) this.#ids.delete(oldest);
  }
}
