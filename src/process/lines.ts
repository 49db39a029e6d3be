export interface LineHandlers {
  /** One line without its newline. The bytes are the receiver's to keep. */
  line(bytes: Buffer): void;
  /** A line longer than the limit was dropped; said once a line, at its end, with its length in bytes. */
  tooLong(observedBytes: number): void;
}

export interface LineSplitterOptions extends LineHandlers {
  /** Bytes of a line without its newline. Default 16 MiB. */
  maxLineBytes?: number;
  /** Of lines that begin like this no more than their head is wanted. */
  head?: LineHead;
}

export interface LineHead {
  bytes: number;
  /** Asked once of a line that does not lie in one chunk: no more of it has to be kept, and `line` gets the head alone. */
  suffices(head: Buffer): boolean;
}

export interface LineSplitter {
  push(chunk: Buffer): void;
  /** No more bytes: a last line without a newline is delivered. */
  end(): void;
}

const NEWLINE = 0x0a;
const DEFAULT_MAX_LINE_BYTES = 16 * 1024 * 1024;

/**
 * Cuts a byte stream at 0x0A and nowhere else: no decoding, so CR, U+0085, U+2028 and half characters pass untouched.
 *
 * A line inside one chunk is a view of that chunk, not a copy. A line over several chunks is gathered in one
 * growing buffer: linear in its length however small the chunks are, and never larger than `maxLineBytes`; nothing is
 * gathered of a line whose head suffices.
 */
export function createLineSplitter(options: LineSplitterOptions): LineSplitter {
  const { maxLineBytes: max = DEFAULT_MAX_LINE_BYTES, head } = options;
  let gathered: Buffer = Buffer.alloc(0);
  /** Bytes of the open line, also those no longer kept. */
  let length = 0;
  /** Whether the head of the open line suffices; null: it has not been asked. */
  let cut: boolean | null = null;

  const gather = (bytes: Buffer): void => {
    if (head !== undefined && cut === null) askHead(bytes, head);
    if (cut === true) {
      length += bytes.length;
      return;
    }
    if (length + bytes.length <= max) {
      gathered = withRoom(gathered, length, bytes.length, max);
      bytes.copy(gathered, length);
    } else {
      gathered = Buffer.alloc(0);
    }
    length += bytes.length;
  };

  /** With the bytes that come next, once they make a whole head. */
  const askHead = (next: Buffer, wanted: LineHead): void => {
    const { bytes } = wanted;
    if (length + next.length < bytes) return;
    const start = Buffer.concat([gathered.subarray(0, length), next.subarray(0, bytes - length)]);
    cut = wanted.suffices(start);
    if (cut) gathered = start;
  };

  const finish = (): void => {
    if (length > max) options.tooLong(length);
    else options.line(cut === true ? gathered : gathered.subarray(0, length));
    gathered = Buffer.alloc(0);
    length = 0;
    cut = null;
  };

  const whole = (line: Buffer): void => {
    if (line.length > max) options.tooLong(line.length);
    else options.line(line);
  };

  return {
    push(chunk) {
      let from = 0;
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
        const piece = chunk.subarray(from, at);
        from = at + 1;
        if (length === 0) {
          whole(piece);
        } else {
          gather(piece);
          finish();
        }
      }
      if (from < chunk.length) gather(chunk.subarray(from));
    },
    end() {
      if (length > 0) finish();
    },
  };
}

/** Doubles, so that n bytes in chunks of any size cost O(n) copies. */
function withRoom(buffer: Buffer, used: number, more: number, max: number): Buffer {
  if (used + more <= buffer.length) return buffer;
  const grown = Buffer.allocUnsafe(Math.max(used + more, Math.min(buffer.length * 2, max)));
  buffer.copy(grown, 0, 0, used);
  return grown;
}
