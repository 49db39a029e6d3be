import { expect, test } from 'vitest';
import type { AgentEvent, AgentSession } from '../../src/agents/index.ts';
import { OK, assistant, ends, lines, notes, open, prompted, runEnd, runStart, state } from './drive.ts';

const good = lines(runStart, assistant('the answer'), runEnd);
const user = (text: string): unknown => ({ type: 'message_end', message: { role: 'user', content: text } });
const steered = (pi: AgentSession, leftMs: number): string => {
  const { send, supported } = pi.wrapUp(leftMs);
  expect(supported).toBe(true);
  const command = JSON.parse(send[0] ?? '{}') as { type?: string; message?: string };
  expect(command.type).toBe('steer');
  return command.message ?? '';
};
const working = (): AgentSession => {
  const pi = open('pi');
  pi.start();
  pi.push(Buffer.from(lines(runStart)));
  return pi;
};
const say = (pi: AgentSession, stdout: string): AgentEvent[] => pi.push(Buffer.from(stdout)).events;

test.each([
  [600_000, 'about 10 minutes are left'],
  [119_999, 'about 119 seconds are left'],
  [1999, 'about 1 second is left'],
  [0, 'less than a second is left'],
  [-5, 'less than a second is left'],
])('%i ms: %s', (leftMs, words) => {
  expect(steered(working(), leftMs)).toContain(words);
});

test('is a message for the running turn, and the end is told as ever', () => {
  const pi = working();
  const message = steered(pi, 60_000);
  expect(say(pi, lines(user(message)))).toContainEqual({ t: 'message', role: 'user', text: message });
  say(pi, good);
  expect(ends(say(pi, state({ pendingMessageCount: 1 })))).toEqual([]);
  say(pi, lines({ type: 'queue_update' }));
  expect(ends(say(pi, state()))).toMatchObject([{ t: 'final', text: 'the answer' }]);
});

test('that comes too late keeps nothing open', () => {
  const pi = working();
  steered(pi, 60_000);
  say(pi, good);
  expect(ends(say(pi, state({ pendingMessageCount: 2 })))).toEqual([]);
  say(pi, lines({ type: 'queue_update' }));
  expect(ends(say(pi, state({ pendingMessageCount: 1 })))).toMatchObject([{ t: 'final', text: 'the answer' }]);
});

test('that begins a run of its own after the end takes nothing back', () => {
  const pi = working();
  const message = steered(pi, 60_000);
  say(pi, good + state({ pendingMessageCount: 1 }));
  const later = [...say(pi, lines(runStart, user(message))), ...pi.exited({ ...OK, stderrTail: '' }).events];
  expect(ends(later)).toEqual([]);
  expect(notes(later, 'text')).toHaveLength(1);
});

test('a task that pi took for a command of its own does not wait for the message', () => {
  const pi = open('pi');
  pi.start();
  steered(pi, 60_000);
  say(pi, prompted());
  const { events } = pi.push(Buffer.from(state({ messageCount: 0, pendingMessageCount: 1 })));
  expect(ends(events)).toMatchObject([{ failure: { code: 'empty-output' } }]);
});

test('is not said to an agent whose work has ended', () => {
  const pi = working();
  say(pi, good);
  expect(pi.wrapUp(1000)).toMatchObject({ supported: true, send: [] });
  say(pi, state());
  expect(pi.wrapUp(1000).send).toEqual([]);
  pi.exited({ ...OK, stderrTail: '' });
  expect(pi.wrapUp(1000).send).toEqual([]);
});

test('cannot be said in json mode', () => {
  const pi = open('pi', { mode: 'json' });
  pi.push(Buffer.from(lines(runStart)));
  expect(pi.wrapUp(1000)).toMatchObject({ supported: false, send: [] });
});
