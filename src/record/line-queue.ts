/** Writes some bytes and says how many; fewer than asked is no error. Throws as `fs.writeSync` does. */
export type WriteBytes = (data: Buffer, offset: number, length: number) => number;

/**
 * Lines on their way to a file. Nothing leaves the queue before it has been written, to the byte: after a failure
 * in the middle of a line, the next attempt goes on with the rest of that line.
 */
export class LineQueue {
  #lines: string[] = [];
  #lineBytes = 0;
  #head: Buffer = Buffer.alloc(0);
  #offset = 0;

  /** Bytes that wait. */
  get waiting(): number {
    return this.#head.length - this.#offset + this.#lineBytes;
  }

  push(line: string): void {
    this.#lines.push(line);
    this.#lineBytes += Buffer.byteLength(line);
  }

  /** Writes everything that waits, usually by one call of `write`. Throws what `write` throws, and keeps the rest. */
  drain(write: WriteBytes): void {
    for (;;) {
      while (this.#offset < this.#head.length) {
        this.#offset += write(this.#head, this.#offset, this.#head.length - this.#offset);
      }
      if (this.#lines.length === 0) break;
      this.#head = Buffer.from(this.#lines.join(''));
      this.#offset = 0;
      this.#lines = [];
      this.#lineBytes = 0;
    }
    this.#head = Buffer.alloc(0);
    this.#offset = 0;
  }
}
