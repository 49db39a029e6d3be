import { mkdirSync, readFileSync, readdirSync, renameSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import type { Command } from '../../machines/protocol.ts';
import { receiptSchema } from '../../src/record/index.ts';
import { everything, until } from '../record/support.ts';
import { makeFifo } from '../support/kit.ts';
import { Fuzz, SENTINEL } from './fuzz.ts';
import { applied, entries, freshDir, openRig } from './rig.ts';

const SEED = 20_261_202;
const COUNT = 2_000;

/** Everything under a folder with what it is and holds. */
function pictureOf(folder: string): string[] {
  return everything(folder)
    .toSorted()
    .map((path) => {
      const stat = statSync(path);
      return `${path} ${stat.mode} ${stat.mtimeMs} ${stat.isFile() ? readFileSync(path, 'utf8') : ''}`;
    });
}

test(`${COUNT} files, random and mutated (seed ${SEED}): no crash, no wedge, and nothing outside is touched`, async () => {
  const fuzz = new Fuzz(SEED);
  const dir = freshDir();
  const outside = join(dirname(dirname(dir.path)), 'outside');
  mkdirSync(join(outside, 'folder'), { recursive: true });
  writeFileSync(join(outside, 'stop.json'), JSON.stringify({ v: 1, type: 'stop', id: 'from-outside' }));
  const before = pictureOf(outside);

  const rig = openRig(
    {
      deliver: ({ id, type }: Command) => {
        if (fuzz.below(4) > 0) rig.inbox.answer(applied(id, type));
      },
      resolve: () => ({ type: 'ok', steps: [] }),
      safetyMs: 100,
    },
    dir,
  );
  for (let n = 0; n < COUNT; n += 1) {
    const name = fuzz.name();
    if (name.length > 200 || name === '.' || name === '..') continue;
    const place = join(dir.control, name);
    try {
      if (n % 97 === 0) mkdirSync(join(place, 'inner'), { recursive: true });
      else if (n % 89 === 0) symlinkSync(join(outside, n % 2 === 0 ? 'stop.json' : 'folder'), place);
      else if (n % 401 === 0) makeFifo(place);
      else if (n % 13 === 0) writeFileSync(place, fuzz.text());
      else {
        writeFileSync(join(dir.controlTemp, 'draft'), fuzz.text());
        renameSync(join(dir.controlTemp, 'draft'), place);
      }
    } catch {
      // The name was taken by something else.
    }
    if (n % 100 === 0) await new Promise((resolve) => void setImmediate(resolve));
  }
  await until(() => entries(dir).every((name) => /^\.|\.tmp$/.test(name)), 'everything is taken', 20_000);
  writeFileSync(join(dir.control, 'last.json'), JSON.stringify({ v: 1, type: 'steer', text: SENTINEL }));
  expect(await rig.inbox.close({ state: 'completed' })).toEqual({ type: 'closed', unwritten: 0 });

  // Every command that was taken has its one final receipt, and no text of it is left but in what was never taken.
  expect(readdirSync(dir.claimed)).toEqual([]);
  const receipts = readdirSync(dir.receipts);
  expect(receipts.length).toBeGreaterThan(COUNT / 4);
  for (const name of receipts) {
    const receipt = receiptSchema.parse(JSON.parse(readFileSync(join(dir.receipts, name), 'utf8')));
    expect(receipt.final, name).toBe(true);
    expect(JSON.stringify(receipt)).not.toContain(SENTINEL);
  }
  expect(receipts).toContain('last.json');
  expect(receipts).not.toContain('from-outside.json');
  expect(pictureOf(outside)).toEqual(before);
  expect(readdirSync(dirname(dirname(dir.path))).toSorted()).toEqual(['outside', 'runs']);
  expect(readdirSync(dirname(dir.path))).toEqual(['r1']);
});
