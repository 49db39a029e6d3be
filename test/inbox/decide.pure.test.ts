import { describe, expect, test } from 'vitest';
import { decide } from '../../src/inbox/decide.ts';

const text = (json: unknown): string => JSON.stringify(json);

function sha(json: string): unknown {
  return (decide('f.json', json) as { sha256?: string }).sha256;
}

describe('what a command file says', () => {
  test('a stop, with its id or with one from its name', () => {
    expect(decide('a.json', text({ v: 1, id: 'x', type: 'stop', source: 'cli', reason: 'done' }))).toMatchObject({
      type: 'command',
      command: { id: 'x', type: 'stop', source: 'cli', reason: 'done' },
    });
    expect(decide('my stop.JSON', text({ v: 1, type: 'stop' }))).toMatchObject({
      command: { id: expect.stringMatching(/^my-stop~[0-9a-f]{32}$/) as unknown, source: 'file' },
    });
  });

  test.each([
    [{ v: 1, id: 'x', type: 'dance' }, 'unknown-type'],
    [{ v: 1, id: 'x', type: 'toString' }, 'unknown-type'],
    [{ v: 1, id: 'x' }, 'unknown-type'],
    [{ v: 2, id: 'x', type: 'stop' }, 'newer-version'],
    [{ id: 'x', type: 'stop' }, 'invalid'],
    [{ v: 1, id: 'x', type: 'stop', source: 7 }, 'invalid'],
    [{ v: 1, id: 'x', type: 'stop', step: 'one' }, 'unsupported'],
    [{ v: 1, id: 'x', type: 'steer', text: 'hello' }, 'unsupported'],
    [{ v: 1, id: 'x', type: 'steer' }, 'invalid'],
    [{ v: 1, id: 'x', type: 'append', steps: [] }, 'unsupported'],
  ])('%j is rejected, %s', (json, reason) => {
    expect(decide('f.json', text(json))).toMatchObject({ type: 'reject', id: 'x', reason });
  });

  test.each(['', '{', '{bad', 'null', '[1]', '"stop"', '42'])('%j may still become one', (unfinished) => {
    expect(decide('f.json', unfinished)).toEqual({ type: 'unfinished' });
  });

  test('an id that is no file name is made one', () => {
    const decision = decide('f.json', text({ v: 1, id: '../../evil', type: 'stop' }));
    expect(decision).toMatchObject({ command: { id: expect.stringMatching(/^-evil~[0-9a-f]{32}$/) as unknown } });
  });

  test('no answer quotes the command', () => {
    const secret = 'sentinel-secret';
    for (const json of [
      { v: 1, type: 'steer', text: secret, step: 7 },
      { v: 1, type: secret },
      { v: 1, type: 'stop', source: { secret } },
    ]) {
      expect(text(decide('f.json', text(json)))).not.toContain(secret);
    }
  });

  test('the digest is of what is said, not of how', () => {
    const one = sha('{"v":1,"id":"x","type":"stop","source":"a"}');
    expect(sha('{ "source": "a", "type": "stop", "v": 1, "id": "y" }')).toBe(one);
    expect(sha('{"v":1,"id":"x","type":"stop","source":"b"}')).not.toBe(one);
  });
});
