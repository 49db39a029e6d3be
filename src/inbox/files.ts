import {
  type Dirent,
  chmodSync,
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { sep } from 'node:path';
import { codeOf } from '../record/light.ts';
import { maxCommandBytes } from './bounds.ts';

/** What an entry is that is no file; links are not followed. */
export function kindOf(entry: Dirent | Dirent<Buffer>): 'file' | { other: string } {
  if (entry.isFile()) return 'file';
  return { other: entry.isDirectory() ? 'a directory' : entry.isSymbolicLink() ? 'a link' : 'a special file' };
}

export type FileText =
  | { type: 'ok'; text: string; modifiedMs: number }
  | { type: 'too-large'; bytes: number }
  | { type: 'not-a-file'; what: string }
  /** Nobody can say anything about it now; `passing`: later perhaps. */
  | { type: 'unreadable'; code: string; passing: boolean }
  | { type: 'gone' };

const passing = new Set(['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EINTR', 'EBUSY', 'EIO']);
const unreadable = (code: string): FileText => ({ type: 'unreadable', code, passing: passing.has(code) });

/** The path of a name in a folder. Ten thousand times `join` is a tenth of a second. */
export function within(folder: string, name: string): string {
  return `${folder}${sep}${name}`;
}

/** Follows no link and waits for no pipe. */
const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);

/** One buffer for all: it is read and turned into text without a pause. */
const room = Buffer.allocUnsafe(maxCommandBytes + 1);

/** Reads a small file: no link is followed, no pipe waited for, no more than the bound is read. */
export function readSmall(path: string): FileText {
  let fd: number;
  try {
    fd = openSync(path, flags);
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT') return { type: 'gone' };
    return code === 'ELOOP' ? { type: 'not-a-file', what: 'a link' } : unreadable(code);
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) return { type: 'not-a-file', what: stat.isDirectory() ? 'a directory' : 'a special file' };
    if (stat.size > maxCommandBytes) return { type: 'too-large', bytes: stat.size };
    let got = 0;
    for (let n = 1; n > 0 && got < stat.size; got += n) n = readSync(fd, room, got, room.length - got, null);
    if (got > maxCommandBytes) return { type: 'too-large', bytes: got };
    return { type: 'ok', text: room.toString('utf8', 0, got), modifiedMs: stat.mtimeMs };
  } catch (error) {
    return unreadable(codeOf(error));
  } finally {
    closeSync(fd);
  }
}

/** A stop is short, and says so early. */
const peekBytes = 1024;

/** Whether a file may be a stop, by a glance at its beginning; nothing more is concluded from it. */
export function mayBeStop(path: string): boolean {
  try {
    const fd = openSync(path, flags);
    try {
      return room.subarray(0, readSync(fd, room, 0, peekBytes, null)).includes('"stop"');
    } finally {
      closeSync(fd);
    }
  } catch {
    return false;
  }
}

/** Moves an entry into a folder, made if need be, and says whether that worked: somebody else may have been quicker. */
export function moveInto(from: string | Buffer, folder: string, name: string): boolean {
  const to = within(folder, name);
  try {
    renameSync(from, to);
    return true;
  } catch {
    if (!isThere(from)) return false;
  }
  makeFolder(folder);
  try {
    renameSync(from, to);
    return true;
  } catch {
    return false;
  }
}

/**
 * Puts an entry aside as it is, and nobody else's to read: it is not opened, a link is not followed, and what is in a
 * folder is left alone behind its door.
 */
export function setAside(from: string | Buffer, folder: string, name: string): boolean {
  if (!moveInto(from, folder, name)) return false;
  const path = within(folder, name);
  try {
    const stat = lstatSync(path);
    // A link has no mode of its own: what would be changed is what it points to.
    if (!stat.isSymbolicLink()) chmodSync(path, stat.isDirectory() ? 0o700 : 0o600);
  } catch {
    // Somebody else's, or gone: the folder it lies in is closed all the same.
  }
  return true;
}

/** Makes a folder of ours where its own folder is there. That one is not ours to make: it may be about to come back. */
export function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch {
    // It is there already, or what is done next says what is wrong.
  }
}

/** Whether something lies there, of whatever kind. */
function isThere(path: string | Buffer): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** Entries of a folder in order of their names; none where there is no folder. */
export function entriesIn(folder: string): Dirent[] {
  try {
    return readdirSync(folder, { withFileTypes: true }).toSorted((a, b) => (a.name < b.name ? -1 : 1));
  } catch {
    return [];
  }
}

/** Paths of entries whose names are no UTF-8: under the names that Node gives them they are not found. */
export function unnameableIn(folder: string): { path: Buffer; entry: Dirent<Buffer> }[] {
  try {
    return readdirSync(folder, { withFileTypes: true, encoding: 'buffer' })
      .filter((entry) => !Buffer.from(entry.name.toString('utf8')).equals(entry.name))
      .map((entry) => ({ path: Buffer.concat([Buffer.from(`${folder}/`), entry.name]), entry }));
  } catch {
    return [];
  }
}

/** Sorted names in a folder; none where there is no folder. */
export function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    return [];
  }
}

export function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Left where it is: its receipt tells the next owner that it is done with.
  }
}
