import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { decide } from '../../src/inbox/decide.ts';
import type { Decision } from '../../src/inbox/decision.ts';
import { decideLate } from '../../src/inbox/late/index.ts';
import { Fuzz } from './fuzz.ts';

const SEED = 20_261_203;
const COUNT = 5_000;

/** What a reader has to make of an entry, by what a live run would have made of it. */
function fits(late: Decision, live: Decision): boolean {
  switch (live.type) {
    case 'deliver':
      return (
        late.type === 'reject' && late.reason === 'run-ended' && late.command === live.command.type && same(late, live)
      );
    case 'reject':
      // Of its fields, less is asked of a command that nobody will obey.
      return (
        late.type === 'reject' &&
        same(late, live) &&
        (late.reason === live.reason || (live.reason === 'invalid' && late.reason === 'run-ended'))
      );
    case 'repeat':
    case 'conflict':
    case 'unfinished':
      return isDeepStrictEqual(late, live);
  }
}

const same = (a: { id: string; sha256: string }, b: { id: string; sha256: string }): boolean =>
  a.id === b.id && a.sha256 === b.sha256;

test(`${COUNT} commands that came too late: refused for what they are, and told from each other as in a live run`, () => {
  const fuzz = new Fuzz(SEED);
  const world = { nowMs: Date.parse('2026-12-01T10:00:00.000Z'), before: () => null };
  const wrong: number[] = [];
  let good = 0;
  for (let n = 0; n < COUNT; n += 1) {
    const entry = { name: fuzz.name(), found: { type: 'text' as const, text: fuzz.text(), settled: n % 2 === 0 } };
    const live = decide(entry, world);
    if (live.type === 'deliver') good += 1;
    if (!fits(decideLate(entry, world), live)) wrong.push(n);
  }
  expect(wrong).toEqual([]);
  expect(good).toBeGreaterThan(COUNT / 10);
});
