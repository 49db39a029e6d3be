import { PipeReader } from './reader.ts';

/** An output of this process: stdout or stderr. */
export interface Out {
  /** Resolves when there is room for more. Once the reader has gone, writing does nothing. */
  write(data: string | Uint8Array): Promise<void>;
  /** As it is, for when it does not matter how much waits. Dropped when over a megabyte does. */
  put(text: string): void;
  /** The same, with a newline. */
  line(text?: string): void;
  /** Resolves when everything has been taken by the system, or the reader has gone. */
  flush(): Promise<void>;
  /** Aborted when the reader has gone: a closed pipe, a terminal that hung up. */
  readonly closed: AbortSignal;
  /** Looks whether there is still a reader: for who may have nothing to write for long. The first look is before the first write. */
  probe(): void;
  readonly isTerminal: boolean;
  readonly columns: number;
  readonly rows: number;
}

const MOST_WAITING = 1024 * 1024;

/** Wraps a stream. That its reader goes away is never an error here: `head` does that. */
export function createOut(stream: NodeJS.WriteStream & { fd: number }): Out {
  const gone = new AbortController();
  let reader: PipeReader | null = null;
  // EPIPE, EIO and whatever else an output can fail with: there is nobody to tell.
  stream.on('error', () => gone.abort());
  stream.on('close', () => gone.abort());
  const put = (text: string): void => {
    if (!gone.signal.aborted && stream.writableLength < MOST_WAITING) stream.write(text);
  };
  return {
    closed: gone.signal,
    async write(data) {
      if (gone.signal.aborted || stream.write(data)) return;
      await drained(stream, gone.signal);
    },
    put,
    line: (text = '') => put(`${text}\n`),
    async flush() {
      if (gone.signal.aborted || stream.writableLength === 0) return;
      await new Promise<void>((resolve) => {
        stream.write('', () => resolve());
        gone.signal.addEventListener('abort', () => resolve(), { once: true });
      });
    },
    probe() {
      reader ??= new PipeReader(stream.fd);
      if (!gone.signal.aborted && reader.gone()) gone.abort();
    },
    // For files and pipes it is undefined, whatever the types say.
    isTerminal: stream.isTTY ?? false,
    get columns() {
      return stream.columns || 80;
    },
    get rows() {
      return stream.rows || 24;
    },
  };
}

function drained(stream: NodeJS.WriteStream, closed: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      stream.off('drain', done);
      closed.removeEventListener('abort', done);
      resolve();
    };
    stream.once('drain', done);
    closed.addEventListener('abort', done, { once: true });
  });
}
