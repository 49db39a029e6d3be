import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import type { JournalRecord } from '../../machines/protocol.ts';
import { isObject } from './json.ts';
import { codeOf } from './trouble.ts';

export interface JournalPage {
  records: JournalRecord[];
  /** Where the next read begins: always the start of a line. */
  nextOffset: number;
  /** Lines that are no records; `line` counts from 1 at the place where this read began. */
  corrupt: { line: number; message: string }[];
}

export interface JournalReadOptions {
  /** Byte to begin at. Inside a line the read begins at the next one. @default 0 */
  from?: number;
  /** About how much to read at once, in bytes; a longer line is read whole. @default 64 MiB */
  maxBytes?: number;
}

const mebibyte = 1024 * 1024;

/**
 * Reads a journal, or the next part of it. A last line without its newline is still being written and is left for
 * the next read. A missing journal has no records. Lines that are no records are named and skipped.
 */
export function readJournal(path: string, options: JournalReadOptions = {}): JournalPage {
  const from = Math.max(0, options.from ?? 0);
  let fd: number;
  try {
    fd = openSync(path, 'r');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { records: [], nextOffset: from, corrupt: [] };
    return {
      records: [],
      nextOffset: from,
      corrupt: [{ line: 0, message: `the journal cannot be read (${codeOf(error)})` }],
    };
  }
  try {
    return readFrom(fd, from, options.maxBytes ?? 64 * mebibyte);
  } catch (error) {
    return {
      records: [],
      nextOffset: from,
      corrupt: [{ line: 0, message: `the journal cannot be read (${codeOf(error)})` }],
    };
  } finally {
    closeSync(fd);
  }
}

function readFrom(fd: number, from: number, maxBytes: number): JournalPage {
  const { size } = fstatSync(fd);
  if (from > size) return { records: [], nextOffset: from, corrupt: [] };
  // The byte before `from` tells whether a line begins there.
  const base = Math.max(0, from - 1);
  const bytes = readLines(fd, base, size, maxBytes);
  const skipped = from === 0 ? 0 : bytes.indexOf(10) + 1;
  const end = bytes.lastIndexOf(10) + 1;
  if (from > 0 && skipped === 0) return { records: [], nextOffset: from, corrupt: [] };
  return { ...parseLines(bytes.subarray(skipped, end)), nextOffset: base + Math.max(end, skipped) };
}

/** Bytes from `base`: at least one whole line if there is one. */
function readLines(fd: number, base: number, size: number, maxBytes: number): Buffer {
  for (let want = Math.max(1024, maxBytes); ; want *= 2) {
    const bytes = readExactly(fd, base, Math.min(want, size - base));
    // The first byte belongs to the line before.
    if (bytes.lastIndexOf(10) > 0 || base + want >= size) return bytes;
  }
}

function readExactly(fd: number, base: number, length: number): Buffer {
  const bytes = Buffer.allocUnsafe(length);
  let got = 0;
  while (got < length) {
    const n = readSync(fd, bytes, got, length - got, base + got);
    if (n === 0) break;
    got += n;
  }
  return bytes.subarray(0, got);
}

function parseLines(bytes: Buffer): Pick<JournalPage, 'records' | 'corrupt'> {
  const records: JournalRecord[] = [];
  const corrupt: JournalPage['corrupt'] = [];
  let line = 0;
  for (let at = 0; at < bytes.length;) {
    const end = bytes.indexOf(10, at);
    line += 1;
    const parsed = parseLine(bytes.toString('utf8', at, end));
    if (typeof parsed === 'string') corrupt.push({ line, message: parsed });
    else if (parsed !== null) records.push(parsed);
    at = end + 1;
  }
  return { records, corrupt };
}

/** A record, null for an empty line, or what is wrong. */
function parseLine(text: string): JournalRecord | string | null {
  if (text === '') return null;
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return 'not JSON';
  }
  if (!isObject(json)) return 'not an object';
  const { v, seq, epoch, ts, type } = json;
  if (typeof v === 'number' && v > 1) return `written by a newer version (v ${v})`;
  if (v !== 1) return 'its version (v) is not 1';
  if (!Number.isSafeInteger(seq) || !Number.isSafeInteger(epoch)) return 'seq or epoch is not a whole number';
  if (typeof ts !== 'string' || typeof type !== 'string') return 'ts or type is missing';
  return json as unknown as JournalRecord;
}
