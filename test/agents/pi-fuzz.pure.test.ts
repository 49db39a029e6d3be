import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Pick, noise, one, random } from '../support/mutants.ts';
import { expectSame } from '../support/same.ts';
import { endOf, open, play } from './drive.ts';

const INPUTS = 2000;

/** Captured lines, the longest left out: mutating them costs time and finds nothing more. */
const LINES = ['pi-0.73.1', 'pi-1.6.0'].flatMap((version) => {
  const folder = new URL(`../fixtures/${version}/`, import.meta.url);
  const files = readdirSync(folder).filter((file) => file.endsWith('.jsonl'));
  return files.map((file) =>
    readFileSync(new URL(file, folder), 'utf8')
      .split('\n')
      .filter((line) => line !== '' && line.length < 2000),
  );
});
const ODD = [
  'null',
  '42',
  '[]',
  '{}',
  '{"type":1}',
  '{"type":"message_end"}',
  '{"type":"agent_end","messages":{}}',
  '\u0000',
];

/** A captured stream with lines dropped, doubled, swapped for those of others, and bytes changed. */
function mutated(pick: Pick): Buffer {
  const out: string[] = [];
  for (const line of one(pick, LINES)) {
    const dice = pick(12);
    if (dice === 0) continue;
    if (dice === 1) out.push(line);
    if (dice === 2) out.push(one(pick, one(pick, LINES)) ?? '');
    if (dice === 3) out.push(one(pick, ODD));
    out.push(dice === 4 ? line.replaceAll(/"[a-z]+"/gi, (word) => (pick(8) === 0 ? one(pick, ODD) : word)) : line);
  }
  const bytes = Buffer.from(out.join(one(pick, ['\n', '\n', '\r\n'])));
  for (let n = pick(6); n > 0 && bytes.length > 0; n -= 1) bytes[pick(bytes.length)] = pick(256);
  return bytes;
}

test('any bytes: nothing is thrown, there is exactly one end, and chunks change nothing', () => {
  const kinds = new Map<string, number>();
  for (let seed = 1; seed <= INPUTS; seed += 1) {
    const pick = random(seed);
    const bytes = pick(8) === 0 ? noise(pick) : mutated(pick);
    const mode = one(pick, ['json', 'rpc']);
    const exit = one(pick, [
      { code: 0, signal: null },
      { code: 1, signal: null },
      { code: null, signal: 'SIGTERM' },
    ]);
    const whole = play(open('pi', { mode }), bytes, exit);
    const end = endOf(whole);
    const name = end.t === 'final' ? 'final' : end.failure.code;
    kinds.set(name, (kinds.get(name) ?? 0) + 1);
    expectSame(play(open('pi', { mode }), bytes, exit, 1 + pick(64)), whole, () => `seed ${seed}`);
  }
  // The inputs are worth something only if they reach many ends.
  expect([...kinds.keys()].length).toBeGreaterThan(8);
  expect(kinds.get('final')).toBeGreaterThan(INPUTS / 20);
});
