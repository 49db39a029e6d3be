import { describe, expect, test } from 'vitest';
import { isNatural, judge, nothingSeen, toolsLacking } from '../../machines/policy/judge.ts';
import type { AgentEnd, FailureCode, Findings } from '../../machines/protocol.ts';
import { AT } from './models.ts';

/** What is held against an attempt that says it has done its work, and in which order. */

const DONE: AgentEnd = { type: 'success', chars: 4, stop: 'stop' };
const SILENT: AgentEnd = { type: 'failure', failure: { code: 'empty-output', message: 'it said nothing' } };
const FINE: Findings = { at: AT, value: { type: 'valid' }, files: 2, missing: [], changes: { type: 'some' } };
/** Everything is wrong at once. */
const WRONG: Findings = {
  at: AT,
  value: { type: 'missing' },
  files: 1,
  missing: [{ file: 'b.txt', why: 'was not written' }],
  changes: { type: 'none' },
};

describe('the order', () => {
  const told = { lacks: ['bash'], failedTool: 'edit' };
  test.each<[FailureCode, AgentEnd, Findings]>([
    ['tool-unavailable', { ...SILENT, ...told }, WRONG],
    ['schema-missing', { ...SILENT, failedTool: 'edit' }, WRONG],
    ['hidden-error', { ...SILENT, failedTool: 'edit' }, { ...WRONG, value: null }],
    ['empty-output', SILENT, { ...WRONG, value: null }],
    ['missing-output', DONE, { ...WRONG, value: null }],
    ['no-changes', DONE, { ...WRONG, value: null, missing: [] }],
  ])('%s comes before what follows it', (code, end, findings) => {
    expect(judge(end, findings)?.code).toBe(code);
  });

  test('nothing is held against what is all there, or was not asked for', () => {
    expect(judge(DONE, FINE)).toBeNull();
    expect(judge(DONE, null)).toBeNull();
    expect(judge(DONE, { at: AT, value: null, files: 0, missing: [], changes: null })).toBeNull();
  });
});

test('a value, or all its files, is an answer; with nothing of that an agent that says nothing has failed', () => {
  expect(judge(SILENT, FINE)).toBeNull();
  expect(judge(SILENT, { ...FINE, value: null })).toBeNull();
  expect(judge(SILENT, { ...FINE, value: null, files: 0 })?.code).toBe('empty-output');
  expect(judge(SILENT, null)).toEqual((SILENT as { failure: object }).failure);
});

test('a value that is invalid is told by paths and rules; changes that could not be seen do not count', () => {
  const problems = [
    { path: '/a', message: 'must be a number' },
    { path: '', message: 'must be an object' },
  ];
  expect(judge(DONE, { ...FINE, value: { type: 'invalid', problems } })).toMatchObject({
    code: 'schema-invalid',
    message: 'the value does not fit its schema: /a must be a number; the whole must be an object',
  });
  expect(judge(DONE, { ...FINE, changes: { type: 'unknown', reason: 'git is not there' } })).toMatchObject({
    code: 'no-changes',
    message: expect.stringContaining('git is not there') as string,
    detail: { seen: false },
  });
});

test('of an attempt whose end was not seen nothing counts that was asked for', () => {
  const all = { value: true, repairs: 1, files: ['a.txt'], changes: true };
  expect(judge(DONE, nothingSeen(all, AT))?.code).toBe('schema-missing');
  expect(judge(DONE, nothingSeen({ ...all, value: false }, AT))?.code).toBe('missing-output');
  expect(judge(DONE, nothingSeen({ ...all, value: false, files: [] }, AT))?.code).toBe('no-changes');
});

test('what ended otherwise is not judged by what it has to show', () => {
  expect(isNatural(DONE)).toBe(true);
  expect(isNatural(SILENT)).toBe(true);
  expect(isNatural({ type: 'failure', failure: { code: 'rate-limited', message: '429' } })).toBe(false);
});

test('tools that are required and not reported; an agent that reports none says nothing about them', () => {
  expect(toolsLacking(['bash', 'edit', 'deploy'], ['edit', 'bash', 'read'])).toEqual(['deploy']);
  expect(toolsLacking(['bash'], null)).toEqual([]);
});
