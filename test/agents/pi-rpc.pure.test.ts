import { expect, test } from 'vitest';
import type { AgentEvent } from '../../src/agents/index.ts';
import {
  assistant,
  ends,
  failing,
  lines,
  notes,
  open,
  prompted,
  runEnd,
  runEndsFor,
  runStart,
  settled,
  state,
} from './drive.ts';

const good = lines(runStart, assistant('the answer'), runEnd);
function talk(): { say(stdout: string): { events: AgentEvent[]; sent: unknown[] } } {
  const session = open('pi');
  session.start();
  return {
    say(stdout) {
      const { events, send } = session.push(Buffer.from(stdout));
      return { events, sent: send.map((line) => JSON.parse(line) as unknown) };
    },
  };
}
const ASK = { id: 'coxswain-state', type: 'get_state' };

test('the task is a command on stdin, one line whatever it holds', () => {
  const task = '-x @y "z"\nsecond line\u2028';
  const { send } = open('pi', { task }).start();
  expect(send).toHaveLength(1);
  expect(send[0]?.indexOf('\n')).toBe((send[0]?.length ?? 0) - 1);
  expect(JSON.parse(send[0] ?? '')).toEqual({ id: 'coxswain-prompt', type: 'prompt', message: task });
  expect(open('pi', { mode: 'json' }).start().send).toEqual([]);
});

test('agent_end is confirmed by a state at rest', () => {
  const pi = talk();
  pi.say(prompted() + state({ isStreaming: true }));
  const ended = pi.say(good);
  expect(ended.sent).toEqual([ASK]);
  expect(ends(ended.events)).toEqual([]);
  expect(ends(pi.say(state()).events)).toMatchObject([{ t: 'final', text: 'the answer' }]);
});

test('a retry or a busy state is no confirmation', () => {
  const pi = talk();
  const retry = { type: 'auto_retry_start', attempt: 1, maxAttempts: 3, delayMs: 9, errorMessage: 'x' };
  const failed = pi.say(lines(runStart, failing('503 later'), runEnd, retry));
  expect(ends(failed.events)).toEqual([]);
  expect(ends(pi.say(state()).events)).toEqual([]);
  expect(pi.say(good).sent).toEqual([ASK]);
  expect(ends(pi.say(state({ isStreaming: true })).events)).toEqual([]);
  // Asked again when something moved, not before.
  expect(pi.say(state({ isStreaming: true })).sent).toEqual([]);
  expect(pi.say(lines({ type: 'queue_update' })).sent).toEqual([ASK]);
  expect(ends(pi.say(state({ pendingMessageCount: 1 })).events)).toEqual([]);
  expect(pi.say(good).sent).toEqual([ASK]);
  expect(ends(pi.say(state()).events)).toHaveLength(1);
});

test('what is queued does not keep a failed run open', () => {
  const pi = talk();
  pi.say(lines(runStart, failing('400 no'), runEnd));
  expect(ends(pi.say(state({ pendingMessageCount: 1 })).events)).toMatchObject([{ failure: { code: 'model-error' } }]);
});

test('pi 1 needs no confirmation', () => {
  const pi = talk();
  const { events, sent } = pi.say(lines(runStart, assistant('the answer'), runEndsFor(false), settled));
  expect(ends(events)).toMatchObject([{ t: 'final' }]);
  expect(sent).toEqual([]);
});

test('an agent that goes on takes its end back', () => {
  const pi = talk();
  pi.say(good);
  const { events } = pi.say(state() + lines(runStart));
  expect(ends(events).map((event) => event.t)).toEqual(['final', 'resumed']);
});

test('a refused prompt is an end with its reason', () => {
  const { events } = talk().say(prompted({ success: false, error: 'No API key found for fake.' }));
  expect(ends(events)).toMatchObject([
    { t: 'error', failure: { code: 'auth', message: 'No API key found for fake.' } },
  ]);
});

test('a task that pi took for a command of its own does not wait for ever', () => {
  const pi = talk();
  expect(pi.say(prompted()).sent).toEqual([ASK]);
  expect(ends(pi.say(state({ messageCount: 0 })).events)).toMatchObject([{ failure: { code: 'empty-output' } }]);
});

test('the state of the prompt may come before the first record of a run', () => {
  const pi = talk();
  pi.say(prompted());
  expect(ends(pi.say(state({ isStreaming: true, messageCount: 0 }) + lines(runStart)).events)).toEqual([]);
});

test('an extension that asks the person is answered that nobody is there', () => {
  const { sent, events } = talk().say(
    lines({ type: 'extension_ui_request', id: 'u1', method: 'confirm', title: 'Sure?' }),
  );
  expect(sent).toEqual([{ type: 'extension_ui_response', id: 'u1', cancelled: true }]);
  expect(notes(events, 'text')).toHaveLength(1);
  expect(talk().say(lines({ type: 'extension_ui_request', id: 'u2', method: 'setStatus' })).sent).toEqual([]);
});

test('finish closes stdin, abort is a command; one-shot has neither', () => {
  const rpc = open('pi');
  expect(rpc.finish().closeStdin).toBe(true);
  expect(rpc.abort()).toMatchObject({ supported: true, send: ['{"id":"coxswain-abort","type":"abort"}\n'] });
  const oneShot = open('pi', { mode: 'json' });
  expect(oneShot.finish().closeStdin).toBe(false);
  expect(oneShot.abort()).toMatchObject({ supported: false, send: [] });
});
