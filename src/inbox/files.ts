import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { join } from 'node:path';
import { codeOf, makeDir } from '../record/index.ts';

/** Largest command file, in bytes. */
export const maxCommandBytes = 256 * 1024;

export type EntryKind =
  { type: 'file'; bytes: number; modifiedMs: number } | { type: 'other'; what: string } | { type: 'gone' };

/** What an entry of the control folder is. Links are not followed. */
export function lookAt(path: string): EntryKind {
  try {
    const stat = lstatSync(path);
    if (stat.isFile()) return { type: 'file', bytes: stat.size, modifiedMs: stat.mtimeMs };
    return {
      type: 'other',
      what: stat.isDirectory() ? 'a directory' : stat.isSymbolicLink() ? 'a link' : 'a special file',
    };
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return { type: 'gone' };
    return { type: 'other', what: `unreadable (${codeOf(error)})` };
  }
}

export type FileText =
  { type: 'ok'; text: string } | { type: 'too-large' } | { type: 'not-a-file' } | { type: 'unreadable'; code: string };

/** Reads a small file: no link is followed, no pipe waited for, no more than the bound is read. */
export function readSmall(path: string): FileText {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const code = codeOf(error);
    return code === 'ELOOP' ? { type: 'not-a-file' } : { type: 'unreadable', code };
  }
  try {
    if (!fstatSync(fd).isFile()) return { type: 'not-a-file' };
    const bytes = Buffer.allocUnsafe(maxCommandBytes + 1);
    let got = 0;
    for (let n = 1; n > 0 && got < bytes.length; got += n) n = readSync(fd, bytes, got, bytes.length - got, null);
    return got > maxCommandBytes ? { type: 'too-large' } : { type: 'ok', text: bytes.toString('utf8', 0, got) };
  } catch (error) {
    return { type: 'unreadable', code: codeOf(error) };
  } finally {
    closeSync(fd);
  }
}

/** Moves an entry into a folder, made if need be, and says whether that worked: somebody else may have been quicker. */
export function moveInto(from: string, folder: string, name: string): boolean {
  try {
    makeDir(folder);
    renameSync(from, join(folder, name));
    return true;
  } catch {
    return false;
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
