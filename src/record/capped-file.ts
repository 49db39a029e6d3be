import { closeSync, openSync, writeSync } from 'node:fs';
import { codeOf } from './trouble.ts';

/** How a log touches its file; injected by tests. */
export interface LogFiles {
  open(path: string): number;
  write(fd: number, data: Uint8Array, offset: number, length: number): number;
  close(fd: number): void;
}

export const logFiles: LogFiles = {
  open: (path) => openSync(path, 'a', 0o600),
  write: writeSync,
  close: closeSync,
};

export interface CappedFileOptions {
  capBytes: number;
  /** Cut before the line that goes over the cap, instead of within it. @default false */
  wholeLines?: boolean;
  /** The line that says that nothing follows, or that bytes are missing; without its newline. */
  note: (note: { kind: 'truncated'; capBytes: number } | { kind: 'lost'; bytes: number }) => string;
  files?: LogFiles;
}

/**
 * A file that is appended to, up to a size. Opened at the first byte, written synchronously, never throws: what could
 * not be written is counted, and noted in the file when it can be written again. Over the cap comes one note, then nothing.
 */
export class CappedFile {
  readonly #path: string;
  readonly #options: CappedFileOptions;
  readonly #files: LogFiles;
  #fd: number | null = null;
  #written = 0;
  #midLine = false;
  #truncated = false;
  #lost = 0;
  #errors = 0;
  #lastError: string | null = null;

  constructor(path: string, options: CappedFileOptions) {
    this.#path = path;
    this.#options = options;
    this.#files = options.files ?? logFiles;
  }

  /** Bytes of the stream in the file, notes not counted. */
  get written(): number {
    return this.#written;
  }

  get truncated(): boolean {
    return this.#truncated;
  }

  get errors(): number {
    return this.#errors;
  }

  /** Code of the last failure. */
  get lastError(): string | null {
    return this.#lastError;
  }

  write(data: Uint8Array): void {
    if (this.#truncated || data.length === 0) return;
    const { capBytes, note } = this.#options;
    if (this.#lost > 0 && !this.#note(note({ kind: 'lost', bytes: this.#lost }))) {
      this.#lost += data.length;
      return;
    }
    this.#lost = 0;
    const room = Math.max(0, capBytes - this.#written);
    if (room >= data.length) {
      this.#append(data);
      return;
    }
    const fits = data.subarray(0, room);
    this.#append(this.#options.wholeLines === true ? fits.subarray(0, fits.lastIndexOf(10) + 1) : fits);
    this.#truncated = true;
    this.#note(note({ kind: 'truncated', capBytes }));
  }

  #append(data: Uint8Array): void {
    const done = this.#put(data);
    this.#written += done;
    this.#lost += data.length - done;
    if (done > 0) this.#midLine = data[done - 1] !== 10;
  }

  #note(text: string): boolean {
    const bytes = Buffer.from(`${this.#midLine ? '\n' : ''}${text}\n`);
    const whole = this.#put(bytes) === bytes.length;
    if (whole) this.#midLine = false;
    return whole;
  }

  /** Writes what it can and says how much that was. */
  #put(data: Uint8Array): number {
    let done = 0;
    try {
      this.#fd ??= this.#files.open(this.#path);
      while (done < data.length) done += this.#files.write(this.#fd, data, done, data.length - done);
    } catch (error) {
      this.#errors += 1;
      this.#lastError = codeOf(error);
    }
    return done;
  }

  close(): void {
    if (this.#fd === null) return;
    try {
      this.#files.close(this.#fd);
    } catch (error) {
      this.#errors += 1;
      this.#lastError = codeOf(error);
    }
    this.#fd = null;
  }
}
