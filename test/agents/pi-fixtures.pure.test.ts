import { describe, expect, test } from 'vitest';
import { open, play } from './drive.ts';
import { fixture, testCaptured } from './rig.ts';

describe.each(['pi-0.73.1', 'pi-1.6.0'])('captured streams of %s', (version) => {
  testCaptured('pi', version);
});

test('a retry of pi itself is told, and takes back the end that was told before it', () => {
  const bytes = fixture('pi-0.73.1', 'error-429.jsonl');
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
    const events = play(open('pi', { mode }), fixture('pi-1.6.0', file));
    expect(events.some((event) => event.t === 'resumed')).toBe(false);
    expect(events.filter((event) => event.t === 'retry')).toHaveLength(2);
  }
});

test('tools, their outcome, the session and the model are told', () => {
  const events = play(open('pi', { mode: 'json' }), fixture('pi-0.73.1', 'tool-exit-3.jsonl'));
  expect(events.find((event) => event.t === 'session')?.session).toBe('ask.1.jsonl');
  expect(events.find((event) => event.t === 'model')).toEqual({ t: 'model', model: 'fake/fake-toolfail' });
  expect(events.find((event) => event.t === 'toolStart')).toMatchObject({
    name: 'bash',
    input: { command: 'echo oops >&2; exit 3' },
  });
  expect(events.find((event) => event.t === 'toolEnd')).toMatchObject({ name: 'bash', ok: false, truncated: false });
});
