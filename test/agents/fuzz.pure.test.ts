import { readFileSync, readdirSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Pick, mutant, noise, one, random } from '../support/mutants.ts';
import { expectSame } from '../support/same.ts';
import type { AgentSession } from '../../src/agents/index.ts';
import { endOf, open, play } from './drive.ts';

/** Bounded in the suite; COXSWAIN_ROUNDS=100000 for a night. */
const inputs = (usual: number): number => Number(process.env['COXSWAIN_ROUNDS'] ?? usual);

/** Captured lines, the longest left out: mutating them costs time and finds nothing more. */
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
const all = (...folders: string[]): string[][] => folders.flatMap((folder) => linesOf(folder, () => true));
const PI = all('pi-0.73.1', 'pi-1.6.0');

interface Client {
  name: string;
  streams: string[][];
  mode?: string;
  inputs: number;
  /** The inputs are worth something only if they reach so many kinds of ends, and a `final` once in so many. */
  kinds: number;
  finals: number;
}

const OTHERS = { inputs: inputs(600), kinds: 5, finals: 50 };
const OF_PI = { inputs: inputs(1000), kinds: 9, finals: 20 };
const CLIENTS: readonly [string, Client][] = [
  ['opencode', { name: 'opencode', streams: linesOf('opencode-1.18.33', (name) => !byAcp(name)), ...OTHERS }],
  ['gemini', { name: 'gemini', streams: linesOf('gemini-cli-0.61.0', (name) => !byAcp(name)), ...OTHERS }],
  ['acp', { name: 'acp', streams: all('opencode-1.18.33-acp', 'gemini-cli-0.61.0-acp'), ...OTHERS }],
  ['pi, json', { name: 'pi', mode: 'json', streams: PI, ...OF_PI }],
  ['pi, rpc', { name: 'pi', mode: 'rpc', streams: PI, ...OF_PI }],
];

test.each(CLIENTS)(
  '%s: whatever comes, nothing is thrown, there is exactly one end, and chunks change nothing',
  (_title, { name, streams, mode, inputs: INPUTS, ...atLeast }) => {
    const words = [...new Set(streams.flat().flatMap((line) => line.match(/(?<=")[a-zA-Z_/]{2,30}(?=")/g) ?? []))];
    const fresh = (): AgentSession => open(name, mode === undefined ? {} : { mode });
    const kinds = new Map<string, number>();
    for (let seed = 1; seed <= INPUTS; seed += 1) {
      const pick = random(seed);
      const dice = pick(8);
      const records = () => Array.from({ length: pick(12) }, () => JSON.stringify(invented(pick, words))).join('\n');
      const bytes = dice === 0 ? noise(pick) : dice === 1 ? Buffer.from(records()) : mutant(pick, streams);
      const exit = one(pick, [
        { code: 0, signal: null },
        { code: 0, signal: null },
        { code: 1, signal: null },
        { code: null, signal: 'SIGTERM' },
      ]);
      const whole = play(fresh(), bytes, exit);
      const end = endOf(whole);
      const kind = end.t === 'final' ? 'final' : end.failure.code;
      kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
      expectSame(play(fresh(), bytes, exit, 1 + pick(64)), whole, () => `seed ${seed}`);
    }
    expect(kinds.size, JSON.stringify([...kinds])).toBeGreaterThanOrEqual(atLeast.kinds);
    expect(kinds.get('final')).toBeGreaterThan(INPUTS / atLeast.finals);
  },
  30_000 + inputs(1000) * 5,
);
