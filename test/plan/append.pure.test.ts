import { describe, expect, test } from 'vitest';
import {
  type ResolvedPlan,
  parseDeadline,
  parseSteps,
  resolveAppend,
  resolvePlan,
  tellErrors,
} from '../../src/plan/index.ts';
import { options, planFrom } from './support.ts';

const known: ResolvedPlan = planFrom(
  resolvePlan(
    {
      version: 1,
      defaults: { agent: 'mine', timeout: '5m' },
      agents: { mine: { adapter: 'pi' } },
      steps: [
        { id: 'scout', task: 'look {{ x }}', template: false },
        { id: 'fix', task: 'fix', needs: ['scout'], output: { files: ['report.md'] } },
      ],
    },
    options,
  ),
);

const append = (...steps: unknown[]) => resolveAppend(steps, known, options);

describe('steps for a run that goes on', () => {
  test('see those before them, wait for the last, and get the defaults of the plan', () => {
    const appended = append(
      { id: 'review', task: 'Review {{ steps.scout.output }}' },
      { id: 'checks', run: 'true', needs: [] },
    );
    expect(appended).toMatchObject({
      type: 'ok',
      steps: [
        { id: 'review', agent: 'mine', needs: ['fix'], timeoutMs: 300_000, task: 'Review {{ steps.scout.output }}' },
        { id: 'checks', agent: 'command', needs: [], cwd: known.cwd },
      ],
    });
    expect((appended as { steps: unknown[] }).steps).toHaveLength(2);
  });

  test('an id that the run has is not said to be at a position that nobody sees', () => {
    const refused = append({ id: 'fix', task: 'x' }, { id: 'z', task: 'x' }, { id: 'z', task: 'x' });
    const { errors } = refused as { errors: { message: string }[] };
    expect(errors.map(({ message }) => message.replace(/ already.*/, ''))).toEqual([
      '"fix" is the id of a step of the run',
      '"z" is the id of steps[1]',
    ]);
  });

  test.each([
    [[{ id: 'fix', task: 'x' }], 'steps[0].id', 'duplicate-id'],
    [
      [
        { id: 'ok', task: 'x' },
        { id: 'z', task: 'x', needs: ['nobody'] },
      ],
      'steps[1].needs[0]',
      'unknown-step',
    ],
    [[{ id: 'z', task: 'x', agent: 'nobody' }], 'steps[0].agent', 'unknown-agent'],
    [[{ id: 'z', task: 'x', soon: true }], 'steps[0].soon', 'unknown-field'],
    [[{ id: 'z', task: 'x', needs: [], output: { file: './report.md' } }], 'steps[0].output.file', 'bad-value'],
    [[{ id: 'z' }], 'steps[0]', 'no-task'],
    [['z'], 'steps[0]', 'wrong-type'],
    [[{ id: 'z', task: '{{ steps.checks.output }}' }], 'steps[0].task', 'unknown-step'],
    [
      [
        { id: 'a', task: 'x', needs: ['b'] },
        { id: 'b', task: 'x', needs: ['a'] },
      ],
      'steps[0].needs[0]',
      'cycle',
    ],
  ] as [unknown[], string, string][])('%j is refused at %s: %s', (steps, field, code) => {
    const refused = append(...steps);
    expect(refused).toMatchObject({ type: 'invalid' });
    expect((refused as { errors: object[] }).errors).toContainEqual(expect.objectContaining({ field, code }));
  });

  test('too many are one mistake', () => {
    const many = Array.from({ length: 10_000 }, (_, n) => ({ id: `s${n}`, run: 'true' }));
    expect(append(...many)).toMatchObject({ type: 'invalid', errors: [{ code: 'too-many-steps' }], more: 0 });
  });

  test('mistakes go on record without what they may quote of a task', () => {
    const secret = 'sentinel_in_a_task';
    const refused = append(
      { id: 'y', task: `{{ steps.${secret}.output }} {{ ${secret} | ${secret} }}` },
      { id: 'z', task: 'x', needs: ['nobody'] },
    );
    if (refused.type === 'ok') throw new Error('it was taken');
    const told = tellErrors(refused.errors, 2);
    expect(told).not.toContain(secret);
    expect(told).toContain('steps[0].task: ');
    expect(told).toContain('steps[1].needs[0]: there is no step "nobody"');
    expect(told.endsWith(' more)')).toBe(true);
  });
});

test.each([
  ['- id: a\n  run: "true"\n', [{ id: 'a', run: 'true' }]],
  ['steps:\n  - id: a\n', [{ id: 'a' }]],
  ['[{"id": "a"}]', [{ id: 'a' }]],
])('a file of steps: %j', (text, steps) => {
  expect(parseSteps(text)).toEqual({ type: 'ok', steps });
});

test.each(['', 'id: a', '[]', 'steps: 3', '- a: [', '{"steps": {}}'])('no file of steps: %j', (text) => {
  expect(parseSteps(text)).toMatchObject({ type: 'bad' });
});

describe('a deadline', () => {
  const now = Date.parse('2026-12-01T10:00:00.000Z');
  test.each([
    ['10m', 600_000, '2026-12-01T10:10:00.000Z'],
    [5_000, 5_000, '2026-12-01T10:00:05.000Z'],
    ['now', 0, '2026-12-01T10:00:00.000Z'],
    [0, 0, '2026-12-01T10:00:00.000Z'],
    ['2026-12-01T10:00:01Z', 1_000, '2026-12-01T10:00:01.000Z'],
    ['2026-12-01T11:00+01:00', 0, '2026-12-01T10:00:00.000Z'],
    ['2020-01-01T00:00:00.000Z', 0, '2020-01-01T00:00:00.000Z'],
  ])('%j is %d ms from now, at %s', (value, limitMs, at) => {
    expect(parseDeadline(value, now)).toEqual({ type: 'ok', limitMs, at });
  });

  test.each([
    '',
    'soon',
    '10',
    '-5m',
    '2026-12-01',
    '2026-12-01T10:00:00',
    '2026-13-01T10:00:00Z',
    '2199-01-01T00:00:00Z',
    -1,
    NaN,
  ])('%j is none', (value) => {
    expect(parseDeadline(value, now)).toMatchObject({ type: 'bad' });
  });
});
