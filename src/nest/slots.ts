import { existsSync, linkSync, mkdirSync, readdirSync, unlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ulid } from 'ulid';
import {
  type NestSlot,
  type RunDir,
  type Trouble,
  codeOf,
  nestSlotSchema,
  runDir,
  troubleOf,
} from '../record/index.ts';
import { readJson } from './read.ts';

const SLOT_BYTES = 4096;

export type Taken =
  /** `giveBack` is for a start that came to nothing. */
  { type: 'ok'; n: number; giveBack: () => void } | { type: 'full' } | Trouble;

/**
 * Takes one of the `total` slots of a nest for a run. Slots are files that are made exclusively, so that no two
 * processes get one, however many ask at once. What holds a slot is there as a whole or not at all.
 */
export function takeSlot(top: RunDir, total: number, slot: NestSlot): Taken {
  const text = `${JSON.stringify(slot)}\n`;
  const draft = join(top.nest, `${ulid()}.tmp`);
  try {
    makeFolder(top.nest);
    const names = new Set(readdirSync(top.nest));
    for (let n = 1; n <= total; n += 1) {
      if (names.has(`${n}.json`)) continue;
      const path = top.slot(n);
      if (place(draft, path, text)) return { type: 'ok', n, giveBack: () => remove(path) };
    }
    return { type: 'full' };
  } catch (error) {
    return troubleOf(error);
  } finally {
    remove(draft);
  }
}

/** False: somebody was faster. */
function place(draft: string, path: string, text: string): boolean {
  if (!existsSync(draft)) writeFileSync(draft, text, { flag: 'wx', mode: 0o600 });
  try {
    linkSync(draft, path);
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
  }
  try {
    // No hard links here: still exclusive, though a reader may come between the making and the writing.
    writeFileSync(path, text, { flag: 'wx', mode: 0o600 });
    return true;
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false;
    throw error;
  }
}

/** Not with its parents: the directory of a run that was removed does not come back. */
function makeFolder(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

function remove(path: string): void {
  try {
    unlinkSync(path);
  } catch {
    // It is not there, or stays: a slot too few is the safe side.
  }
}

/** The slots of a nest that are taken, in order. What is no slot is passed over. */
export function readSlots(top: RunDir): NestSlot[] {
  return new SlotReader(top).read();
}

/** Reads the slots of a nest again and again; each file as a rule once. */
export class SlotReader {
  readonly #top: RunDir;
  readonly #known = new Map<number, NestSlot>();

  constructor(top: RunDir) {
    this.#top = top;
  }

  read(): NestSlot[] {
    const numbers = numbersIn(this.#top.nest);
    return numbers.flatMap((n) => {
      const slot = this.#known.get(n) ?? this.#readOne(n);
      return slot === null ? [] : [slot];
    });
  }

  #readOne(n: number): NestSlot | null {
    const parsed = nestSlotSchema.safeParse(readJson(this.#top.slot(n), SLOT_BYTES));
    if (!parsed.success) return null;
    const slot = parsed.data;
    // Until its run has a directory it may be given back, and taken by another.
    if (existsSync(runDir(this.#top.root, slot.run).path)) this.#known.set(n, slot);
    return slot;
  }
}

/** More names than there can be slots are not looked at. */
const MOST = 1_000;

function numbersIn(folder: string): number[] {
  // The usual case, and an exception would cost ten times as much.
  if (!existsSync(folder)) return [];
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return [];
  }
  return names
    .flatMap((name) => {
      const n = /^([1-9]\d{0,3})\.json$/.exec(name)?.[1];
      return n === undefined ? [] : [Number(n)];
    })
    .toSorted((a, b) => a - b)
    .slice(0, MOST);
}
