import { closeSync, fstatSync, fsync, openSync, readSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import type { JournalBody, JournalRecord } from '../../machines/protocol.ts';
import { syncDir } from './create.ts';
import { type JournalPage, readJournal } from './journal-read.ts';
import { LineQueue } from './line-queue.ts';
import { type Trouble, troubleOf, type Written, written } from './trouble.ts';

/** How a journal touches its file; injected by tests that need a full disk. */
export interface JournalFiles {
  /** Opens for reading and appending, makes it 0600. */
  open(path: string): number;
  write(fd: number, data: Buffer, offset: number, length: number): number;
  sync(fd: number): Promise<void>;
  close(fd: number): void;
}

export interface JournalOptions {
  epoch: number;
  /** Number of the first record appended: 1, or one more than the last of an earlier epoch. */
  firstSeq: number;
  /** A write failed. Called once when trouble begins, and again when its code changes. */
  onTrouble?: (trouble: Trouble) => void;
  /** Everything that waited has been written after all. */
  onRestored?: () => void;
  /** Most bytes that wait while the file cannot be written. @default 8 MiB */
  maxWaitingBytes?: number;
  files?: JournalFiles;
}

/**
 * `events.jsonl` of one owner. Appending never waits and never throws; lines reach the file by one write a turn of
 * the event loop. Guaranteed: records are numbered without a gap and written whole and in order, over failures too.
 * Not guaranteed before `sync` has said `ok`: that they are on disk.
 *
 * While the file cannot be written lines wait, up to `maxWaitingBytes`, and are tried again after 0.25 s, then ever
 * later up to 10 s, and at every `flush`. Beyond that the newest are dropped: they keep their numbers, so that the gap
 * shows, and from then on `flush` and `sync` report `journal-overflow`: such a journal never passes for complete.
 */
export interface Journal {
  /** Number of the last record appended. */
  readonly seq: number;
  /** Number of the oldest record in memory; `seq + 1` when there is none. */
  readonly oldestInMemory: number;
  append(body: JournalBody): JournalRecord;
  /** Writes now what waits. Used before something is started that the journal must know of. */
  flush(): Written;
  /** Writes and flushes to disk. */
  sync(): Promise<Written>;
  /** Records after `seq` from memory, or null when they are only in the file. Holds the last 1,024 and all that wait. */
  recent(seq: number): JournalRecord[] | null;
  /** The next part of the file from a byte offset, as `readJournal`. */
  page(offset: number): JournalPage;
  /** Calls back after each append, within it; the listener must not throw. Returns the way to stop. */
  onAppend(listener: (record: JournalRecord) => void): () => void;
  /** Last attempt to write, then the file is closed. Later appends are dropped and reported as trouble. */
  close(): Written;
}

const retryFirstMs = 250;
const retryMostMs = 10_000;
const keepRecent = 1024;
/** More than this in one turn is written at once: memory before economy. */
const writeAtBytes = 1024 * 1024;

export const journalFiles: JournalFiles = {
  open: (path) => openSync(path, 'a+', 0o600),
  write: writeSync,
  sync: promisify(fsync),
  close: closeSync,
};

export function openJournal(path: string, options: JournalOptions): Journal {
  return new FileJournal(path, options);
}

class FileJournal implements Journal {
  readonly #path: string;
  readonly #options: JournalOptions;
  readonly #files: JournalFiles;
  readonly #queue = new LineQueue();
  readonly #listeners = new Set<(record: JournalRecord) => void>();
  #seq: number;
  /** The newest records, in order; the last is number `#seq`. */
  #recent: JournalRecord[] = [];
  #writtenSeq: number;
  #fd: number | null = null;
  #dirSynced = false;
  #scheduled: NodeJS.Immediate | null = null;
  #retry: NodeJS.Timeout | null = null;
  #retryMs = retryFirstMs;
  #trouble: Trouble | null = null;
  #lost = 0;
  #closed = false;

  constructor(path: string, options: JournalOptions) {
    this.#path = path;
    this.#options = options;
    this.#files = options.files ?? journalFiles;
    this.#seq = options.firstSeq - 1;
    this.#writtenSeq = this.#seq;
  }

  get seq(): number {
    return this.#seq;
  }

  get oldestInMemory(): number {
    return this.#seq - this.#recent.length + 1;
  }

  append(body: JournalBody): JournalRecord {
    const { at, ...rest } = body;
    const record: JournalRecord = { v: 1, seq: this.#seq + 1, epoch: this.#options.epoch, ts: at, ...rest };
    if (this.#closed) {
      this.#report({
        type: 'trouble',
        code: 'journal-closed',
        message: `${body.type} came after the journal was closed`,
      });
      return record;
    }
    this.#seq = record.seq;
    this.#remember(record);
    this.#enqueue(`${JSON.stringify(record)}\n`);
    for (const listener of this.#listeners) listener(record);
    return record;
  }

  #enqueue(line: string): void {
    const most = this.#options.maxWaitingBytes ?? 8 * 1024 * 1024;
    if (this.#trouble !== null && this.#queue.waiting + line.length > most) {
      this.#lost += 1;
      if (this.#lost === 1) this.#report(overflow(1));
      return;
    }
    this.#queue.push(line);
    // While there is trouble the retry timer sets the pace.
    if (this.#trouble !== null) return;
    if (this.#queue.waiting > writeAtBytes) this.flush();
    else this.#scheduled ??= setImmediate(() => this.flush());
  }

  flush(): Written {
    if (this.#scheduled !== null) clearImmediate(this.#scheduled);
    this.#scheduled = null;
    if (this.#queue.waiting > 0) {
      try {
        const fd = this.#open();
        this.#queue.drain((data, offset, length) => this.#files.write(fd, data, offset, length));
      } catch (error) {
        return this.#failed(troubleOf(error));
      }
    }
    this.#writtenSeq = this.#seq;
    this.#restored();
    return this.#lost > 0 ? overflow(this.#lost) : written;
  }

  async sync(): Promise<Written> {
    const flushed = this.flush();
    if (flushed.type === 'trouble') return flushed;
    try {
      await this.#files.sync(this.#open());
    } catch (error) {
      // Nothing waits, so there is nothing to try again here: whoever asked decides.
      return troubleOf(error);
    }
    if (!this.#dirSynced) syncDir(dirname(this.#path));
    this.#dirSynced = true;
    return written;
  }

  #open(): number {
    if (this.#fd !== null) return this.#fd;
    const fd = this.#files.open(this.#path);
    try {
      // An earlier owner may have died in the middle of a line: that line is lost, ours must not be.
      if (endsInsideLine(fd)) this.#files.write(fd, Buffer.from('\n'), 0, 1);
    } catch (error) {
      this.#files.close(fd);
      throw error;
    }
    this.#fd = fd;
    return fd;
  }

  #failed(trouble: Trouble): Trouble {
    const known = this.#trouble?.code === trouble.code;
    this.#trouble = trouble;
    if (!this.#closed && this.#retry === null) {
      this.#retry = setTimeout(() => {
        this.#retry = null;
        this.#retryMs = Math.min(this.#retryMs * 2, retryMostMs);
        this.flush();
      }, this.#retryMs);
      this.#retry.unref();
    }
    if (!known) this.#report(trouble);
    return trouble;
  }

  #restored(): void {
    if (this.#trouble === null) return;
    this.#trouble = null;
    this.#stopRetrying();
    this.#options.onRestored?.();
  }

  #stopRetrying(): void {
    if (this.#retry !== null) clearTimeout(this.#retry);
    this.#retry = null;
    this.#retryMs = retryFirstMs;
  }

  #report(trouble: Trouble): void {
    this.#options.onTrouble?.(trouble);
  }

  #remember(record: JournalRecord): void {
    this.#recent.push(record);
    // What is not in the file yet is nowhere else.
    const keep = Math.max(keepRecent, this.#seq - this.#writtenSeq);
    if (this.#recent.length >= keep * 2) this.#recent = this.#recent.slice(-keep);
  }

  recent(seq: number): JournalRecord[] | null {
    const missing = this.#seq - seq;
    if (missing <= 0) return [];
    return missing <= this.#recent.length ? this.#recent.slice(-missing) : null;
  }

  page(offset: number): JournalPage {
    return readJournal(this.#path, { from: offset, maxBytes: writeAtBytes });
  }

  onAppend(listener: (record: JournalRecord) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  close(): Written {
    if (this.#closed) return this.#trouble ?? written;
    this.#closed = true;
    const outcome = this.flush();
    this.#stopRetrying();
    this.#listeners.clear();
    if (this.#fd !== null) this.#files.close(this.#fd);
    this.#fd = null;
    return outcome;
  }
}

function endsInsideLine(fd: number): boolean {
  const { size } = fstatSync(fd);
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  return readSync(fd, last, 0, 1, size - 1) === 1 && last[0] !== 10;
}

function overflow(lost: number): Trouble {
  const message = `${lost} of its records were dropped while the file could not be written`;
  return { type: 'trouble', code: 'journal-overflow', message };
}
