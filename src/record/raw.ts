import { createHash, type Hash } from 'node:crypto';
import { CappedFile, type LogFiles } from './capped-file.ts';
import { TextTail } from './text-tail.ts';

export interface RawLogOptions {
  /** @default 50 MiB */
  capBytes?: number;
  /** Bytes kept in memory for `tail`. @default 8 KiB */
  tailBytes?: number;
  /** Keep a SHA-256 of the whole stream, cap or not. @default false */
  hash?: boolean;
  /** How notes are written: as a JSON line, or as text. @default 'text' */
  notes?: 'json' | 'text';
  files?: LogFiles;
}

export interface RawSummary {
  /** Of the stream, whether they were kept or not. */
  bytes: number;
  /** Newlines, and one more for a last line without. */
  lines: number;
  /** Bytes of the stream that are in the file. */
  written: number;
  truncated: boolean;
  sha256: string | null;
  /** Failed writes, and the code of the last. */
  errors: number;
  lastError: string | null;
}

/**
 * One raw stream of an attempt, byte for byte: `stdout.jsonl` or `stderr.log`. The file is made at the first byte
 * (0600). Writes are synchronous, so that what was seen before a crash is there after it. Never throws.
 */
export interface RawLog {
  write(chunk: Uint8Array): void;
  /** The end of the stream as text, at most `tailBytes` bytes, cut between characters. */
  tail(): string;
  summary(): RawSummary;
  close(): RawSummary;
}

const HASH_OF_NOTHING = createHash('sha256').digest('hex');

export function createRawLog(path: string, options: RawLogOptions = {}): RawLog {
  const { capBytes = 50 * 1024 * 1024, tailBytes = 8 * 1024, notes = 'text' } = options;
  const note = notes === 'json' ? jsonNote : textNote;
  const file = new CappedFile(path, { capBytes, note, ...(options.files && { files: options.files }) });
  const tail = new TextTail(tailBytes);
  let hash: Hash | null = null;
  let bytes = 0;
  let newlines = 0;
  let midLine = false;

  function summary(): RawSummary {
    const { written, truncated, errors, lastError } = file;
    const sha256 = options.hash === true ? (hash?.copy().digest('hex') ?? HASH_OF_NOTHING) : null;
    return { bytes, lines: newlines + (midLine ? 1 : 0), written, truncated, sha256, errors, lastError };
  }

  return {
    write(chunk) {
      if (chunk.length === 0) return;
      bytes += chunk.length;
      newlines += countNewlines(chunk);
      midLine = chunk.at(-1) !== 10;
      if (options.hash === true) (hash ??= createHash('sha256')).update(chunk);
      tail.push(chunk);
      file.write(chunk);
    },
    tail: () => tail.text(),
    summary,
    close() {
      file.close();
      return summary();
    },
  };
}

type Note = { kind: 'truncated'; capBytes: number } | { kind: 'lost'; bytes: number };

function jsonNote({ kind, ...rest }: Note): string {
  return JSON.stringify({ type: `coxswain.${kind}`, ...rest });
}

function textNote(note: Note): string {
  return note.kind === 'truncated'
    ? `[coxswain: cut here, ${note.capBytes} bytes are the limit]`
    : `[coxswain: ${note.bytes} bytes are missing here, they could not be written]`;
}

function countNewlines(chunk: Uint8Array): number {
  let count = 0;
  for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) count += 1;
  return count;
}
