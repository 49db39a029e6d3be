import { describe, expect, test } from 'vitest';
import { outcomeOfRun } from '../../machines/policy/outcome.ts';
import type { Cause, StepOutcome, StepOutput } from '../../machines/protocol.ts';

const at = '2026-01-01T00:00:00.000Z';

const CAUSES: Record<StepOutcome, Cause> = {
  completed: { type: 'completed', at },
  failed: { type: 'failure', at, reason: 'exit-code' },
  stopped: { type: 'stop', at, source: 'test' },
  paused: { type: 'interrupt', at, source: 'test' },
  skipped: { type: 'dependency', at, step: 'other' },
};

const settled = (outcomes: readonly StepOutcome[]): StepOutput[] =>
  outcomes.map((outcome, index) => ({
    ...({} as StepOutput),
    step: `s${index}`,
    outcome,
    cause: CAUSES[outcome],
  }));

describe('a run that nobody ended is what its steps have become', () => {
  test.each<[StepOutcome[], string, Cause['type']]>([
    [[], 'completed', 'completed'],
    [['completed', 'completed'], 'completed', 'completed'],
    [['skipped', 'failed', 'paused', 'stopped'], 'failed', 'failure'],
    // A step that was stopped, and another that waited for it: nothing has failed, and what is paused can go on.
    [['stopped', 'skipped', 'paused'], 'paused', 'interrupt'],
    [['completed', 'stopped', 'skipped'], 'stopped', 'stop'],
    [['completed', 'paused', 'skipped'], 'paused', 'interrupt'],
  ])('%j: %s', (outcomes, state, cause) => {
    expect(outcomeOfRun(null, settled(outcomes), at)).toMatchObject({ state, cause: { type: cause } });
  });

  test('failed in part when something completed', () => {
    expect(outcomeOfRun(null, settled(['completed', 'failed']), at).partial).toBe(true);
    expect(outcomeOfRun(null, settled(['skipped', 'failed']), at).partial).toBe(false);
  });
});
