import { open, type FileHandle } from 'node:fs/promises';
import type { PlanErrorCode } from './words.ts';

const MAX_BYTES = 4 * 1024 * 1024;

export type PlanText =
  | { type: 'ok'; text: string }
  /** `line` is where the text stops to be UTF-8. */
  | { type: 'failed'; code: PlanErrorCode; message: string; line: number | null };

/** The text of a plan file. Pipes are read too (`<(generate-plan)`), up to the same limit. */
export async function readPlanFile(path: string): Promise<PlanText> {
  let bytes: Uint8Array | null;
  try {
    bytes = await readBounded(path);
  } catch (error) {
    return unreadable(path, error);
  }
  if (bytes === null) {
    const message = `is larger than ${MAX_BYTES / 1024 / 1024} MiB: long texts belong in files that the task names`;
    return { type: 'failed', code: 'file-too-large', message, line: null };
  }
  const text = decode(bytes);
  if (text !== null) return { type: 'ok', text };
  return { type: 'failed', code: 'not-utf8', message: 'is not UTF-8: save it as UTF-8', line: badLine(bytes) };
}

async function readBounded(path: string): Promise<Uint8Array | null> {
  const file = await open(path, 'r');
  try {
    return await readAll(file);
  } finally {
    await file.close();
  }
}

/** Null: there is more than the limit. */
async function readAll(file: FileHandle): Promise<Uint8Array | null> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for (;;) {
    const { bytesRead, buffer } = await file.read(Buffer.alloc(256 * 1024), 0);
    if (bytesRead === 0) return Buffer.concat(chunks);
    chunks.push(buffer.subarray(0, bytesRead));
    size += bytesRead;
    if (size > MAX_BYTES) return null;
  }
}

function unreadable(path: string, error: unknown): PlanText {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'ENOENT' || code === 'ENOTDIR') {
    return { type: 'failed', code: 'file-missing', message: `there is no such file: ${path}`, line: null };
  }
  const what = code === 'EISDIR' ? 'is a directory: name the plan file in it' : `cannot be read (${code})`;
  return { type: 'failed', code: 'file-unreadable', message: what, line: null };
}

function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}

/** A line break is never part of another character, so each line can be looked at alone. */
function badLine(bytes: Uint8Array): number {
  let line = 1;
  for (let start = 0; start < bytes.length; line++) {
    const next = bytes.indexOf(10, start);
    const end = next === -1 ? bytes.length : next;
    if (decode(bytes.subarray(start, end)) === null) return line;
    start = end + 1;
  }
  return line;
}
