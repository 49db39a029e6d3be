import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  unlinkSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Owner, StepId } from '../../machines/protocol.ts';
import { checkRunId } from './names.ts';
import { activeDir, type AttemptPaths, type RunDir, runDir, runsDir } from './paths.ts';
import { readOwner } from './readers.ts';
import { codeOf, type Trouble, troubleOf, type Written, written } from './trouble.ts';

export type CreatedRun =
  | { type: 'ok'; dir: RunDir }
  | { type: 'exists'; dir: RunDir }
  | { type: 'refused'; reason: 'unsafe-id'; message: string }
  | Trouble;

/**
 * Makes the directory of a new run, exclusively, with its plan (flushed to disk) and its control folders.
 * Of two callers with one id exactly one gets `ok`. Directories are 0700 and files 0600 under any umask.
 * After `trouble` nothing of it is left, as far as it can be removed.
 */
export function createRunDir(root: string, id: string, plan: unknown): CreatedRun {
  const check = checkRunId(id);
  if (check.type === 'refused') return check;
  const dir = runDir(root, id);
  try {
    makeDir(runsDir(root));
  } catch (error) {
    return troubleOf(error);
  }
  try {
    mkdirSync(dir.path, { mode: 0o700 });
  } catch (error) {
    return codeOf(error) === 'EEXIST' ? { type: 'exists', dir } : troubleOf(error);
  }
  try {
    for (const path of [dir.control, dir.controlTemp, dir.claimed, dir.receipts, dir.rejected, dir.owners])
      makeDir(path);
    writeNew(dir.plan, plan);
    return { type: 'ok', dir };
  } catch (error) {
    rmSync(dir.path, { recursive: true, force: true });
    return troubleOf(error);
  }
}

/** Makes a folder of the record (0700) and its parents; one that is there is fine. */
export function makeDir(path: string): void {
  mkdirSync(path, { recursive: true, mode: 0o700 });
}

/**
 * Keeps what is appended to a plan, as `plan/<n>.json`, flushed to disk, before anybody acts on it. Only for the owner of
 * the run: the numbers are its to give.
 */
export function addPlanPart(dir: RunDir, part: unknown): { type: 'ok'; n: number; path: string } | Trouble {
  try {
    makeDir(dir.planParts);
    const numbers = namesIn(dir.planParts).map((name) => Number(/^(\d+)\.json$/.exec(name)?.[1] ?? 0));
    const n = Math.max(0, ...numbers) + 1;
    const path = join(dir.planParts, `${n}.json`);
    const draft = `${path}.tmp`;
    rmSync(draft, { force: true });
    writeNew(draft, part);
    renameSync(draft, path);
    syncDir(dir.planParts);
    return { type: 'ok', n, path };
  } catch (error) {
    return troubleOf(error);
  }
}

/** Takes back what was not appended after all. */
export function removePlanPart(dir: RunDir, n: number): void {
  rmSync(join(dir.planParts, `${n}.json`), { force: true });
}

/** Makes the folder of an attempt. */
export function createAttemptDir(dir: RunDir, step: StepId, n: number): { type: 'ok'; paths: AttemptPaths } | Trouble {
  const paths = dir.attempt(step, n);
  try {
    makeWithParent(paths.path);
    return { type: 'ok', paths };
  } catch (error) {
    return troubleOf(error);
  }
}

/** For a folder in one that may have to be made as well. `recursive` would begin at the wrong end, and fail first. */
function makeWithParent(path: string): void {
  makeOne(dirname(path));
  makeOne(path);
}

function makeOne(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch {
    // It is there, or more than this is missing, or this says why it cannot be made.
    makeDir(path);
  }
}

export type Claim =
  | { type: 'ok' }
  /** Somebody else owns this epoch; null when the record cannot be read. */
  | { type: 'taken'; owner: Owner | null }
  | Trouble;

/**
 * Claims an epoch of a run: `owner/<epoch>.json` is made once, whole, and flushed to disk.
 * Nobody ever sees a half-written owner where the file system has hard links.
 */
export function claimOwner(dir: RunDir, epoch: number, owner: Owner): Claim {
  const path = dir.owner(epoch);
  try {
    makeDir(dir.owners);
    // The draft not in owner/: what lies there is owners.
    if (!placeNew(path, join(dir.path, `owner-${epoch}.${process.pid}.tmp`), owner)) {
      return { type: 'taken', owner: readOwner(dir, epoch) };
    }
    syncDir(dir.owners);
    return { type: 'ok' };
  } catch (error) {
    return troubleOf(error);
  }
}

/**
 * Makes a record (0600) that must not be there yet, whole and flushed to disk; false: it is there, and stays. Of any number
 * of processes that make it at once, one gets true. Throws when it can be made by nobody.
 */
export function placeNew(path: string, draft: string, json: unknown): boolean {
  try {
    rmSync(draft, { force: true });
    writeNew(draft, json);
    try {
      linkSync(draft, path);
    } catch (error) {
      if (codeOf(error) === 'EEXIST' || codeOf(error) === 'ENOENT') throw error;
      // No hard links here: still exclusive, though a reader may come between the making and the writing.
      writeNew(path, json);
    }
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Lists the run as one that may have something running. */
export function addActive(dir: RunDir): Written {
  try {
    makeDir(activeDir(dir.root));
    writeFileSync(dir.activeMarker, '', { mode: 0o600 });
    return written;
  } catch (error) {
    return troubleOf(error);
  }
}

/** Takes the marker away. Only for whoever holds the proof that nothing runs. One that is gone already is fine. */
export function removeActive(dir: RunDir): Written {
  try {
    unlinkSync(dir.activeMarker);
  } catch (error) {
    if (codeOf(error) !== 'ENOENT') return troubleOf(error);
  }
  return written;
}

/** Names beside a record that a writer which was killed has left: `<file>.<digits>`, as write-file-atomic calls them. */
const staleTemporary = /^(?:status|result|proof|report)\.(?:json|md)\.\d+$/;

/** Removes temporaries of dead writers. Only for the owner of the run, before it writes. */
export function removeStaleTemporaries(dir: RunDir): number {
  let removed = 0;
  for (const name of namesIn(dir.path)) {
    if (!staleTemporary.test(name)) continue;
    rmSync(join(dir.path, name), { force: true });
    removed += 1;
  }
  return removed;
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path);
  } catch {
    return [];
  }
}

function writeNew(path: string, json: unknown): void {
  const data = Buffer.from(`${JSON.stringify(json, null, 2)}\n`);
  const fd = openSync(path, 'wx', 0o600);
  try {
    // A short write is no error to the system: on a full disk the next one is.
    for (let at = 0; at < data.length;) at += writeSync(fd, data, at, data.length - at);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  syncDir(dirname(path));
}

/** Flushes a directory, so that a name made in it outlives a power cut. Not everywhere possible, hence no result. */
export function syncDir(path: string): void {
  try {
    const fd = openSync(path, 'r');
    try {
      fsyncSync(fd);
    } finally {
      closeSync(fd);
    }
  } catch {
    // Windows cannot open directories; some file systems cannot flush them.
  }
}
