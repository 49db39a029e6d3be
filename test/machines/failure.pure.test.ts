import { describe, expect, test } from 'vitest';
import { asksForRetry, classOf } from '../../machines/policy/failure.ts';
import type { AttemptOutput, Cause, FailureClass, FailureCode, FailureRule } from '../../machines/protocol.ts';
import { AT, attemptOutput } from './models.ts';

/** What is done about a failure, as tables. */

const failed = (code: FailureCode, more: Partial<AttemptOutput> = {}, message = 'it failed'): AttemptOutput => ({
  ...attemptOutput('failed'),
  cause: { type: 'failure', at: AT, reason: code },
  failure: { code, message },
  ...more,
});
const endedBy = (cause: Cause): AttemptOutput => ({ ...attemptOutput('failed'), cause, failure: null });
const killed = (more: Partial<AttemptOutput> = {}): AttemptOutput =>
  failed('signal', { active: false, exit: { at: AT, code: null, signal: 'SIGKILL' }, ...more });
const exited = (more: Partial<AttemptOutput> = {}): AttemptOutput =>
  failed('exit-code', { active: false, exit: { at: AT, code: 1, signal: null }, ...more });
const stall = (action: 'stop' | 'retry'): Cause => ({ type: 'stall-limit', at: AT, limitMs: 1, action });
const LONG = 10_000;

test.each<[FailureCode, FailureClass]>([
  ['command-missing', 'never'],
  ['command-not-executable', 'never'],
  ['cwd-missing', 'never'],
  ['argument-list-too-long', 'never'],
  ['argument-invalid', 'never'],
  ['spawn-failed', 'never'],
  ['not-contained', 'never'],
  ['launch-changed', 'never'],
  ['template', 'never'],
  ['unproven', 'never'],
  ['runner-start', 'never'],
  ['tool-unavailable', 'never'],
  // S069: a larger model would be a candidate that the list names on purpose; none does.
  ['context-overflow', 'never'],
  ['resources-exhausted', 'startup'],
  ['rate-limited', 'model'],
  ['model-unavailable', 'model'],
  ['model-timeout', 'model'],
  ['empty-output', 'model'],
  // S068: a key that is wrong for one provider may be right for the next one.
  ['auth', 'next-model'],
  ['exit-code', 'task'],
  ['signal', 'task'],
  ['exited-mid-tool', 'task'],
  ['no-end-record', 'task'],
  ['model-error', 'task'],
  ['aborted', 'task'],
  ['length', 'task'],
  ['protocol', 'task'],
  ['leftovers', 'task'],
])('%s is %s', (code, kind) => {
  expect(classOf(failed(code), [], LONG)).toBe(kind);
});

test('what was ended from outside leaves nothing to decide, nor what went well', () => {
  const outside: Cause[] = [
    { type: 'stop', at: AT, source: 'test' },
    { type: 'runner-signal', at: AT, signal: 'SIGTERM' },
    { type: 'runner-crashed', at: AT, message: 'bug' },
    { type: 'run-deadline', at: AT, limitMs: 1 },
    { type: 'step-limit', at: AT, limitMs: 1 },
    { type: 'budget', at: AT, budget: 'turns' },
    { type: 'interrupt', at: AT, source: 'test' },
    { type: 'superseded', at: AT, by: 'b' },
    { type: 'dependency', at: AT, step: 'b' },
    { type: 'completed', at: AT },
  ];
  expect(outside.map((cause) => classOf(endedBy(cause), [{ as: 'task' }], LONG))).toEqual(outside.map(() => null));
});

test('limits of the attempt alone, and a broken protocol, count as failures at the task', () => {
  const limits: Cause[] = [
    { type: 'attempt-limit', at: AT, limitMs: 1 },
    { type: 'first-output-limit', at: AT, limitMs: 1 },
    { type: 'tool-limit', at: AT, limitMs: 1, tool: 'bash' },
    { type: 'stall-limit', at: AT, limitMs: 1, action: 'stop' },
  ];
  expect(limits.map((cause) => classOf(endedBy(cause), [], LONG))).toEqual(limits.map(() => 'task'));
  const broken = { ...failed('protocol'), cause: { type: 'protocol-error', at: AT, reason: 'garbage' } as const };
  expect(classOf(broken, [], LONG)).toBe('task');
});

test('only a stall that is to be tried again asks for it', () => {
  expect([stall('stop'), stall('retry'), { type: 'completed', at: AT } as const].map(asksForRetry)).toEqual([
    false,
    true,
    false,
  ]);
});

describe('a start that failed (S070)', () => {
  test.each<[string, AttemptOutput, number, FailureClass]>([
    ['killed soon and without a word', killed(), 50, 'startup'],
    ['killed at the last moment that counts', killed(), 2_000, 'startup'],
    ['killed later', killed(), 2_001, 'task'],
    ['killed after a byte of output', killed({ active: true }), 50, 'task'],
    ['killed after a turn', killed({ usage: { ...killed().usage, turns: 1 } }), 50, 'task'],
    ['ended by another signal', killed({ exit: { at: AT, code: null, signal: 'SIGTERM' } }), 50, 'task'],
    ['an agent that exits at once', exited({ model: 'm/1' }), 50, 'startup'],
    ['a command that exits at once: that is its answer', exited({ model: null }), 50, 'task'],
    ['an agent that exits at once, with words', exited({ model: 'm/1', active: true }), 50, 'task'],
    ['no exit was seen', killed({ exit: null }), 50, 'task'],
  ])('%s', (_what, attempt, ranMs, kind) => {
    expect(classOf(attempt, [], ranMs)).toBe(kind);
  });
});

describe('rules of the plan', () => {
  const message = 'Provider says: The Usage Limit has been reached';
  test.each<[string, FailureRule[], FailureClass]>([
    ['none matches', [{ code: 'auth', as: 'never' }], 'task'],
    ['by code', [{ code: 'model-error', as: 'model' }], 'model'],
    ['by text, whatever its case', [{ text: 'usage limit', as: 'next-model' }], 'next-model'],
    ['code and text have to match both', [{ code: 'auth', text: 'usage limit', as: 'never' }], 'task'],
    ['one without either matches everything', [{ as: 'never' }], 'never'],
    ['the first that matches', [{ text: 'nothing', as: 'never' }, { as: 'startup' }, { as: 'model' }], 'startup'],
  ])('%s', (_what, rules, kind) => {
    expect(classOf(failed('model-error', {}, message), rules, LONG)).toBe(kind);
  });

  test('come before what we think of a start that failed', () => {
    const attempt = failed('signal', { active: false, exit: { at: AT, code: null, signal: 'SIGKILL' } });
    expect(classOf(attempt, [{ code: 'signal', as: 'never' }], 50)).toBe('never');
  });
});
