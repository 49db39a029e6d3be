import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Pick, noise, one, random } from '../support/mutants.ts';
import { expectSame } from '../support/same.ts';
import { endOf, open, play } from './drive.ts';

/** Bounded in the suite; COXSWAIN_ROUNDS=100000 for a night. */
const INPUTS = Number(process.env['COXSWAIN_ROUNDS'] ?? 600);

function linesOf(folder: string, wanted: (name: string) => boolean): string[][] {
  const url = new URL(`../fixtures/${folder}/`, import.meta.url);
  return readdirSync(url)
    .filter((name) => name.endsWith('.jsonl') && wanted(name))
    .map((name) =>
      readFileSync(new URL(name, url), 'utf8')
        .split('\n')
        .filter((line) => line !== '' && line.length < 2000),
    );
}

const ODD = [
  'null',
  '42',
  '[]',
  '{}',
  '{"type":1}',
  '{"jsonrpc":"2.0","id":3}',
  '{"jsonrpc":"2.0","id":null,"error":{}}',
];

/** A captured stream with lines dropped, doubled, swapped for those of others, and bytes changed. */
function mutated(pick: Pick, streams: readonly string[][]): Buffer {
  const out: string[] = [];
  for (const line of one(pick, streams)) {
    const dice = pick(12);
    if (dice === 0) continue;
    if (dice === 1) out.push(line);
    if (dice === 2) out.push(one(pick, one(pick, streams)) ?? '');
    if (dice === 3) out.push(one(pick, ODD));
    out.push(dice === 4 ? line.replaceAll(/"[a-z_]+"/gi, (word) => (pick(8) === 0 ? one(pick, ODD) : word)) : line);
  }
  const bytes = Buffer.from(out.join(one(pick, ['\n', '\n', '\r\n'])));
  for (let n = pick(6); n > 0 && bytes.length > 0; n -= 1) bytes[pick(bytes.length)] = pick(256);
  return bytes;
}

/** A record of its own making: keys that are read, values of any kind. */
function invented(pick: Pick, words: readonly string[], depth = 0): unknown {
  const value = (): unknown => (depth > 3 ? null : invented(pick, words, depth + 1));
  switch (pick(depth === 0 ? 1 : 7)) {
    case 0:
      return Object.fromEntries(Array.from({ length: pick(6) }, () => [one(pick, words), value()]));
    case 1:
      return Array.from({ length: pick(4) }, value);
    case 2:
      return one(pick, words);
    case 3:
      return pick(1000) - 500;
    case 4:
      return one(pick, [null, true, false, 1e308, -0, '']);
    default:
      return one(pick, words);
  }
}

const byAcp = (name: string): boolean => name.startsWith('acp-');

test.each([
  ['opencode', linesOf('opencode-1.18.33', (name) => !byAcp(name))],
  ['gemini', linesOf('gemini-cli-0.61.0', (name) => !byAcp(name))],
  ['acp', ['opencode-1.18.33-acp', 'gemini-cli-0.61.0-acp'].flatMap((folder) => linesOf(folder, () => true))],
])(
  '%s: whatever comes, nothing is thrown, there is exactly one end, and chunks change nothing',
  (name, streams) => {
    const words = [...new Set(streams.flat().flatMap((line) => line.match(/(?<=")[a-zA-Z_/]{2,30}(?=")/g) ?? []))];
    const kinds = new Map<string, number>();
    for (let seed = 1; seed <= INPUTS; seed += 1) {
      const pick = random(seed);
      const dice = pick(8);
      const records = () => Array.from({ length: pick(12) }, () => JSON.stringify(invented(pick, words))).join('\n');
      const bytes = dice === 0 ? noise(pick) : dice === 1 ? Buffer.from(records()) : mutated(pick, streams);
      const exit = one(pick, [
        { code: 0, signal: null },
        { code: 0, signal: null },
        { code: 1, signal: null },
        { code: null, signal: 'SIGTERM' },
      ]);
      const whole = play(open(name), bytes, exit);
      const end = endOf(whole);
      const kind = end.t === 'final' ? 'final' : end.failure.code;
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      expectSame(play(open(name), bytes, exit, 1 + pick(64)), whole, () => `seed ${seed}`);
    }
    // The inputs are worth something only if they reach many ends.
    expect([...kinds.keys()].length, JSON.stringify([...kinds])).toBeGreaterThan(4);
    expect(kinds.get('final')).toBeGreaterThan(INPUTS / 50);
  },
  30_000 + INPUTS * 5,
);
