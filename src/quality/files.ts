import { createHash } from 'node:crypto';
import { type BigIntStats, constants, realpathSync, statSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { isAbsolute, relative, resolve, sep } from 'node:path';

/** A larger file is not taken for an output. */
export const MAX_FILE_BYTES = 256 * 1024 * 1024;
/** The text of a file up to this size is kept. */
const MAX_TEXT_BYTES = 200 * 1024;
const CHUNK = 256 * 1024;

/** What a file was like when somebody looked; null: it was not there. */
export type Stamp = string | null;

/** A file that an attempt has written, as it was when it was looked at. */
export interface Written {
  /** As the plan names it. */
  file: string;
  path: string;
  bytes: number;
  lines: number;
  sha256: string;
  /** Of a small one that is UTF-8. */
  text: string | null;
}

export type Looked = { type: 'written'; written: Written } | { type: 'missing'; why: string };

/** Every write changes it: which file it is, how large, and its times to the nanosecond. */
export function stampOf(path: string): Stamp {
  try {
    return stamp(statSync(path, { bigint: true }));
  } catch {
    return null;
  }
}

const stamp = ({ dev, ino, size, mtimeNs, ctimeNs }: BigIntStats): string =>
  [dev, ino, size, mtimeNs, ctimeNs].join(' ');

/** The file of the plan, if this attempt wrote it: within `cwd`, whole, and another than it was `before`. */
export async function lookAt(file: string, cwd: string, before: Stamp): Promise<Looked> {
  const path = resolve(cwd, file);
  let handle: FileHandle | null = null;
  try {
    if (!isBelow(realpathSync(path), realpathSync(cwd))) return missing('leads out of the working directory');
    // A pipe that nobody writes to would be waited for.
    handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const opened = await handle.stat({ bigint: true });
    if (!opened.isFile()) return missing('is not a file');
    if (stamp(opened) === before) return missing('was there before, and this attempt did not write it');
    if (opened.size > MAX_FILE_BYTES) return missing(`has more than ${MAX_FILE_BYTES} bytes`);
    const content = await contentOf(handle);
    if (stamp(await handle.stat({ bigint: true })) !== stamp(opened)) return missing('is still being written');
    return { type: 'written', written: { file, path, ...content } };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return missing(code === 'ENOENT' || code === 'ENOTDIR' ? 'was not written' : `cannot be read (${code})`);
  } finally {
    await handle?.close();
  }
}

const missing = (why: string): Looked => ({ type: 'missing', why });

export function isBelow(path: string, folder: string): boolean {
  const way = relative(folder, path);
  return way !== '' && way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

async function contentOf(handle: FileHandle): Promise<Omit<Written, 'file' | 'path'>> {
  const hash = createHash('sha256');
  const parts: Buffer[] = [];
  let bytes = 0;
  let lines = 0;
  let last = 10;
  for (;;) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(CHUNK), 0, CHUNK, null);
    if (bytesRead === 0) break;
    const part = buffer.subarray(0, bytesRead);
    hash.update(part);
    for (let at = part.indexOf(10); at !== -1; at = part.indexOf(10, at + 1)) lines += 1;
    last = part[bytesRead - 1] ?? 10;
    bytes += bytesRead;
    if (bytes <= MAX_TEXT_BYTES) parts.push(part);
  }
  const text = bytes <= MAX_TEXT_BYTES ? decoded(Buffer.concat(parts)) : null;
  return { bytes, lines: last === 10 ? lines : lines + 1, sha256: hash.digest('hex'), text };
}

function decoded(bytes: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return null;
  }
}
