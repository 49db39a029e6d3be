import { describe, expect, test } from 'vitest';
import type { Status, StepState, StepStatus } from '../../machines/protocol.ts';
import { choose } from '../../src/cli/source.ts';
import { TranscriptText } from '../../src/cli/log/transcript.ts';
import { block } from '../../src/cli/progress/block.ts';
import { cut, duration, oneLine, plainText, quoted, short, table } from '../../src/cli/words.ts';
import { NO_STEERING } from '../support/no-steering.ts';

describe('what to run is said in exactly one way', () => {
  test.each([
    [{ what: 'plan.yaml' }, { file: 'plan.yaml' }],
    [{ what: 'fix it', agent: 'pi' }, { task: { agent: 'pi', task: 'fix it' } }],
    [
      { what: 'fix it', agent: 'pi', model: 'm', timeout: '3m' },
      { task: { agent: 'pi', task: 'fix it', model: 'm', timeout: '3m' } },
    ],
    [{ command: ['ls', '-l'] }, { command: ['ls', '-l'] }],
    [
      { command: ['ls'], timeout: '3m', cwd: 'x' },
      { command: ['ls'], timeout: '3m' },
    ],
  ])('%o', (wanted, source) => {
    expect(choose(wanted)).toEqual({ type: 'ok', source });
  });

  test.each([
    {},
    { agent: 'pi' },
    { command: [] },
    { command: ['ls'], what: 'plan.yaml' },
    { command: ['ls'], agent: 'pi' },
    { command: ['ls'], model: 'm' },
    { what: 'plan.yaml', timeout: '3m' },
    { what: 'plan.yaml', cwd: 'x' },
  ])('%o is a mistake', (wanted) => {
    expect(choose(wanted)).toMatchObject({ type: 'usage' });
  });
});

describe('the block', () => {
  const now = Date.parse('2026-12-01T10:01:05.000Z');

  test('shows every step of a plan that fits, none wider than the terminal', () => {
    const tool = { id: 't', name: 'bash\u001B[2J\nrm', since: '2026-12-01T10:01:00.000Z' };
    const steps = [
      stepOf('scout', 'completed', { endedAt: '2026-12-01T10:00:12.000Z' }),
      stepOf('fix', 'running', { tool }),
      stepOf('review', 'pending'),
    ];
    const lines = block(statusWith(steps), { columns: 80, rows: 24, now });
    expect(lines.map(({ mark, text }) => `${mark} ${text}`)).toEqual([
      '● plan running  1 min 5 s  1 of 3 done',
      '✓ scout   completed  12 s',
      '▸ fix     running  1 min 5 s  bash [2J rm',
      '· review  pending',
    ]);
    const narrow = block(statusWith(steps), { columns: 20, rows: 24, now });
    expect(Math.max(...narrow.map(({ text }) => text.length))).toBeLessThanOrEqual(16);
  });

  test('of a plan that does not fit shows what runs and counts the rest', () => {
    const states: StepState[] = [
      ...Array.from({ length: 40 }, () => 'completed' as const),
      'running',
      ...Array.from({ length: 59 }, () => 'pending' as const),
    ];
    const lines = block(statusWith(states.map((state, n) => stepOf(`s${n}`, state))), { columns: 80, rows: 10, now });
    expect(lines).toHaveLength(3);
    expect(lines[1]?.text).toContain('s40  running');
    expect(lines[2]?.text).toBe('59 pending, 40 completed');
    const crowd = statusWith(Array.from({ length: 100 }, (_, n) => stepOf(`s${n}`, 'running')));
    expect(block(crowd, { columns: 80, rows: 10, now }).length).toBeLessThan(10);
  });

  test('says who waits for a person, in this run and below', () => {
    const status = statusWith([stepOf('a', 'running', { waiting: 'person' })], {
      asks: [{ id: 'q', step: 'a', attempt: 1, text: { chars: 1, sha256: '' }, at: '', state: 'asked' }],
      nested: { total: 2, asks: 1, runs: [] },
    });
    const lines = block(status, { columns: 120, rows: 24, now }).map(({ text }) => text);
    expect(lines[0]).toContain('2 questions wait for an answer, 1 of them in runs below');
    expect(lines[1]).toContain('waits for an answer');
  });

  test('says what the next Ctrl-C will do', () => {
    const status = statusWith([stepOf('a', 'running')], {
      state: 'stopping',
      cause: { type: 'runner-signal', at: '2026-12-01T10:00:00.000Z', signal: 'SIGINT' },
    });
    expect(block(status, { columns: 100, rows: 24, now })[0]?.text).toContain('again: kill at once');
  });
});

test('a transcript is text for people, however its bytes are cut, and steers no terminal', () => {
  const lines = [
    { t: 'message', role: 'user', text: { chars: 12, sha256: 'abc' } },
    { t: 'message', role: 'assistant', text: 'Grüße\u001B]0;title\u0007\nzwei' },
    { t: 'toolStart', id: '1', name: 'bash', input: { command: 'ls' } },
    { t: 'toolEnd', id: '1', name: 'bash', ok: false, output: Array.from({ length: 20 }, (_, n) => n).join('\n') },
    { t: 'usage', usage: {} },
  ];
  const bytes = Buffer.from(`${lines.map((line) => JSON.stringify(line)).join('\n')}\n{"torn`);
  const reader = new TranscriptText();
  let cutText = '';
  for (const byte of bytes) cutText += reader.push(Buffer.from([byte]));
  const whole = new TranscriptText().push(bytes);
  expect(cutText).toBe(whole);
  expect(whole).toMatch(
    /^\[a message of 12 characters to the agent\]\nGrüße\]0;title\nzwei\n> bash \{"command":"ls"\}\n/,
  );
  expect(whole).toContain('< bash failed\n  0\n');
  expect(whole).toContain('(12 more lines)');
});

test('words', () => {
  expect([0, 9_949, 42_000, 185_000, 7_800_000].map(duration)).toEqual([
    '0.0 s',
    '9.9 s',
    '42 s',
    '3 min 5 s',
    '2 h 10 min',
  ]);
  expect([999, 4_200, 999_949, 999_950, 1_300_000].map(short)).toEqual(['999', '4.2k', '999.9k', '1.0M', '1.3M']);
  expect(cut('a😀bc', 3)).toBe('a😀…');
  expect(oneLine('a\r\n\tb\u0007')).toBe('a b');
  expect(plainText('a\u001B[31m\n\tb')).toBe('a[31m\n\tb');
  expect(quoted("it's")).toBe(String.raw`'it'\''s'`);
  expect(quoted('plan.yaml')).toBe('plan.yaml');
  expect(
    table([
      ['a', 'bb', ''],
      ['ccc', 'd', 'e'],
    ]),
  ).toEqual(['a    bb', 'ccc  d   e']);
});

function stepOf(id: string, state: StepState, more: Partial<StepStatus> = {}): StepStatus {
  const started = state === 'pending' ? {} : { startedAt: '2026-12-01T10:00:00.000Z' };
  return { id, agent: 'pi', needs: [], state, attempt: state === 'pending' ? 0 : 1, ...started, ...more };
}

function statusWith(steps: StepStatus[], more: Partial<Status> = {}): Status {
  const counts = {
    pending: 0,
    preparing: 0,
    running: 0,
    'backing-off': 0,
    completed: 0,
    failed: 0,
    stopped: 0,
    paused: 0,
    skipped: 0,
  };
  for (const { state } of steps) counts[state] += 1;
  return {
    v: 1,
    id: 'r',
    seq: 1,
    epoch: 1,
    name: 'plan',
    state: 'running',
    startedAt: '2026-12-01T10:00:00.000Z',
    updatedAt: '2026-12-01T10:00:00.000Z',
    owner: { host: 'h', bootId: 'b', pid: 1, startTime: 1, instance: 'i' },
    limits: { concurrency: 4, timeoutMs: null },
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, turns: 0, tools: 0 },
    steps,
    counts,
    labels: {},
    steering: NO_STEERING,
    asks: [],
    ...more,
  };
}
