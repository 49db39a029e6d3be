import {
  type Dirent,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
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

/** A folder that may still have to be made, and from then on must stay the one it is: the child could put a link there. */
export interface Folder {
  readonly path: string;
  state(): 'here' | 'absent' | 'replaced';
  /** Makes it if need be; false when another thing lies there. */
  make(): boolean;
}

/** `inside`: the folder it is in, of which the same is asked. */
export function folderAt(path: string, inside?: Folder): Folder {
  let was: string | null = null;
  const state = (): 'here' | 'absent' | 'replaced' => {
    if (inside !== undefined && inside.state() !== 'here') return 'replaced';
    const is = identityOf(path);
    was ??= is === 'other' ? null : is;
    if (is === null) return was === null ? 'absent' : 'replaced';
    return is === was ? 'here' : 'replaced';
  };
  state();
  return {
    path,
    state,
    make() {
      if (state() !== 'absent') return state() === 'here';
      try {
        mkdirSync(path, { mode: 0o700 });
      } catch {
        return false;
      }
      return state() === 'here';
    },
  };
}

/** Null: nothing is there. */
function identityOf(path: string): string | null {
  try {
    const stat = lstatSync(path);
    return stat.isDirectory() ? `${stat.dev}:${stat.ino}` : 'other';
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
  if (!folder.make())
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
  const { entries, more } = entriesOf(folder);
  const names = entries.map(({ name }) => name).filter((name) => name.endsWith('.json') && !name.startsWith('.'));
  return { names: names.toSorted(), more };
}

function entriesOf(folder: Folder): { entries: Dirent[]; more: boolean } {
  const entries: Dirent[] = [];
  try {
    const dir = opendirSync(folder.path);
    try {
      while (entries.length < MAX_NAMES) {
        const entry = dir.readSync();
        if (entry === null) return { entries, more: false };
        entries.push(entry);
      }
      return { entries, more: dir.readSync() !== null };
    } finally {
      dir.closeSync();
    }
  } catch {
    return { entries, more: false };
  }
}

export function remove(path: string): void {
  try {
    rmSync(path, { force: true, recursive: true });
  } catch {
    // It goes with the attempt's folder at the latest.
  }
}

/**
 * Removes what lies in a folder, the first of very many, but the folders to keep. The folder stays: to remove one can
 * take longer than all the rest of an attempt's files.
 */
export function empty(folder: Folder, keep: readonly string[] = []): void {
  switch (folder.state()) {
    case 'absent':
      return;
    case 'replaced':
      remove(folder.path);
      return;
    case 'here':
      for (const { name } of entriesOf(folder).entries) if (!keep.includes(name)) remove(join(folder.path, name));
  }
}
