import { type LineHead, createLineSplitter } from '../process/index.ts';
import type { Reply } from './adapter.ts';
import { type Fields, readLine } from './json.ts';
import type { Outbox } from './outbox.ts';

/** A longer line is dropped and leaves a note. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

export interface LineReader {
  /** Without its newline. */
  line(bytes: Buffer): void;
  /** One was dropped; the note of it is written. */
  tooLong?(): void;
  /** Lines that are known by their head, and of which no more is wanted. */
  head?: LineHead;
}

/**
 * The stdout of one child, from its first byte to its exit: cuts it into lines, and knows whether anything came and whether
 * the child is gone.
 */
export class Stdout {
  readonly #out: Outbox;
  readonly #splitter;
  #silent = true;
  #over = false;

  constructor(out: Outbox, reader: LineReader) {
    this.#out = out;
    this.#splitter = createLineSplitter({
      maxLineBytes: MAX_LINE_BYTES,
      ...(reader.head === undefined ? {} : { head: reader.head }),
      line: (bytes) => reader.line(bytes),
      tooLong: (bytes) => {
        out.note('line-too-long', `a line of ${bytes} bytes was dropped`);
        reader.tooLong?.();
      },
    });
  }

  /** Nothing at all has come. */
  get silent(): boolean {
    return this.#silent;
  }

  /** The child is gone: nothing is taken or sent any more. */
  get over(): boolean {
    return this.#over;
  }

  push(chunk: Uint8Array): Reply {
    if (this.#over || chunk.length === 0) return this.#out.take();
    this.#silent = false;
    this.#splitter.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    return this.#out.takeActive();
  }

  /** A last line without a newline counts; then `judge` tells how the work ended. Only the first exit is one. */
  exited(judge: () => void): Reply {
    if (this.#over) return this.#out.take();
    this.#splitter.end();
    this.#over = true;
    judge();
    return { ...this.#out.take(), send: [] };
  }
}

/** A stdout that holds a JSON record a line; everything else in it becomes a note. */
export function stdoutOfRecords(out: Outbox, take: (record: Fields) => void): Stdout {
  return new Stdout(out, {
    line(bytes) {
      const record = recordIn(bytes, out);
      if (record !== null) take(record);
    },
  });
}

/** The record in a line; null where there is none, and the outbox has the note. */
export function recordIn(bytes: Buffer, out: Outbox): Fields | null {
  const line = readLine(bytes);
  switch (line.type) {
    case 'record':
      return line.record;
    case 'blank':
      return null;
    case 'text':
      out.note('text', line.text);
      return null;
    case 'bad':
      out.note('bad-record', `${line.chars} characters that begin like a record and are none`);
      return null;
  }
}
