import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ControlPaths, digest, makeDir } from '../record/index.ts';
import { type Decision, decide, noteOf, rejectUnread } from './decide.ts';
import { lookAt, maxCommandBytes, moveInto, namesIn, readSmall } from './files.ts';

/** An entry that was taken out of the folder, and what is to be done about it. */
export interface Taken {
  /** Its name in the folder. */
  name: string;
  /** Where it lies until it is answered; null for what was put aside. */
  path: string | null;
  bytes: number;
  decision: Exclude<Decision, { type: 'unfinished' }>;
}

interface Claimed {
  path: string;
  name: string;
  bytes: number;
  modifiedMs: number;
}

/** Read in one look; more wait for the next. */
const mostPerLook = 512;
/** Notes kept in `rejected/`; receipts say the same. */
const mostNotes = 200;
/** A file that is no JSON may still be being written, by somebody who did not stage it. */
export const unfinishedMs = 250;
const tooLarge = `it has more than ${maxCommandBytes} bytes`;
/** Nobody's commands yet: hidden names, `.tmp`, and write-file-atomic's temporaries of closed.json. */
const notYet = /^\.|\.tmp$|^closed\.json\.\d+$/;

/**
 * Takes commands out of a control folder. Each entry is claimed by a rename into `claimed/` before it is read, so that
 * it is read by one owner and nothing that is read can be changed behind it; what is no file goes to `rejected/`.
 */
export class Intake {
  readonly #dir: ControlPaths;
  readonly #ours: ReadonlySet<string>;
  #unfinished: Claimed[];
  #notes: number;
  #claims = 0;

  constructor(dir: ControlPaths) {
    this.#dir = dir;
    this.#ours = new Set([dir.claimed, dir.receipts, dir.rejected, dir.closed]);
    this.#notes = namesIn(dir.rejected).length;
    // Claimed by an owner that did not come to answer.
    this.#unfinished = namesIn(dir.claimed).map((label) => leftBehind(dir, label));
  }

  /** Entries that lie in the folder, in order of names. */
  waiting(): string[] {
    const { control } = this.#dir;
    return namesIn(control).filter((name) => !notYet.test(name) && !this.#ours.has(join(control, name)));
  }

  /** Files that were claimed and seemed unfinished: look again within `unfinishedMs`. */
  get unfinished(): number {
    return this.#unfinished.length;
  }

  /** Takes what lies there now, at most 512 entries. `last`: there is no later look, so nothing is left unfinished. */
  take({ last }: { last: boolean }): Taken[] {
    const again = this.#unfinished;
    this.#unfinished = [];
    const taken = again.flatMap((file) => this.#read(file, last) ?? []);
    for (const name of this.waiting().slice(0, mostPerLook)) taken.push(...(this.#claim(name, last) ?? []));
    return taken;
  }

  #claim(name: string, last: boolean): Taken[] | null {
    const from = join(this.#dir.control, name);
    const kind = lookAt(from);
    if (kind.type === 'gone') return null;
    this.#claims += 1;
    const label = `${Date.now().toString(36)}-${this.#claims}~${name}`;
    if (kind.type === 'file') {
      if (!moveInto(from, this.#dir.claimed, label)) return null;
      const file = { path: join(this.#dir.claimed, label), name, bytes: kind.bytes, modifiedMs: kind.modifiedMs };
      const taken = this.#read(file, last);
      return taken === null ? null : [taken];
    }
    // Put aside as it is: only its name is ours to judge.
    if (!moveInto(from, this.#dir.rejected, label)) return null;
    return [{ name, path: null, bytes: 0, decision: rejectUnread(name, 'not-a-file', `it is ${kind.what}`) }];
  }

  /** What a claimed file says; null when it has to be looked at again or is gone. */
  #read(file: Claimed, last: boolean): Taken | null {
    const { name, path, bytes } = file;
    const taken = (decision: Taken['decision']): Taken => ({ name, path, bytes, decision });
    if (bytes > maxCommandBytes) return taken(rejectUnread(name, 'too-large', tooLarge));
    const read = readSmall(path);
    switch (read.type) {
      case 'too-large':
        return taken(rejectUnread(name, 'too-large', tooLarge));
      case 'not-a-file':
        return taken(rejectUnread(name, 'not-a-file', 'it is not a file'));
      case 'unreadable':
        return read.code === 'ENOENT' ? null : taken(rejectUnread(name, 'invalid', `it cannot be read (${read.code})`));
      case 'ok': {
        const decision = decide(name, read.text);
        if (decision.type !== 'unfinished') return taken(decision);
        if (last || isOld(file)) return taken(unreadable(name, read.text));
        this.#unfinished.push(file);
        return null;
      }
    }
  }

  /** Keeps in `rejected/` what was wrong with a file, without what was in it. */
  note({ name, path, bytes, decision }: Taken, at: string): void {
    if (path === null || decision.type !== 'reject' || this.#notes >= mostNotes) return;
    this.#notes += 1;
    try {
      makeDir(this.#dir.rejected);
      const label = path.slice(this.#dir.claimed.length + 1);
      const note = JSON.stringify(noteOf(decision, name, bytes, at), null, 2);
      writeFileSync(join(this.#dir.rejected, label), `${note}\n`, { mode: 0o600 });
    } catch {
      // The receipt says it too.
    }
  }
}

function isOld({ modifiedMs }: Claimed): boolean {
  const age = Date.now() - modifiedMs;
  // A time to come is another clock's: no reason to wait. (File times are finer than ours, hence not 0.)
  return age < -unfinishedMs || age > unfinishedMs;
}

function unreadable(name: string, text: string): Taken['decision'] {
  return { ...rejectUnread(name, 'invalid', 'it is not a JSON object'), sha256: digest(text).sha256 };
}

function leftBehind(dir: ControlPaths, label: string): Claimed {
  const path = join(dir.claimed, label);
  const kind = lookAt(path);
  // Long finished, whatever its time says.
  return {
    path,
    name: label.slice(label.indexOf('~') + 1),
    bytes: kind.type === 'file' ? kind.bytes : 0,
    modifiedMs: 0,
  };
}
