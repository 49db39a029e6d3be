/** As long as one record may be; what comes beyond it is in the raw stdout. In UTF-16 units. */
const LIMIT = 16 * 1024 * 1024;

/** An answer that comes in pieces. */
export class Answer {
  #parts: string[] = [];
  #length = 0;
  #truncated = false;

  add(text: string): void {
    const room = LIMIT - this.#length;
    if (text.length > room) this.#truncated = true;
    if (room <= 0 || text === '') return;
    const part = text.slice(0, room);
    this.#length += part.length;
    this.#parts.push(part);
  }

  clear(): void {
    this.#parts = [];
    this.#length = 0;
    this.#truncated = false;
  }

  get text(): string {
    return this.#parts.join('');
  }

  get truncated(): boolean {
    return this.#truncated;
  }
}
