import { describe, expect, expectTypeOf, test } from 'vitest';
import type { FailureClass, FailureCode } from '../../machines/protocol.ts';
import { resolvePlan, type PlanInput, type ResolvedStep } from '../../src/plan/index.ts';
import { brief, byDefault, errorsOf, options, parse, planFrom } from './support.ts';

type Fields = Pick<
  NonNullable<PlanInput['defaults']>,
  'limits' | 'retry' | 'leftovers' | 'survivors' | 'proof' | 'contain' | 'asks'
>;

/** The only step of a plan with these fields on it and in its defaults. */
function stepWith(fields: Fields, defaults: Fields = {}, work: object = { agent: 'pi', task: 'x' }): ResolvedStep {
  const plan = planFrom(resolvePlan({ version: 1, defaults, steps: [{ id: 'a', ...work, ...fields }] }, options));
  const [step] = plan.steps;
  if (step === undefined) throw new Error('no step');
  return step;
}
const limits = (fields: Fields['limits'], defaults?: Fields['limits']) =>
  stepWith({ limits: fields }, { limits: defaults }).limits;
const retry = (fields: Fields['retry'], defaults?: Fields['retry']) =>
  stepWith({ retry: fields }, { retry: defaults }).retry;

describe('a step with everything', () => {
  const text = `
version: 1
steps:
  - id: a
    agent: pi
    task: x
    limits: { attempt: 10m, firstOutput: 90s, stall: { after: 2m, action: retry }, tool: 300000 }
    retry:
      attempts: 3
      backoff: { first: 5s, factor: 1.5, most: 2m }
      startup: [1s]
      model: [10s, 1m]
      mostWait: 5m
      afterSideEffects: true
      unproven: true
      on:
        - { code: exit-code, text: "quota exceeded", as: next-model }
        - { text: ENOSPC, as: never }
        - { as: task }
    leftovers: fail
    survivors: declared
    proof: group
    contain: none
`;
  const plan = planFrom(parse(text));

  test('is filled in', () => {
    expect(plan.steps[0]).toMatchObject({
      limits: {
        attemptMs: 600_000,
        firstOutputMs: 90_000,
        stall: { afterMs: 120_000, action: 'retry' },
        toolMs: 300_000,
      },
      leftovers: 'fail',
      survivors: 'declared',
      proof: 'group',
      contain: 'none',
    });
    expect(plan.steps[0]?.retry).toStrictEqual({
      attempts: 3,
      backoff: { firstMs: 5_000, factor: 1.5, mostMs: 120_000 },
      startupMs: [1_000],
      modelMs: [10_000, 60_000],
      mostWaitMs: 300_000,
      afterSideEffects: true,
      unproven: true,
      rules: [
        { code: 'exit-code', text: 'quota exceeded', as: 'next-model' },
        { text: 'ENOSPC', as: 'never' },
        { as: 'task' },
      ],
    });
  });

  test('is plain JSON', () => {
    expect(JSON.parse(JSON.stringify(plan))).toStrictEqual(plan);
  });

  test('in defaults it means the same', () => {
    const value = { retry: 3, limits: { tool: '1m' }, proof: 'contained', leftovers: 'keep' } as const;
    expect(stepWith({}, value)).toEqual(stepWith(value));
  });
});

describe('limits', () => {
  test('none by default', () => {
    expect(stepWith({}).limits).toEqual(byDefault.task.limits);
  });

  test('a stall that is only a duration is only noticed, whatever the default does about it', () => {
    const noticed = { afterMs: 120_000, action: 'notice' };
    expect(limits({ stall: '2m' }).stall).toEqual(noticed);
    expect(limits({ stall: { after: 120_000 } }).stall).toEqual(noticed);
    expect(limits({ stall: '2m' }, { stall: { after: '1m', action: 'stop' } }).stall).toEqual(noticed);
  });

  test('each field is looked up in defaults, and none undoes it there', () => {
    const defaults = { attempt: '10m', firstOutput: '1m', stall: '2m', tool: '5m' };
    expect(limits({ attempt: '1m' }, defaults)).toEqual({
      attemptMs: 60_000,
      firstOutputMs: 60_000,
      stall: { afterMs: 120_000, action: 'notice' },
      toolMs: 300_000,
    });
    const none = { attempt: 'none', firstOutput: 'none', stall: 'none', tool: 'none' };
    expect(limits(none, defaults)).toEqual(byDefault.task.limits);
  });
});

describe('retry', () => {
  test.each<[string, Fields['retry'], Fields['retry'], Partial<ResolvedStep['retry']>]>([
    ['a number', 3, undefined, { attempts: 3 }],
    ['none', 'none', undefined, { attempts: 1, startupMs: [], modelMs: [] }],
    ['none over defaults', 'none', { attempts: 5, startup: ['1s'], model: ['1s'] }, { startupMs: [], modelMs: [] }],
    ['none keeps what it does not speak of', 'none', { unproven: true }, { unproven: true, startupMs: [], modelMs: [] }],
    ['a number over defaults', 2, { attempts: 5, startup: ['1s'] }, { attempts: 2, startupMs: [1_000] }],
    ['a number over none', 2, 'none', { attempts: 2, startupMs: [], modelMs: [] }],
    ['false over true', { unproven: false }, { unproven: true }, {}],
    ['no waits', { startup: 'none', model: [] }, undefined, { startupMs: [], modelMs: [] }],
    ['rules replace rules', { on: [{ as: 'never' }] }, { on: [{ as: 'task' }] }, { rules: [{ as: 'never' }] }],
    ['no rules', { on: [] }, { on: [{ as: 'task' }] }, {}],
    ['a first wait', { backoff: '5s' }, undefined, { backoff: { firstMs: 5_000, factor: 2, mostMs: 60_000 } }],
    ['a long first wait', { backoff: '5m' }, undefined, { backoff: { firstMs: 300_000, factor: 2, mostMs: 300_000 } }],
    ['a backoff replaces a backoff', { backoff: { factor: 1 } }, { backoff: '9s' },
      { backoff: { firstMs: 1_000, factor: 1, mostMs: 60_000 } }],
  ])('%s', (_, written, defaults, expected) => {
    expect(retry(written, defaults)).toStrictEqual({ ...byDefault.task.retry, ...expected });
  }); // prettier-ignore

  test('a command has no model to wait for, whatever the defaults say', () => {
    const step = stepWith({}, { retry: { model: ['1s'], startup: ['2s'] } }, { run: 'ls' });
    expect(step.retry).toStrictEqual({ ...byDefault.run.retry, startupMs: [2_000] });
  });

  test('a value is copied, not kept', () => {
    const written = { startup: [1_000], on: [{ as: 'task' as const }] };
    const resolved = retry(written);
    written.startup.push(2_000);
    written.on.pop();
    expect(resolved).toMatchObject({ startupMs: [1_000], rules: [{ as: 'task' }] });
  });

  test('rules know every code that an attempt can end with, and every class', () => {
    type Written = NonNullable<NonNullable<Exclude<Fields['retry'], string | number>>['on']>[number];
    expectTypeOf<NonNullable<Written['code']>>().toEqualTypeOf<
      Exclude<
        FailureCode,
        'template' | 'unproven' | 'not-contained' | 'launch-changed' | 'session-busy' | 'runner-start'
      >
    >();
    expectTypeOf<Written['as']>().toEqualTypeOf<FailureClass>();
  });
});

describe('the end of an attempt', () => {
  test('the step wins over the defaults', () => {
    const defaults = { leftovers: 'keep', survivors: 'declared', proof: 'group', contain: 'pidns' } as const;
    expect(stepWith({}, defaults)).toMatchObject(defaults);
    const step = { leftovers: 'end', survivors: 'none', proof: 'contained', contain: 'cgroup' } as const;
    expect(stepWith(step, defaults)).toMatchObject(step);
  });

  test('the caller says what proof a plan needs that does not', () => {
    const steps = [
      { id: 'a', run: 'ls' },
      { id: 'b', run: 'ls', proof: 'searched' },
    ];
    const plan = planFrom(resolvePlan({ version: 1, steps }, { ...options, proof: 'group' }));
    expect(plan.steps.map(({ proof }) => proof)).toEqual(['group', 'searched']);
  });
});

describe("how the task reaches an agent of one's own", () => {
  test.each(['stdin', 'argv', 'file'] as const)('%s', (task) => {
    const agents = { mine: { adapter: 'command', command: ['solve'], task } };
    const plan = planFrom(resolvePlan({ version: 1, agents, steps: [{ id: 'a', agent: 'mine', task: 'x' }] }, options));
    expect(plan.agents['mine']).toEqual({ name: 'mine', ...agents.mine });
  });
});

const head = 'version: 1\nsteps:\n  - id: a\n    agent: pi\n    task: x\n    ';
const message = (text: string) => errorsOf(parse(`${head}${text}\n`))[0]?.message;

describe('mistakes', () => {
  test.each<[string, string, string[]]>([
    ['an attempt of no time', 'limits: { attempt: 0s }', ['6:24 steps[0].limits.attempt bad-value']],
    ['less than no time', 'limits: { tool: -5 }', ['6:21 steps[0].limits.tool bad-value']],
    ['longer than a timer', 'limits: { firstOutput: 25d }', ['6:28 steps[0].limits.firstOutput bad-value']],
    ['a stall of no time', 'limits: { stall: 0 }', ['6:22 steps[0].limits.stall bad-value']],
    ['a stall of no unit', 'limits: { stall: "2" }', ['6:22 steps[0].limits.stall bad-value']],
    ['a stall that is true', 'limits: { stall: true }', ['6:22 steps[0].limits.stall wrong-type']],
    ['a stall without time', 'limits: { stall: { action: stop } }', ['6:22 steps[0].limits.stall.after missing-field']],
    ['a stall after 0', 'limits: { stall: { after: 0m } }', ['6:31 steps[0].limits.stall.after bad-value']],
    ['a stall after none', 'limits: { stall: { after: none } }', ['6:31 steps[0].limits.stall.after bad-value']],
    ['a stall that explodes', 'limits: { stall: { after: 1m, action: explode } }', ['6:43 steps[0].limits.stall.action bad-value']],
    ['a stall with more', 'limits: { stall: { after: 1m, acton: stop } }', ['6:35 steps[0].limits.stall.acton unknown-field']],
    ['limits as text', 'limits: 10m', ['6:13 steps[0].limits wrong-type']],
    ['a limit of later', 'limits: { output: { bytes: 5 } }', ['6:15 steps[0].limits.output unsupported-field']],
    ['no attempts', 'retry: 0', ['6:12 steps[0].retry bad-value']],
    ['too many attempts', 'retry: { attempts: 21 }', ['6:24 steps[0].retry.attempts bad-value']],
    ['half an attempt', 'retry: { attempts: 1.5 }', ['6:24 steps[0].retry.attempts wrong-type']],
    ['half a retry', 'retry: 1.5', ['6:12 steps[0].retry wrong-type']],
    ['another word', 'retry: often', ['6:12 steps[0].retry wrong-type']],
    ['a misspelt field', 'retry: { attemps: 2 }', ['6:14 steps[0].retry.attemps unknown-field']],
    ['a list', 'retry: [2]', ['6:12 steps[0].retry wrong-type']],
    ['a factor below 1', 'retry: { backoff: { factor: 0.5 } }', ['6:33 steps[0].retry.backoff.factor bad-value']],
    ['a factor without end', 'retry: { backoff: { factor: .inf } }', ['6:33 steps[0].retry.backoff.factor wrong-type']],
    ['a backoff of 0', 'retry: { backoff: 0 }', ['6:23 steps[0].retry.backoff bad-value']],
    ['a misspelt backoff', 'retry: { backoff: { frist: 1s } }', ['6:25 steps[0].retry.backoff.frist unknown-field']],
    ['a wait of 0', 'retry: { startup: [1s, 0s] }', ['6:28 steps[0].retry.startup[1] bad-value']],
    ['a wait that is no time', 'retry: { model: [true] }', ['6:22 steps[0].retry.model[0] wrong-type']],
    ['one wait, no list', 'retry: { startup: 1s }', ['6:23 steps[0].retry.startup wrong-type']],
    ['no longest wait', 'retry: { mostWait: none }', ['6:24 steps[0].retry.mostWait bad-value']],
    ['yes as text', 'retry: { unproven: "yes" }', ['6:24 steps[0].retry.unproven wrong-type']],
    ['an unknown code', 'retry: { on: [{ code: exitcode, as: task }] }', ['6:27 steps[0].retry.on[0].code bad-value']],
    ['a code of no attempt', 'retry: { on: [{ code: template, as: task }] }', ['6:27 steps[0].retry.on[0].code bad-value']],
    ['an unknown class', 'retry: { on: [{ as: forever }] }', ['6:25 steps[0].retry.on[0].as bad-value']],
    ['a rule for nothing', 'retry: { on: [{ text: x }] }', ['6:19 steps[0].retry.on[0].as missing-field']],
    ['a rule of no text', 'retry: { on: [{ text: "", as: task }] }', ['6:27 steps[0].retry.on[0].text bad-value']],
    ['a misspelt rule', 'retry: { on: [{ txt: x, as: task }] }', ['6:21 steps[0].retry.on[0].txt unknown-field']],
    ['other leftovers', 'leftovers: eat', ['6:16 steps[0].leftovers bad-value']],
    ['other survivors', 'survivors: all', ['6:16 steps[0].survivors bad-value']],
    ['other proofs', 'proof: trust', ['6:12 steps[0].proof bad-value']],
    ['other containers', 'contain: docker', ['6:14 steps[0].contain bad-value']],
    ['a proof that cannot be', 'contain: none\n    proof: contained', ['6:14 steps[0].contain bad-value']],
    ['several at once', 'retry: { attempts: 0, mostWait: 0 }\n    limits: { tool: 0 }',
      ['6:24 steps[0].retry.attempts bad-value', '6:37 steps[0].retry.mostWait bad-value', '7:21 steps[0].limits.tool bad-value']],
  ])('%s', (_, text, expected) => {
    expect(brief(parse(`${head}${text}\n`))).toEqual(expected);
  }); // prettier-ignore

  test.each<[string, string, string[]]>([
    ['in defaults', 'defaults: { limits: { tool: 0 }, retry: { on: [{ as: x }] } }', [
      '2:29 defaults.limits.tool bad-value',
      '2:54 defaults.retry.on[0].as bad-value',
    ]],
    ['an unknown field in defaults', 'defaults: { limits: { stall: { after: 1m, x: 1 } } }', [
      '2:43 defaults.limits.stall.x unknown-field',
    ]],
    ['a proof that cannot be, told once', 'defaults: { proof: contained, contain: none }', [
      '2:40 defaults.contain bad-value',
    ]],
    ['a proof that only this step cannot have', 'defaults: { contain: none }\nsteps: [{ id: a, run: ls, proof: contained }]', [
      '3:34 steps[0].proof bad-value',
    ]],
    ['a command that waits for its model', 'steps: [{ id: a, run: ls, retry: { model: [1s] } }]', [
      '2:43 steps[0].retry.model bad-value',
    ]],
    ['a delivery for an adapter that has its own', 'agents: { m: { adapter: pi, task: argv } }', [
      '2:35 agents.m.task not-honoured',
    ]],
    ['an unknown delivery', 'agents: { m: { adapter: command, command: [x], task: pipe } }', [
      '2:54 agents.m.task bad-value',
    ]],
  ])('%s', (_, text, expected) => {
    const steps = text.includes('steps') ? '' : 'steps: [{ id: a, run: ls }]\n';
    expect(brief(parse(`version: 1\n${text}\n${steps}`))).toEqual(expected);
  }); // prettier-ignore

  test.each<[object, object, string]>([
    [{ stall: '2m' }, {}, 'It goes into limits.'],
    [{ attempts: 2 }, {}, 'It goes into retry.'],
    [{ limits: { timeout: '1m' } }, {}, 'It goes into the step, beside its limits.'],
    [{ limits: { atempt: '1m' } }, {}, 'Did you mean "attempt"?'],
    [{ retry: { on: [{ as: 'task', when: 'x' }] } }, {}, 'Known here: code, text, as.'],
    [{}, { retry: 3 }, 'It goes into defaults, or a step.'],
    [{}, { timeout: '3m' }, 'It goes into limits, or defaults, or a step.'],
    [{}, { limits: { stall: '1m' } }, 'It goes into the limits of a step, or of defaults.'],
    [{}, { defaults: { backoff: '1m' } }, 'It goes into retry.'],
  ])('%j %j has its right place named', (step, plan, advice) => {
    const [error, ...others] = errorsOf(
      resolvePlan({ version: 1, ...plan, steps: [{ id: 'a', run: 'ls', ...step }] }, options),
    );
    expect(others).toEqual([]);
    expect(error?.code).toBe('unknown-field');
    expect(error?.message).toContain(advice);
  });

  test('a message says what would be right', () => {
    expect(message('limits: { stall: 2x }')).toBe(
      'must be a duration like 30m, or none; the units are ms, s, m, h and d, as in 500ms, 30m or 1h30m',
    );
    expect(message('retry: often')).toBe('must be a number of attempts (1 to 20), a mapping, or none, not text');
    expect(message('limits: { stall: { after: 1m, action: kill } }')).toBe(
      'must be one of notice, interrupt, stop, retry.',
    );
    expect(message('retry: { on: [{ code: exitcode, as: never }] }')).toMatch(/Did you mean "exit-code"\?$/);
    expect(message('contain: none\n    proof: contained')).toContain('every attempt would end unproven');
  });
});
