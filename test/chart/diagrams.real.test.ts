import { readdir, readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { machines } from '../../machines/index.ts';
import { renderAll } from '../../tools/chart/render.ts';

const folder = new URL('../../diagrams/', import.meta.url);

test('diagrams/ shows the machines as they are; else run `npm run diagrams`', async () => {
  const files = await renderAll(machines);
  const checkedIn = (await readdir(folder)).filter((name) => !name.startsWith('.'));
  expect(checkedIn.toSorted(), 'other files than the machines have: run `npm run diagrams`').toEqual(
    [...files.keys()].toSorted(),
  );
  const same = await Promise.all(
    [...files].map(async ([name, content]) => (await readFile(new URL(name, folder), 'utf8')) === content || name),
  );
  expect(
    same.filter((each) => each !== true),
    'stale: run `npm run diagrams`',
  ).toEqual([]);
});
