import { describe, expect, test } from 'vitest';
import type { Cause } from '../../machines/protocol.ts';
import { describeCause, renderReport, type RunResult, type StepResult } from '../../src/record/index.ts';
import { at } from './support.ts';

const usage = { input: 10, output: 20, cacheRead: 0, cacheWrite: 5, turns: 1, tools: 2 };
const done: Cause = { type: 'completed', at };

function step(over: Partial<StepResult>): StepResult {
  const proof = { verdict: 'gone', level: 'searched', leftovers: 0, kept: 0, survivors: 0 } as const;
  return {
    id: 'one',
    agent: 'pi',
    state: 'completed',
    cause: done,
    output: { text: 'the answer' },
    outputState: 'present',
    truncated: false,
    attempts: [
      {
        n: 1,
        instance: 'token-1',
        closedAt: '2026-12-01T10:00:01.000Z',
        agent: 'pi',
        model: null,
        outcome: 'completed',
        class: null,
        usage,
        exit: 0,
        signal: null,
        forcedExit: false,
        proof,
      },
    ],
    ...over,
  };
}

function result(steps: StepResult[], over: Partial<RunResult> = {}): RunResult {
  return {
    v: 1,
    id: 'r-1',
    name: 'a *bold* | name',
    epoch: 1,
    state: 'completed',
    cause: done,
    startedAt: at,
    endedAt: '2026-12-01T10:01:30.000Z',
    usage,
    steps,
    plan: { sha256: 'ab' },
    ...over,
  };
}

describe('the report', () => {
  test('says what ran, what came of it and where the rest is', () => {
    const text = renderReport(result([step({})]));
    expect(text).toContain(String.raw`# a \*bold\* | name: completed`);
    expect(text).toContain('(90 s)');
    expect(text).toContain('| one | pi | completed | 1 | gone (searched) |');
    expect(text).toContain('```text\nthe answer\n```');
    expect(text).toContain('`events.jsonl`');
    expect(text).toContain('cost unknown');
  });

  test('explains a failure with its code and its proof', () => {
    const failed = step({
      id: 'two|x',
      state: 'failed',
      cause: { type: 'failure', at, reason: 'exit-code' },
      error: { code: 'exit-code', message: 'it ended with exit code 3' },
      output: null,
      outputState: 'absent',
    });
    const attempt = failed.attempts[0];
    if (attempt) {
      attempt.exit = 3;
      attempt.proof = { verdict: 'unknown', level: 'group', leftovers: 0, kept: 0, survivors: 0, reason: 'no /proc' };
    }
    const text = renderReport(result([failed], { state: 'failed', partial: true }));
    expect(text).toContain(String.raw`| two\|x | pi | failed | 1 | unknown (no /proc) |`);
    expect(text).toContain('`exit-code`: it ended with exit code 3');
    expect(text).toContain('Attempt 1: completed, exit code 3');
    expect(text).toContain('something completed');
  });

  test('is of bounded size, and an output cannot leave its fence', () => {
    const long = renderReport(result([step({ output: { text: `\`\`\`\`\n${'x'.repeat(1_000_000)}` } })]));
    expect(long.length).toBeLessThan(5000);
    expect(long).toContain('`````text');
    expect(long).toContain('more characters are in `result.json`');
    const many = renderReport(result(Array.from({ length: 5000 }, (_, i) => step({ id: `s${i}` }))));
    expect(many.length).toBeLessThan(60_000);
    expect(many).toContain('4500 more steps');
  });

  test('an output in a file is named, not shown', () => {
    const text = renderReport(
      result([step({ output: { path: 'artifacts/one.txt', bytes: 9, lines: 1, sha256: 'x' } })]),
    );
    expect(text).toContain('9 bytes, 1 line, in `artifacts/one.txt`');
  });

  test('every cause has words', () => {
    const causes: Cause[] = [
      { type: 'stop', at, source: 'cli' },
      { type: 'run-deadline', at, limitMs: 1500 },
      { type: 'tool-limit', at, limitMs: 60_000, tool: 'bash' },
      { type: 'dependency', at, step: 'a' },
    ];
    expect(causes.map(describeCause)).toEqual([
      'stopped by cli',
      "the run's time limit of 1.5 s was reached",
      'the tool bash reached its time limit of 60 s',
      'a, which it needs, did not complete',
    ]);
  });
});
