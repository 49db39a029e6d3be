/**
 * The texts of messages and answers on their way, by the id of their command: held here, outside machines and record,
 * until the command has its answer.
 */
export class Texts {
  readonly #texts = new Map<string, string>();

  /** False: another text has this id already, and stays. */
  put(id: string, text: string): boolean {
    if (this.#texts.has(id)) return false;
    this.#texts.set(id, text);
    return true;
  }

  get(id: string): string | undefined {
    return this.#texts.get(id);
  }

  delete(id: string): void {
    this.#texts.delete(id);
  }

  get size(): number {
    return this.#texts.size;
  }
}
