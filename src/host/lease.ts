import { createHash, randomUUID } from 'node:crypto';
import { readdirSync, rmdirSync, unlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Trouble, codeOf, leasesDir, makeDir, placeNew, readRecord, troubleOf } from '../record/index.ts';
import { type LeaseRecord, leaseSchema } from './lease-record.ts';
import { realPathOf } from './real-path.ts';
import { standingOf } from './standing.ts';

/** What was found in the place of a lease: a record, or null for one that cannot be read. */
interface Found {
  n: number;
  path: string;
  record: LeaseRecord | null;
}

/** Who has the session. `gone` never: then it is taken. `unreadable`: nobody can tell. */
export interface Holder {
  why: 'alive' | 'elsewhere' | 'unproven' | 'unreadable';
  /** Where its lease lies. */
  path: string;
  record: LeaseRecord | null;
}

export interface Lease {
  readonly record: LeaseRecord;
  /** Those whose runners had died: what was theirs is ours now. */
  readonly tookOver: readonly LeaseRecord[];
  /** Once its attempt's tree is proven gone. */
  release(): void;
}

export type Taken = { type: 'ok'; lease: Lease } | { type: 'busy'; holder: Holder } | Trouble;

export interface TakeOptions {
  /** The state root. */
  root: string;
  /** What will be on record; `session` by any of its names. */
  record: LeaseRecord;
  /** Whether nothing is left of an attempt whose runner has died. */
  isGone: (record: LeaseRecord) => Promise<boolean>;
}

/** Contenders that get in each other's way begin again, so often and after a wait that differs. */
const ROUNDS = 8;

/**
 * Takes a session for one attempt. Of any number of processes that want it, at most one has it.
 *
 * A lease is a file that is made exclusively, under the number after those that are there. A lease counts for as long as
 * its runner lives; after that, until nothing is left of the attempt. It is judged first and claimed then, and who has
 * claimed looks again: when anything is there that was not judged, the claim is taken back. So the later one of two
 * always sees the other.
 */
export async function takeLease({ root, record, isGone }: TakeOptions): Promise<Taken> {
  try {
    const session = realPathOf(record.session);
    const mine: LeaseRecord = { ...record, session };
    const folder = join(leasesDir(root), keyOf(session));
    for (let round = 1; ; round += 1) {
      const there = leasesIn(folder);
      const holder = await holderAmong(there, isGone);
      if (holder !== null) return { type: 'busy', holder };
      const claimed = claim(folder, there, mine);
      if (claimed !== null) return { type: 'ok', lease: claimed };
      if (round === ROUNDS) break;
      await pause(Math.random() * 2 ** round);
    }
    return { type: 'trouble', code: 'contended', message: `too many want the session ${session} at once` };
  } catch (error) {
    return troubleOf(error);
  }
}

/** Windows does not tell upper from lower case. */
function keyOf(session: string): string {
  const name = process.platform === 'win32' ? session.toLowerCase() : session;
  return createHash('sha256').update(name).digest('hex').slice(0, 32);
}

function leasesIn(folder: string): Found[] {
  return namesIn(folder)
    .flatMap((name) => {
      const n = Number(/^(\d{1,9})\.json$/.exec(name)?.[1] ?? 0);
      return n === 0 ? [] : [n];
    })
    .toSorted((a, b) => a - b)
    .flatMap((n) => {
      const path = join(folder, `${n}.json`);
      const reading = readRecord<LeaseRecord>(path, faultOf);
      // It was released since.
      if (reading.type === 'missing') return [];
      return [{ n, path, record: reading.type === 'ok' ? reading.value : null }];
    });
}

function faultOf(json: object): string | null {
  const issue = leaseSchema.safeParse(json).error?.issues[0];
  return issue === undefined ? null : `'${issue.path.join('.')}' is wrong`;
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return [];
    throw error;
  }
}

/** The first that still counts; null when none does. */
async function holderAmong(there: readonly Found[], isGone: TakeOptions['isGone']): Promise<Holder | null> {
  for (const { path, record } of there) {
    if (record === null) return { why: 'unreadable', path, record };
    const standing = standingOf(record.owner);
    if (standing === 'alive' || standing === 'elsewhere') return { why: standing, path, record };
    if (standing === 'dead' && !(await isGone(record))) return { why: 'unproven', path, record };
  }
  return null;
}

/** Null: somebody came in between. */
function claim(folder: string, judged: readonly Found[], record: LeaseRecord): Lease | null {
  const path = join(folder, `${(judged.at(-1)?.n ?? 0) + 1}.json`);
  if (!place(path, record)) return null;
  const known = new Set(judged.map((one) => `${one.n} ${one.record?.token ?? ''}`));
  const strange = leasesIn(folder).filter((one) => one.path !== path && !known.has(`${one.n} ${one.record?.token}`));
  if (strange.length > 0) {
    remove(folder, path);
    return null;
  }
  for (const { path: old } of judged) remove(folder, old);
  const tookOver = judged.flatMap((one) => (one.record === null ? [] : [one.record]));
  return { record, tookOver, release: () => giveBack(path, record) };
}

function place(path: string, record: LeaseRecord): boolean {
  const folder = dirname(path);
  try {
    makeDir(folder);
    // Not in that folder, which is removed when it is empty.
    return placeNew(path, join(dirname(folder), `.${randomUUID()}.tmp`), record);
  } catch (error) {
    // Whoever had the last lease in it has just removed it.
    if (codeOf(error) === 'ENOENT') return false;
    throw error;
  }
}

/**
 * Not what is another's by now: whoever believed us dead has taken it over. Never fails: what cannot be looked at stays, and
 * is taken over when this process has ended.
 */
function giveBack(path: string, { token }: LeaseRecord): void {
  const folder = dirname(path);
  let there: Found[];
  try {
    there = leasesIn(folder);
  } catch {
    return;
  }
  if (there.some((one) => one.path === path && one.record?.token !== token)) return;
  remove(folder, path);
}

/** The folder goes with the last lease in it. */
function remove(folder: string, path: string): void {
  try {
    unlinkSync(path);
    rmdirSync(folder);
  } catch {
    // Another lies there; or it stays, and is taken over when this process has ended.
  }
}
