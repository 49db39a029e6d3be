import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  opendirSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { z } from 'zod';
import { type Written, codeOf, troubleOf } from '../record/index.ts';

/** Names in a folder that are looked at, at most. */
export const MAX_NAMES = 256;

/** A folder that must stay the one it was: the child could put a link in its place. */
export interface Folder {
  readonly path: string;
  /** It is still there, and no other. */
  intact(): boolean;
}

export function rememberFolder(path: string): Folder {
  const was = identityOf(path);
  return { path, intact: () => was !== null && identityOf(path) === was };
}

function identityOf(path: string): string | null {
  try {
    const stat = lstatSync(path);
    return stat.isDirectory() ? `${stat.dev}:${stat.ino}` : null;
  } catch {
    return null;
  }
}

/** What tells one content of a file from the next; null when there is none. */
export function signatureOf(path: string): string | null {
  try {
    const { ino, size, mtimeMs } = lstatSync(path);
    return `${ino}:${size}:${mtimeMs}`;
  } catch {
    return null;
  }
}

export type Read<T> = { type: 'ok'; value: T } | { type: 'missing' } | { type: 'bad'; reason: string };

/** Reads a small file of the child: no link is followed, no pipe waited for, no more than the bound is read. */
export function readSmall<T>(path: string, schema: z.ZodType<T>, maxBytes: number): Read<T> {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const code = codeOf(error);
    return code === 'ENOENT' ? { type: 'missing' } : bad(code === 'ELOOP' ? 'a link' : `unreadable (${code})`);
  }
  try {
    if (!fstatSync(fd).isFile()) return bad('not a file');
    const bytes = Buffer.allocUnsafe(maxBytes + 1);
    let got = 0;
    for (let n = 1; n > 0 && got < bytes.length; got += n) n = readSync(fd, bytes, got, bytes.length - got, null);
    return got > maxBytes ? bad(`over ${maxBytes} bytes`) : parse(bytes.toString('utf8', 0, got), schema);
  } catch (error) {
    return bad(`unreadable (${codeOf(error)})`);
  } finally {
    closeSync(fd);
  }
}

function parse<T>(text: string, schema: z.ZodType<T>): Read<T> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    return bad('not JSON');
  }
  const parsed = schema.safeParse(json);
  if (parsed.success) return { type: 'ok', value: parsed.data };
  // The place of the fault and its kind, without what stood there.
  const [issue] = parsed.error.issues;
  return bad(`"${issue?.path.join('.') ?? ''}" is wrong (${issue?.code ?? 'unknown'})`);
}

const bad = (reason: string): { type: 'bad'; reason: string } => ({ type: 'bad', reason });

/** Puts a file (0600) into a folder in one step: a reader sees all of it or nothing. */
export function writeInto(folder: Folder, name: string, json: unknown): Written {
  if (!folder.intact())
    return { type: 'trouble', code: 'folder-replaced', message: `${folder.path} is not ours any more` };
  // A name that starts with a dot is nobody's message.
  const temporary = join(folder.path, `.${name}`);
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants;
  try {
    rmSync(temporary, { force: true });
    const fd = openSync(temporary, O_WRONLY | O_CREAT | O_EXCL | (O_NOFOLLOW ?? 0), 0o600);
    try {
      const bytes = Buffer.from(`${JSON.stringify(json)}\n`);
      for (let at = 0; at < bytes.length;) at += writeSync(fd, bytes, at);
    } finally {
      closeSync(fd);
    }
    renameSync(temporary, join(folder.path, name));
    return { type: 'ok' };
  } catch (error) {
    remove(temporary);
    return troubleOf(error);
  }
}

/** Names that end with `.json`, sorted, the first of many; `more`: there are others. */
export function namesIn(folder: Folder): { names: string[]; more: boolean } {
  const names: string[] = [];
  if (!folder.intact()) return { names, more: false };
  try {
    const dir = opendirSync(folder.path);
    try {
      for (let seen = 0; seen < MAX_NAMES; seen += 1) {
        const entry = dir.readSync();
        if (entry === null) return { names: names.toSorted(), more: false };
        if (entry.name.endsWith('.json') && !entry.name.startsWith('.')) names.push(entry.name);
      }
      return { names: names.toSorted(), more: dir.readSync() !== null };
    } finally {
      dir.closeSync();
    }
  } catch {
    return { names: names.toSorted(), more: false };
  }
}

export function remove(path: string): void {
  try {
    rmSync(path, { force: true, recursive: true });
  } catch {
    // It goes with the attempt's folder at the latest.
  }
}
