const NOTHING = Buffer.alloc(0);

/** The last bytes of a stream, in a buffer of fixed size. */
export class TextTail {
  readonly #keep: number;
  /** Made at the first byte: most streams of most attempts have none. */
  #buffer: Buffer = NOTHING;
  #length = 0;
  #cut = false;

  constructor(keepBytes: number) {
    this.#keep = keepBytes;
  }

  push(chunk: Uint8Array): void {
    // Twice the size: the older half is moved away only when the newer one is full.
    if (this.#buffer.length === 0) this.#buffer = Buffer.allocUnsafeSlow(this.#keep * 2);
    if (chunk.length > this.#keep) {
      this.#cut = true;
      this.#length = 0;
      chunk = chunk.subarray(chunk.length - this.#keep);
    }
    if (this.#length + chunk.length > this.#buffer.length) {
      this.#buffer.copyWithin(0, this.#length - this.#keep, this.#length);
      this.#length = this.#keep;
      this.#cut = true;
    }
    this.#buffer.set(chunk, this.#length);
    this.#length += chunk.length;
  }

  /** At most `keepBytes` bytes as text; a character cut in half at either end is left out. */
  text(): string {
    const from = Math.max(0, this.#length - this.#keep);
    const bytes = this.#buffer.subarray(from, this.#length);
    const start = this.#cut || from > 0 ? firstWhole(bytes) : 0;
    return bytes.toString('utf8', start, lastWhole(bytes));
  }
}

const isContinuation = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80;

function firstWhole(bytes: Buffer): number {
  let at = 0;
  while (at < 3 && isContinuation(bytes[at])) at += 1;
  return at;
}

/** End of the last character that is complete. Bytes that are no UTF-8 are left to the decoder. */
function lastWhole(bytes: Buffer): number {
  let lead = bytes.length - 1;
  while (lead > bytes.length - 4 && isContinuation(bytes[lead])) lead -= 1;
  const byte = bytes[lead];
  if (byte === undefined || byte < 0xc0) return bytes.length;
  const wanted = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2;
  return bytes.length - lead < wanted ? lead : bytes.length;
}
