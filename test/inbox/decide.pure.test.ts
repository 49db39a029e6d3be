import { describe, expect, test } from 'vitest';
import type { CommandType } from '../../machines/protocol.ts';
import { decide } from '../../src/inbox/decide.ts';
import { type Before, type Decision, type Found, kinds } from '../../src/inbox/decision.ts';
import { digest } from '../../src/record/index.ts';

const NOW = Date.parse('2026-12-01T10:00:00.000Z');
const text = (json: unknown): string => JSON.stringify(json);

function judge(json: unknown, name = 'f.json', before: Before | null = null): Decision {
  const found: Found = { type: 'text', text: typeof json === 'string' ? json : text(json), settled: false };
  return decide({ name, found }, { nowMs: NOW, before: () => before });
}

function deep(levels: number): string {
  return `{"v":1,"id":"x","type":"append","steps":[${'['.repeat(levels)}${']'.repeat(levels)}]}`;
}

function sha(json: string): unknown {
  return (judge(json) as { sha256?: string }).sha256;
}

describe('what a command file says', () => {
  test('a stop, with its id or with one from its name', () => {
    expect(judge({ v: 1, id: 'x', type: 'stop', source: 'cli', reason: 'done' })).toMatchObject({
      type: 'deliver',
      command: { id: 'x', type: 'stop', source: 'cli', reason: 'done' },
    });
    const unnamed = judge({ v: 1, type: 'stop' }, 'my stop.JSON');
    expect(unnamed).toMatchObject({
      command: { id: expect.stringMatching(/^my-stop~[0-9a-f]{32}$/) as unknown, source: 'file' },
    });
    // The name that it was claimed under when it was too long as it was gives the same id.
    expect(judge({ v: 1, type: 'stop' }, `${(unnamed as { id: string }).id}.json`)).toEqual(unnamed);
  });

  const message = digest('hello');
  test.each([
    [
      { type: 'stop', step: 'a' },
      { type: 'stop', step: 'a' },
    ],
    [
      { type: 'interrupt', reason: 'lunch' },
      { type: 'interrupt', reason: 'lunch' },
    ],
    [
      { type: 'resume', step: 'a' },
      { type: 'resume', step: 'a' },
    ],
    [
      { type: 'steer', text: 'hello' },
      { type: 'steer', mode: 'auto', text: message },
    ],
    [
      { type: 'steer', text: 'hello', step: 'a', mode: 'next', expires: '10m' },
      { type: 'steer', step: 'a', mode: 'next', text: message, expiresMs: 600_000 },
    ],
    [
      { type: 'append', steps: [{ id: 'z' }] },
      { type: 'append', steps: [{ id: 'z' }] },
    ],
    [
      { type: 'extend', deadline: '1h' },
      { type: 'extend', deadlineAt: '2026-12-01T11:00:00.000Z', limitMs: 3_600_000 },
    ],
    [
      { type: 'extend', deadline: '2026-12-01T12:00:00+01:00', step: 'a' },
      { type: 'extend', step: 'a', deadlineAt: '2026-12-01T11:00:00.000Z', limitMs: 3_600_000 },
    ],
    [
      { type: 'extend', deadline: '2026-11-01T12:00:00Z' },
      { type: 'extend', deadlineAt: '2026-11-01T12:00:00.000Z', limitMs: 0 },
    ],
    [
      { type: 'answer', ask: 'q1', text: 'hello' },
      { type: 'answer', ask: 'q1', text: message },
    ],
  ])('%j', (json, command) => {
    const decision = judge({ v: 1, id: 'x', ...json });
    expect(decision).toMatchObject({ type: 'deliver', id: 'x' });
    expect((decision as { command: object }).command).toEqual({ id: 'x', source: 'file', ...command });
    expect((decision as { text: string | null }).text).toBe('text' in json ? 'hello' : null);
  });

  test.each([
    [{ v: 1, id: 'x', type: 'dance' }, 'unknown-type'],
    [{ v: 1, id: 'x', type: 'toString' }, 'unknown-type'],
    [{ v: 1, id: 'x' }, 'unknown-type'],
    [{ v: 2, id: 'x', type: 'stop' }, 'newer-version'],
    [{ id: 'x', type: 'stop' }, 'invalid'],
    [{ v: 1, id: 'x', type: 'stop', source: 7 }, 'invalid'],
    [{ v: 1, id: 'x', type: 'stop', step: '' }, 'invalid'],
    [{ v: 1, id: 'x', type: 'stop', reason: 'r'.repeat(5_000) }, 'invalid'],
    [{ v: 1, id: 'x', type: 'steer' }, 'invalid'],
    [{ v: 1, id: 'x', type: 'steer', text: ' \n' }, 'invalid'],
    [{ v: 1, id: 'x', type: 'steer', text: 'a', mode: 'soon' }, 'invalid'],
    [{ v: 1, id: 'x', type: 'steer', text: 'a', expires: 'soon' }, 'invalid'],
    [{ v: 1, id: 'x', type: 'steer', text: '\u20ac'.repeat(50_000) }, 'invalid'],
    [{ v: 1, id: 'x', type: 'append', steps: [] }, 'invalid'],
    [{ v: 1, id: 'x', type: 'append', steps: {} }, 'invalid'],
    [{ v: 1, id: 'x', type: 'extend', deadline: 'tomorrow' }, 'invalid'],
    [{ v: 1, id: 'x', type: 'extend', deadline: '2026-12-01T12:00:00' }, 'invalid'],
    [{ v: 1, id: 'x', type: 'extend', deadline: '2126-12-01T12:00:00Z' }, 'invalid'],
    [{ v: 1, id: 'x', type: 'answer', text: 'yes' }, 'invalid'],
  ])('%j is rejected, %s', (json, reason) => {
    expect(judge(json)).toMatchObject({ type: 'reject', id: 'x', reason });
  });

  test.each(['', '{', '{bad', 'null', '[1]', '"stop"', '42'])('%j may still become one', (unfinished) => {
    expect(judge(unfinished)).toEqual({ type: 'unfinished' });
    const found: Found = { type: 'text', text: unfinished, settled: true };
    expect(decide({ name: 'f.json', found }, { nowMs: NOW, before: () => null })).toMatchObject({ reason: 'invalid' });
  });

  test('what is nested too deeply is rejected, and ends no recursion', () => {
    expect(judge(deep(60))).toMatchObject({ type: 'deliver' });
    for (const levels of [70, 120_000]) {
      expect(judge(deep(levels))).toMatchObject({ type: 'reject', reason: 'invalid', command: 'append' });
    }
  });

  test('an id that is no file name is made one', () => {
    const decision = judge({ v: 1, id: '../../evil', type: 'stop' });
    expect(decision).toMatchObject({ command: { id: expect.stringMatching(/^-evil~[0-9a-f]{32}$/) as unknown } });
  });

  test('no decision quotes the command, but for the delivery of its text', () => {
    const secret = 'sentinel-secret';
    for (const json of [
      { v: 1, type: 'steer', text: secret, step: 7 },
      { v: 1, type: 'steer', text: secret },
      { v: 1, type: secret },
      { v: 1, type: 'stop', source: { secret } },
      { v: 1, type: 'answer', ask: 'a', text: secret },
      { v: 1, type: 'extend', deadline: secret },
    ]) {
      const decision = judge(json);
      expect(text(decision.type === 'deliver' ? decision.command : decision)).not.toContain(secret);
    }
  });
});

describe('an id that was there before', () => {
  const json = { v: 1, id: 'x', type: 'stop' };
  const { sha256 } = judge(json) as { sha256: string };

  test('with the same meaning is a repeat, with another a conflict', () => {
    expect(judge(json, 'g.json', { sha256 })).toEqual({ type: 'repeat', id: 'x' });
    expect(judge({ ...json, reason: 'changed' }, 'f.json', { sha256 })).toMatchObject({ type: 'conflict', id: 'x' });
    expect(judge({ ...json, type: 'dance' }, 'f.json', { sha256 })).toMatchObject({
      type: 'conflict',
      command: 'unknown',
    });
    // One that came through the library: whatever it said, the id is taken and answered for.
    expect(judge(json, 'f.json', {})).toEqual({ type: 'repeat', id: 'x' });
  });

  test('the digest is of what is said, not of how', () => {
    const one = sha('{"v":1,"id":"x","type":"stop","source":"a"}');
    expect(sha('{ "source": "a", "type": "stop", "v": 1, "id": "y" }')).toBe(one);
    expect(sha('{"v":1,"id":"x","type":"stop","source":"b"}')).not.toBe(one);
  });
});

test('the order of the kinds has them all', () => {
  const all: Record<CommandType, true> = {
    stop: true,
    interrupt: true,
    resume: true,
    extend: true,
    answer: true,
    append: true,
    steer: true,
  };
  expect([...kinds]).toEqual(Object.keys(all));
});
