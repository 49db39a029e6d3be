import { readFileSync, readdirSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import type { Usage } from '../../machines/protocol.ts';
import { endOf, open, play } from './drive.ts';

interface Expected {
  case: string;
  mode: string;
  code: number | null;
  signal: string | null;
  final?: string;
  stop?: string;
  failure?: string;
  usage?: Usage;
}

const folder = (version: string): URL => new URL(`../fixtures/${version}/`, import.meta.url);
const expectedOf = (version: string): Expected[] =>
  JSON.parse(readFileSync(new URL('expected.json', folder(version)), 'utf8')) as Expected[];

/** An end in the words of the table. */
const summary = (end: ReturnType<typeof endOf>): Pick<Expected, 'final' | 'stop' | 'failure'> =>
  end.t === 'final' ? { final: end.text, stop: end.stop } : { failure: end.failure.code };

describe.each(['pi-0.73.1', 'pi-1.6.0'])('captured streams of %s', (version) => {
  const table = expectedOf(version);

  test('every captured stream is in the table', () => {
    const files = readdirSync(folder(version)).filter((file) => file.endsWith('.jsonl'));
    expect(files.toSorted()).toEqual(table.map((row) => `${row.case}.jsonl`).toSorted());
  });

  test.each(table)('$case', (row) => {
    const bytes = readFileSync(new URL(`${row.case}.jsonl`, folder(version)));
    const run = (size: number) => play(open('pi', { mode: row.mode }), bytes, row, size);
    const events = run(Infinity);

    expect(summary(endOf(events))).toEqual({ final: row.final, stop: row.stop, failure: row.failure });
    const usages = events.flatMap((event) => (event.t === 'usage' ? [event.usage] : []));
    const { costUsd, ...counts } = usages.at(-1) ?? {};
    const { costUsd: cost, ...expectedCounts } = row.usage ?? {};
    expect(counts).toEqual(expectedCounts);
    // Unknown is not zero.
    expect(costUsd === undefined).toBe(cost === undefined);
    expect(costUsd ?? 0).toBeCloseTo(cost ?? 0, 9);
    expect(events.filter((event) => event.t === 'toolStart')).toHaveLength(row.usage?.tools ?? 0);

    for (const size of [1, 7, 4096]) expect(run(size)).toEqual(events);
  });
});

test('a retry of pi itself is told, and takes back the end that was told before it', () => {
  const bytes = readFileSync(new URL('error-429.jsonl', folder('pi-0.73.1')));
  const events = play(open('pi', { mode: 'json' }), bytes);
  const told = events.filter((event) => ['error', 'resumed', 'retry'].includes(event.t)).map((event) => event.t);
  expect(told).toEqual(['error', 'resumed', 'retry', 'error', 'resumed', 'retry', 'error']);
  expect(events.find((event) => event.t === 'retry')).toMatchObject({ attempt: 1, max: 2, delayMs: 200 });
});

test('pi 1 says when it has settled, so nothing is taken back', () => {
  for (const [file, mode] of [
    ['error-500.jsonl', 'json'],
    ['rpc-error-429.jsonl', 'rpc'],
  ] as const) {
    const events = play(open('pi', { mode }), readFileSync(new URL(file, folder('pi-1.6.0'))));
    expect(events.some((event) => event.t === 'resumed')).toBe(false);
    expect(events.filter((event) => event.t === 'retry')).toHaveLength(2);
  }
});

test('tools, their outcome, the session and the model are told', () => {
  const events = play(open('pi', { mode: 'json' }), readFileSync(new URL('tool-exit-3.jsonl', folder('pi-0.73.1'))));
  expect(events.find((event) => event.t === 'session')?.session).toBe('ask.1.jsonl');
  expect(events.find((event) => event.t === 'model')).toEqual({ t: 'model', model: 'fake/fake-toolfail' });
  expect(events.find((event) => event.t === 'toolStart')).toMatchObject({
    name: 'bash',
    input: { command: 'echo oops >&2; exit 3' },
  });
  expect(events.find((event) => event.t === 'toolEnd')).toMatchObject({ name: 'bash', ok: false, truncated: false });
});
