import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import { type ControlPaths, safeId } from '../record/light.ts';
import { UNFINISHED } from '../../machines/policy/defaults.ts';
import { manyEntries, mostBatchBytes, mostNotes, mostPerBatch } from './bounds.ts';
import { type Before, type Decide, type Decision, type Found, type World, kinds, noteOf } from './decision.ts';
import {
  entriesIn,
  kindOf,
  makeFolder,
  mayBeStop,
  moveInto,
  namesIn,
  readSmall,
  setAside,
  unnameableIn,
  within,
} from './files.ts';

/** An entry that was taken out of the folder, and what is to be done about it. */
export interface Taken {
  /** Its name in the folder. */
  name: string;
  /** Where it lies until it is answered; null for what was put aside. */
  path: string | null;
  bytes: number;
  decision: Exclude<Decision, { type: 'unfinished' }>;
}

/** A file that is ours to read: nobody else finds it any more. */
interface Claimed {
  path: string;
  name: string;
  /** When it was claimed; null: by an owner before us. */
  sinceMs: number | null;
}

/** How long a file that cannot be read for a passing reason is tried again. */
const unreadableMs = 10_000;
/** Nobody's commands yet: hidden names, `.tmp`, and write-file-atomic's temporaries of closed.json. */
const notYet = /^\.|\.tmp$|^closed\.json\.\d+$/;
/** What a label adds to a name has to fit into a file name with it. */
const mostNameBytes = 200;

/**
 * Takes commands out of a control folder, batch by batch. Each entry is claimed by a rename into `claimed/` before it is
 * read, so that it is read by one owner and nothing that is read can be changed behind it; what is no file goes to
 * `rejected/`.
 */
export class Intake {
  readonly #dir: ControlPaths;
  readonly #decide: Decide;
  readonly #most: number;
  readonly #ours: ReadonlySet<string>;
  /** Tells our claims from those of owners before us. */
  readonly #mark = `${Date.now().toString(36)}${randomBytes(2).toString('hex')}`;
  /** How what was listed is read, and how far that is. */
  #listed: (() => Taken | null)[] = [];
  #next = 0;
  #unfinished: Claimed[];
  /** Read and not acted on yet, and what their ids mean. */
  #stops: Taken[] = [];
  #batch: Taken[] = [];
  #batchBytes = 0;
  readonly #ids = new Map<string, Before>();
  #notes: number;
  #claims = 0;

  /** `most`: entries of a batch. */
  constructor(dir: ControlPaths, decide: Decide, most = mostPerBatch) {
    this.#dir = dir;
    this.#decide = decide;
    this.#most = most;
    this.#ours = new Set([dir.claimed, dir.receipts, dir.rejected, dir.closed].map((path) => basename(path)));
    this.#notes = namesIn(dir.rejected).length;
    this.#unfinished = namesIn(dir.claimed).map((label) => ({
      path: within(dir.claimed, label),
      name: label.slice(label.indexOf('~') + 1),
      sinceMs: null,
    }));
  }

  /** Some files have to be looked at again: not finished yet, or not readable at this moment. */
  get unfinished(): boolean {
    return this.#unfinished.length > 0;
  }

  /** Whether something lies in the folder that this one has not taken. */
  get waiting(): boolean {
    return this.#entries().length > 0;
  }

  /**
   * Reads until the batch is whole or the time is over, and says which. `last`: there is no later look, so nothing is
   * left unfinished.
   */
  read({ last, untilMs, before }: { last: boolean; untilMs: number; before: World['before'] }): 'whole' | 'more' {
    const known = (id: string): Before | null => this.#ids.get(id) ?? before(id);
    if (this.#next >= this.#listed.length) this.#list(last, known);
    while (this.#next < this.#listed.length && this.#batchBytes <= mostBatchBytes) {
      if (performance.now() >= untilMs) return 'more';
      const taken = this.#listed[this.#next]?.() ?? null;
      this.#next += 1;
      if (taken === null) continue;
      const { decision } = taken;
      const isStop = decision.type === 'deliver' && decision.command.type === 'stop';
      (isStop ? this.#stops : this.#batch).push(taken);
      this.#batchBytes += taken.bytes;
      if (decision.type === 'deliver' || decision.type === 'reject') {
        this.#ids.set(decision.id, { sha256: decision.sha256 });
      }
    }
    // What did not fit into this batch still lies there.
    this.#listed = [];
    return 'whole';
  }

  /** The stops that have been read: they are acted on without waiting for the rest. */
  stops(): Taken[] {
    const stops = this.#stops;
    this.#stops = [];
    return stops;
  }

  /** The batch, in the order in which it is to be acted on. */
  rest(): Taken[] {
    const batch = this.#batch;
    this.#batch = [];
    this.#batchBytes = 0;
    this.#ids.clear();
    return batch.toSorted((a, b) => rank(a) - rank(b));
  }

  #list(last: boolean, known: World['before']): void {
    const again = this.#unfinished.slice(0, this.#most);
    this.#unfinished = this.#unfinished.slice(this.#most);
    const entries = this.#entries().slice(0, this.#most - again.length);
    const odd = entries.some(({ name }) => name.includes('\u{FFFD}')) ? unnameableIn(this.#dir.control) : [];
    this.#next = 0;
    const claims = entries.map((entry) => () => this.#claim(entry.name, kindOf(entry), last, known));
    this.#listed = [
      ...again.map((file) => () => this.#read(file, last, known)),
      ...(entries.length < manyEntries
        ? []
        : entries.map(
            ({ name }, at) =>
              () =>
                this.#ifStop(name, claims[at]),
          )),
      ...claims,
      ...odd.map(
        ({ path, entry }) =>
          () =>
            this.#setAside(path, entry.name.toString('hex').slice(0, 40), 'an entry whose name is not UTF-8', known),
      ),
    ];
  }

  /** In a flood the stops come first; what this misses is found in its turn. */
  #ifStop(name: string, claim: (() => Taken | null) | undefined): Taken | null {
    return mayBeStop(within(this.#dir.control, name)) ? (claim?.() ?? null) : null;
  }

  #entries(): ReturnType<typeof entriesIn> {
    return entriesIn(this.#dir.control).filter(({ name }) => !notYet.test(name) && !this.#ours.has(name));
  }

  #claim(name: string, kind: ReturnType<typeof kindOf>, last: boolean, known: World['before']): Taken | null {
    const from = within(this.#dir.control, name);
    if (kind !== 'file') return this.#setAside(from, name, kind.other, known);
    const label = this.#label(name);
    if (!moveInto(from, this.#dir.claimed, label)) return null;
    return this.#read({ path: within(this.#dir.claimed, label), name, sinceMs: Date.now() }, last, known);
  }

  /** Puts aside as it is what is no file: only its name is ours to judge. */
  #setAside(from: string | Buffer, name: string, what: string, before: World['before']): Taken | null {
    if (!setAside(from, this.#dir.rejected, this.#label(name))) return null;
    return this.#judge({ name, path: null, bytes: 0 }, { type: 'not-a-file', what }, before);
  }

  /** What a claimed file says; null when it has to be looked at again, or is gone. */
  #read(file: Claimed, last: boolean, before: World['before']): Taken | null {
    const { name, path, sinceMs } = file;
    const read = readSmall(path);
    switch (read.type) {
      case 'gone':
        return null;
      case 'not-a-file':
        return this.#setAside(path, name, read.what, before);
      case 'too-large':
        return this.#judge({ name, path, bytes: 0 }, read, before);
      case 'unreadable':
        if (read.passing && !last && Date.now() - (sinceMs ?? Date.now()) < unreadableMs) {
          this.#unfinished.push({ ...file, sinceMs: sinceMs ?? Date.now() });
          return null;
        }
        // Nobody has read it: it is not thrown away.
        setAside(path, this.#dir.rejected, basename(path));
        return this.#judge({ name, path: null, bytes: 0 }, read, before);
      case 'ok': {
        const { text, modifiedMs } = read;
        const settled = last || sinceMs === null || isOld(modifiedMs);
        const taken = this.#judge({ name, path, bytes: text.length }, { type: 'text', text, settled }, before);
        if (taken === null) this.#unfinished.push(file);
        return taken;
      }
    }
  }

  #judge(file: Omit<Taken, 'decision'>, found: Found, before: World['before']): Taken | null {
    const decision = this.#decide({ name: file.name, found }, { nowMs: Date.now(), before });
    return decision.type === 'unfinished' ? null : { ...file, decision };
  }

  /** Keeps in `rejected/` what was wrong with a file, without what was in it. */
  note({ name, path, bytes, decision }: Taken, at: string): void {
    if (path === null || decision.type !== 'reject' || this.#notes >= mostNotes) return;
    this.#notes += 1;
    makeFolder(this.#dir.rejected);
    try {
      const note = JSON.stringify(noteOf(decision, name, bytes, at), null, 2);
      writeFileSync(within(this.#dir.rejected, basename(path)), `${note}\n`, { mode: 0o600, flag: 'wx' });
    } catch {
      // The receipt says it too.
    }
  }

  /** A name of its own for what is taken, that still tells its name before. */
  #label(name: string): string {
    this.#claims += 1;
    const short = Buffer.byteLength(name) <= mostNameBytes ? name : `${safeId(name.replace(/\.json$/i, ''))}.json`;
    return `${this.#mark}-${this.#claims}~${short}`;
  }
}

/** Deliveries by kind, then what is answered here; the sort keeps the names in order. */
function rank({ decision }: Taken): number {
  return decision.type === 'deliver' ? kinds.indexOf(decision.command.type) : kinds.length;
}

function isOld(modifiedMs: number): boolean {
  const age = Date.now() - modifiedMs;
  // A time to come is another clock's: no reason to wait. (File times are finer than ours, hence not 0.)
  return age < -UNFINISHED || age > UNFINISHED;
}
