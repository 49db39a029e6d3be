import { open, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import writeFileAtomic from 'write-file-atomic';
import { syncDir } from './create.ts';
import { codeOf, troubleOf, type Written, written } from './trouble.ts';

/** Puts a text in a file's place; rejects as `fs` does. Injected by tests. */
export type Replace = (path: string, text: string, options: { durable: boolean }) => Promise<void>;

export interface WriteOptions {
  /** @default replaceFile */
  replace?: Replace;
  /** Pauses before the tries that follow a first one. @default 10, 20, 50, 100, 200, 400 ms */
  ladderMs?: readonly number[];
}

/** On Windows a rename fails for a moment while somebody reads the old file or a scanner the new one. */
const passing = new Set(['EPERM', 'EBUSY', 'EACCES']);
const ladder = [10, 20, 50, 100, 200, 400];

/**
 * Replaces a file atomically (0600): readers see the old text or the new, never less. Tries again, for 0.8 s in all,
 * what tends to pass (EPERM, EBUSY, EACCES). Not flushed to disk: after a power cut the old text may be back.
 */
export function writeText(path: string, text: string, options: WriteOptions = {}): Promise<Written> {
  return write(path, text, false, options);
}

/** As `writeText`, and flushed to disk, name included, when it says `ok`. */
export function writeDurableText(path: string, text: string, options: WriteOptions = {}): Promise<Written> {
  return write(path, text, true, options);
}

/** As `writeDurable`, without its name: for several files of one folder, which `syncFolder` makes durable together. */
export function writeFlushed(path: string, json: unknown): Promise<Written> {
  return write(path, textOf(json), true, { replace: replaceFlushed });
}

/** Flushes the names in a folder to disk, without holding up the loop. Not everywhere possible, hence no result. */
export async function syncFolder(path: string): Promise<void> {
  try {
    const folder = await open(path, 'r');
    try {
      await folder.sync();
    } finally {
      await folder.close();
    }
  } catch {
    // Windows cannot open directories; some file systems cannot flush them.
  }
}

/** Writes a record that has to be there after a power cut: result, receipts. */
export function writeDurable(path: string, json: unknown, options: WriteOptions = {}): Promise<Written> {
  return write(path, textOf(json), true, options);
}

/** Writes a record that can be made again from others. */
export function writeJson(path: string, json: unknown, options: WriteOptions = {}): Promise<Written> {
  return write(path, textOf(json), false, options);
}

const textOf = (json: unknown): string => `${JSON.stringify(json, null, 2)}\n`;

async function write(path: string, text: string, durable: boolean, options: WriteOptions): Promise<Written> {
  const { replace = replaceFile, ladderMs = ladder } = options;
  for (const wait of [...ladderMs, null]) {
    try {
      await replace(path, text, { durable });
      return written;
    } catch (error) {
      if (wait === null || !passing.has(codeOf(error))) return troubleOf(error);
      await pause(wait);
    }
  }
  return written;
}

/**
 * write-file-atomic does not look at how much was written: on a full disk it puts half a file in the good one's place.
 * So the text is written here, whole or not at all, into the temporary file it has made; it adds nothing, flushes and renames.
 */
const replaceFlushed: Replace = async (path, text, { durable }) => {
  // It awaits what this returns, though its types do not say so.
  const fill = (temporary: string): unknown => writeFile(temporary, text);
  await writeFileAtomic(path, '', { mode: 0o600, fsync: durable, tmpfileCreated: fill });
};

const replaceFile: Replace = async (path, text, options) => {
  await replaceFlushed(path, text, options);
  if (options.durable) syncDir(dirname(path));
};
