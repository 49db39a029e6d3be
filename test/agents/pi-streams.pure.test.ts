import { describe, expect, test } from 'vitest';
import type { AgentEvent } from '../../src/agents/index.ts';
import {
  OK,
  TASK,
  assistant,
  endOf,
  failing,
  lines,
  notes,
  open,
  play,
  runEnd,
  runEndsFor,
  runStart,
  settled,
  toolEnd,
  toolStart,
} from './drive.ts';

const json = (stdout: string, exit = OK): AgentEvent[] => play(open('pi', { mode: 'json' }), stdout, exit);
const failureOf = (events: AgentEvent[]) => {
  const end = endOf(events);
  if (end.t !== 'error') throw new Error('the work ended well');
  return end.failure;
};
const good = lines(runStart, assistant('the answer'), runEnd);

describe('was it done?', () => {
  test('S036: the end is told while the child still lives', () => {
    const session = open('pi', { mode: 'json' });
    const { events } = session.push(Buffer.from(good));
    expect(endOf(events)).toEqual({ t: 'final', text: 'the answer', stop: 'stop', truncated: false });
    expect(session.exited({ code: null, signal: 'SIGKILL', stderrTail: '' }).events.map((event) => event.t)).toEqual([
      'note',
    ]);
  });

  test('S037: an unknown record with an error gives the class when nothing else ends the work', () => {
    const events = json(lines({ type: 'turn.failed', error: { message: '429 quota' } }));
    expect(failureOf(events)).toMatchObject({ code: 'rate-limited', message: '429 quota' });
    expect(notes(events, 'unknown-record')).toEqual(['unknown record "turn.failed": 429 quota']);
  });

  test('an unknown record with an error spoils no answer', () => {
    expect(endOf(json(lines({ type: 'warning', error: 'odd' }) + good)).t).toBe('final');
  });

  test('S038: a tool error before a good end stays visible and does not fail the work', () => {
    const events = json(
      lines(
        runStart,
        toolStart('bash'),
        toolEnd('bash', true),
        toolStart('read', 't2'),
        toolEnd('read', false, 't2'),
        assistant('the answer'),
        runEnd,
      ),
    );
    expect(endOf(events).t).toBe('final');
    expect(events.flatMap((event) => (event.t === 'toolEnd' ? [event.ok] : []))).toEqual([false, true]);
  });

  test('S039: exit 0 without any output', () => {
    expect(failureOf(json('')).code).toBe('empty-output');
  });

  test('S040: exit 0 while a tool runs names the tool and keeps the counts', () => {
    const events = json(lines(runStart, assistant('working', 'toolUse'), toolStart('bash')));
    expect(failureOf(events)).toMatchObject({ code: 'exited-mid-tool', detail: { tool: 'bash', exitCode: 0 } });
    expect(events.findLast((event) => event.t === 'usage')?.usage).toMatchObject({ turns: 1, tools: 1 });
    expect(events.find((event) => event.t === 'message')?.text).toBe('working');
  });

  test.each([
    ['success first', [assistant('the answer'), runEnd, failing('400 no'), runEnd], 'final'],
    ['error first', [failing('400 no'), runEnd, assistant('the answer'), runEnd], 'error'],
    [
      'success first, pi 1',
      [assistant('the answer'), runEndsFor(false), settled, failing('400 no'), runEndsFor(false)],
      'final',
    ],
    ['error first, pi 1', [failing('400 no'), runEndsFor(false), settled, assistant('x'), runEndsFor(false)], 'error'],
  ])('S041: the first end stands: %s', (_name, records, expected) => {
    for (const mode of ['json', 'rpc']) {
      const events = play(open('pi', { mode }), lines(runStart, ...records));
      expect(endOf(events).t).toBe(expected);
      expect(notes(events, 'second-end')).toHaveLength(1);
    }
  });

  test('output without an end record', () => {
    expect(failureOf(json(lines(runStart, assistant('half', 'toolUse')))).code).toBe('no-end-record');
    expect(failureOf(json(lines(runStart), { code: 3, signal: null }))).toMatchObject({
      code: 'exit-code',
      detail: { exitCode: 3 },
    });
    expect(failureOf(json(lines(runStart), { code: null, signal: 'SIGKILL' }))).toMatchObject({
      code: 'signal',
      detail: { signal: 'SIGKILL' },
    });
  });

  test('the answer: cut, cut before it began, empty', () => {
    expect(endOf(json(lines(runStart, assistant('half', 'length'), runEnd)))).toMatchObject({
      text: 'half',
      stop: 'length',
    });
    expect(failureOf(json(lines(runStart, assistant('', 'length'), runEnd))).code).toBe('length');
    expect(failureOf(json(lines(runStart, assistant(' \n'), runEnd))).code).toBe('empty-output');
    expect(failureOf(json(lines(runStart, runEnd))).code).toBe('empty-output');
  });

  test('a compaction after a good answer takes the end back and gives it again', () => {
    const compaction = [
      { type: 'compaction_start', reason: 'threshold' },
      { type: 'compaction_end', willRetry: false },
    ];
    const events = json(lines(runStart, assistant('the answer'), runEnd, ...compaction));
    expect(events.map((event) => event.t).filter((t) => ['final', 'resumed'].includes(t))).toEqual([
      'final',
      'resumed',
      'final',
    ]);
  });

  test('an exit during a retry fails with the error that was retried', () => {
    const retry = { type: 'auto_retry_start', attempt: 1, maxAttempts: 3, delayMs: 9, errorMessage: '429 slow down' };
    expect(failureOf(json(lines(runStart, failing('429 slow down'), runEnd, retry))).code).toBe('rate-limited');
    // Begun again, what counts is how it went then.
    expect(failureOf(json(lines(runStart, failing('429 slow down'), runEnd, retry, runStart))).code).toBe(
      'no-end-record',
    );
  });

  test('what was before does not count: an earlier run, a tool that has ended, an end that pi itself calls none', () => {
    expect(failureOf(json(lines(runStart, failing('401 no'), runEnd, runStart, runEnd))).code).toBe('empty-output');
    expect(failureOf(json(lines(runStart, toolStart('bash'), toolEnd('bash', false)))).code).toBe('no-end-record');
    expect(failureOf(json(lines(runStart, assistant('half'), runEndsFor(true)))).code).toBe('no-end-record');
  });

  test('after the exit nothing comes any more', () => {
    const session = open('pi', { mode: 'json' });
    play(session, good);
    expect(session.push(Buffer.from(good)).events).toEqual([]);
    expect(session.exited({ code: 1, signal: null, stderrTail: '' }).events).toEqual([]);
  });
});

describe('framing', () => {
  test('S052: only byte 0x0A ends a line', () => {
    const text = 'a\u2028b\u2029c\u0085d\re';
    // JSON.stringify leaves the first three as they are.
    const stdout = lines(runStart, assistant(text, 'toolUse'), assistant('the answer'), runEnd);
    const events = json(stdout);
    expect(events.flatMap((event) => (event.t === 'message' ? [event.text] : []))).toEqual([text, 'the answer']);
  });

  test('S053: text is byte-exact when every byte comes alone', () => {
    const text = 'Grüße 世界 👩‍💻 ok';
    const events = play(open('pi', { mode: 'json' }), lines(runStart, assistant(text), runEnd), OK, 1);
    expect(endOf(events)).toMatchObject({ text });
  });

  test('S055: a last line without a newline counts', () => {
    expect(endOf(json(good.trimEnd()))).toMatchObject({ text: 'the answer' });
    const alone = {
      type: 'agent_end',
      messages: [{ role: 'assistant', content: [{ type: 'text', text: 'alone' }], stopReason: 'stop' }],
    };
    expect(endOf(json(JSON.stringify(alone)))).toMatchObject({ text: 'alone' });
  });

  test('S056: BOM, banner, colours, CRLF, blank lines and bare values around the records', () => {
    const crlf = good.replaceAll('\n', '\r\n');
    const first = lines(runStart).trimEnd();
    const stdout = `\uFEFF${first}\r\nWelcome!\n\u001B[31mred\u001B[0m\n\nnull\n42\n[1]\n{"type":"agen\n${crlf}`;
    const events = json(stdout);
    expect(endOf(events)).toMatchObject({ text: 'the answer' });
    expect(notes(events, 'text')).toEqual(['Welcome!', 'red', 'null', '42', '[1]']);
    expect(notes(events, 'bad-record')).toHaveLength(1);
  });

  test('S063: growing updates are dropped, the final text comes once', () => {
    const text = 'x'.repeat(20_000);
    const updates = Array.from({ length: 200 }, (_, n) => ({
      type: 'message_update',
      message: { role: 'assistant', content: [{ type: 'text', text: text.slice(0, n * 100) }] },
    }));
    const events = json(lines(runStart, ...updates, assistant(text), runEnd));
    expect(events.map((event) => event.t)).toEqual(['session', 'model', 'message', 'usage', 'final']);
  });

  test('a line over 16 MiB leaves a note; after an ending message it counts as the end record it must be', () => {
    const huge = Buffer.concat([
      Buffer.from('{"type":"agent_end","messages":["'),
      Buffer.alloc(17 * 1024 * 1024, 'x'),
      Buffer.from('"]}\n'),
    ]);
    const before = Buffer.from(lines(runStart, assistant('the answer')));
    const after = Buffer.from(lines(settled));
    const events = play(open('pi', { mode: 'json' }), Buffer.concat([before, huge, after]), OK, 1024 * 1024);
    expect(endOf(events)).toMatchObject({ text: 'the answer' });
    expect(notes(events, 'line-too-long')).toHaveLength(1);
    expect(notes(events, 'second-end')).toEqual([]);

    const middle = play(open('pi', { mode: 'json' }), Buffer.concat([Buffer.from(lines(runStart)), huge]));
    expect(failureOf(middle).code).toBe('no-end-record');
  });

  test('one activity a call; progress only when work shows', () => {
    const session = open('pi', { mode: 'json' });
    const activity = (stdout: string) =>
      session.push(Buffer.from(stdout)).events.filter((event) => event.t === 'activity');
    expect(activity('banner\n')).toEqual([{ t: 'activity', progress: false }]);
    expect(activity('{"type":"queue_update","steering":[]}\n')).toEqual([{ t: 'activity', progress: false }]);
    expect(activity('{"type":"message_update"}\n{"type":"turn_start"}\n')).toEqual([{ t: 'activity', progress: true }]);
    expect(activity('{"type":"mess')).toEqual([{ t: 'activity', progress: false }]);
    expect(session.push(Buffer.alloc(0)).events).toEqual([]);
  });
});

describe('messages to people', () => {
  test('never hold the task, quoted plainly or in JSON', () => {
    const task = 'Keep "this"\nto yourself.';
    const error = `400: bad message ${JSON.stringify({ message: task })} ${task}`;
    const events = play(open('pi', { mode: 'json', task }), lines(runStart, failing(error), runEnd));
    expect(failureOf(events).message).toBe('400: bad message {"message":"[task]"} [task]');
    const stderrTail = `warning\nerror: ${TASK} failed\n\n`;
    const byExit = play(open('pi', { mode: 'json' }), lines(runStart), { code: 1, signal: null, stderrTail });
    expect(failureOf(byExit).message).toBe('ended with exit code 1: error: [task] failed');
  });

  test('are bounded', () => {
    const events = json(lines(runStart, failing(`500 ${'😀'.repeat(5000)}`), runEnd));
    expect(failureOf(events).message.length).toBeLessThanOrEqual(500);
    expect(failureOf(events).message).toMatch(/^500 (?:😀)+…$/u);
  });
});
