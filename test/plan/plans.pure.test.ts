import { describe, expect, test } from 'vitest';
import { parseDuration, planOf, planOfCommand, resolvePlan } from '../../src/plan/index.ts';
import { byDefault, options, parse, planFrom } from './support.ts';

const full = `
$schema: ./plan.json
version: 1
name: fix and review
cwd: work
labels: { team: billing }
limits: { concurrency: 2, timeout: 1h30m, nested: { depth: 1 } }
steering: { recover: true }
defaults: { agent: pi, model: [one, two], timeout: 10m, env: { A: a, B: b } }
agents:
  mine:
    adapter: pi
    command: [node, my-agent.mjs]
    mode: json
    env: [PATH]
    args: [--fast]
    stop: [{ do: abort, grace: 2s }, { do: SIGKILL }]
steps:
  - id: scout
    task: |
      List the modules.
  - id: fix
    agent: mine
    model: three
    task: "Fix {{ steps.scout.output }}"
    timeout: none
    env: { B: c }
    output: { allowEmpty: true }
  - id: lint
    needs: []
    run: npm run lint
    cwd: packages/a
  - id: last
    needs: [lint, scout, lint]
    run: [echo, "{{ steps.scout.output }}"]
    template: true
`;

describe('a plan with everything', () => {
  const plan = planFrom(parse(full, 'sub/full.yaml'));

  test('is filled in', () => {
    expect(plan).toMatchObject({
      version: 1,
      name: 'fix and review',
      cwd: '/plans/sub/work',
      limits: { concurrency: 2, timeoutMs: 5_400_000, nested: { depth: 1, total: 10 } },
      labels: { team: 'billing' },
      steering: { recoverAfterMs: 3_000 },
      agents: {
        mine: {
          name: 'mine',
          adapter: 'pi',
          command: ['node', 'my-agent.mjs'],
          mode: 'json',
          env: ['PATH'],
          args: ['--fast'],
          stop: [
            { do: 'abort', graceMs: 2_000 },
            { do: 'SIGKILL', graceMs: 3_000 },
          ],
        },
      },
    });
    expect(plan.steps).toEqual([
      {
        id: 'scout', agent: 'pi', model: ['one', 'two'], needs: [], timeoutMs: 600_000, cwd: '/plans/sub/work',
        env: { A: 'a', B: 'b' }, task: 'List the modules.\n', template: true, run: null, allowEmpty: false, output: null, ...byDefault.task,
      },
      {
        id: 'fix', agent: 'mine', model: ['three'], needs: ['scout'], timeoutMs: null, cwd: '/plans/sub/work',
        env: { A: 'a', B: 'c' }, task: 'Fix {{ steps.scout.output }}', template: true, run: null, allowEmpty: true, output: null, ...byDefault.task,
      },
      {
        id: 'lint', agent: 'command', model: [], needs: [], timeoutMs: 600_000, cwd: '/plans/sub/work/packages/a',
        env: { A: 'a', B: 'b' }, task: null, template: true, run: 'npm run lint', allowEmpty: true, output: null,
        ...byDefault.run,
      },
      {
        id: 'last', agent: 'command', model: [], needs: ['scout', 'lint'], timeoutMs: 600_000, cwd: '/plans/sub/work',
        env: { A: 'a', B: 'b' }, task: null, template: true, run: ['echo', '{{ steps.scout.output }}'], allowEmpty: true, output: null,
        ...byDefault.run,
      },
    ]); // prettier-ignore
  });

  test('is plain JSON', () => {
    expect(JSON.parse(JSON.stringify(plan))).toEqual(plan);
  });
});

describe('defaults', () => {
  test('the smallest plan', () => {
    const plan = planFrom(parse('version: 1\nsteps: [{ id: a, run: ls }]', 'small.yml'));
    expect(plan).toEqual({
      version: 1, name: 'small', cwd: '/plans', limits: { concurrency: 4, timeoutMs: null, nested: { depth: 3, total: 10 } }, labels: {}, agents: {},
      steps: [
        {
          id: 'a', agent: 'command', model: [], needs: [], timeoutMs: null, cwd: '/plans', env: {}, task: null,
          template: true, run: 'ls', allowEmpty: true, output: null,
        ...byDefault.run,
        },
      ],
    }); // prettier-ignore
  });

  test('JSON and objects give the same plan as YAML', () => {
    const value = {
      version: 1,
      steps: [
        { id: 'a', agent: 'pi', task: 'x "y"\n😀' },
        { id: 'b', run: ['ls'] },
      ],
    };
    const json = planFrom(parse(JSON.stringify(value, null, '\t'), 'plan.json'));
    expect(json).toEqual(planFrom(resolvePlan(value, options)));
    expect(json).toEqual(planFrom(parse(JSON.stringify(value), 'plan.yaml')));
  });

  test('an object is copied, not kept', () => {
    const step = { id: 'a', run: ['ls'], env: { A: 'a' } };
    const plan = planFrom(resolvePlan({ version: 1, steps: [step] }, options));
    step.run.push('-l');
    step.env.A = 'b';
    expect(plan.steps[0]).toMatchObject({ run: ['ls'], env: { A: 'a' } });
  });

  test('anchors and aliases may be used', () => {
    const plan = planFrom(parse('version: 1\nsteps:\n  - { id: a, run: &c [ls, -l] }\n  - { id: b, run: *c }\n'));
    expect(plan.steps[1]?.run).toEqual(['ls', '-l']);
  });

  test('ids that are names of JavaScript are only names', () => {
    const plan = planFrom(
      parse('version: 1\nsteps: [{ id: constructor, run: ls }, { id: b, run: ["{{ steps.constructor.output }}"] }]'),
    );
    expect(plan.steps[1]?.needs).toEqual(['constructor']);
  });

  test('ten thousand steps in a chain, each reading the first', () => {
    const steps = Array.from({ length: 10_000 }, (_, n) => ({
      id: `s${n}`,
      run: n === 0 ? ['ls'] : ['echo', '{{ steps.s0.output }}'],
    }));
    expect(planFrom(resolvePlan({ version: 1, steps }, options)).steps).toHaveLength(10_000);
  });
});

describe('plans of one step', () => {
  test('a task is taken as it is', () => {
    const plan = planFrom(planOf({ agent: 'pi', task: 'what is {{ this }}?', model: 'm', timeout: '5m' }, options));
    expect(plan.name).toBe('pi');
    expect(plan.steps).toMatchObject([
      { id: 'task', agent: 'pi', model: ['m'], timeoutMs: 300_000, task: 'what is {{ this }}?', template: false },
    ]);
  });

  test('a command too', () => {
    const plan = planFrom(planOfCommand(['/bin/echo', '{{ x }}', ''], { ...options, labels: { a: 'b' } }));
    expect(plan).toMatchObject({ name: 'echo', cwd: '/plans', labels: { a: 'b' } });
    expect(plan.steps).toMatchObject([
      { id: 'command', agent: 'command', run: ['/bin/echo', '{{ x }}', ''], template: false, allowEmpty: true },
    ]);
  });
});

describe('parseDuration', () => {
  test.each<[string | number, number]>([
    ['500ms', 500],
    ['30m', 1_800_000],
    ['1h30m', 5_400_000],
    ['1.5 h', 5_400_000],
    ['1h 5s', 3_605_000],
    ['2D', 172_800_000],
    [1, 1],
    [2_147_483_647, 2_147_483_647],
  ])('%s is %i ms', (text, ms) => {
    expect(parseDuration(text)).toEqual({ type: 'ok', ms });
  });

  test.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2_147_483_648, 0.2, '', '30', '-5m', '5x', 'm', '1h-5m', '25d', '0.1ms', '1e3s'])(
    '%s is none',
    (text) => {
      expect(parseDuration(text)).toMatchObject({ type: 'bad' });
    },
  ); // prettier-ignore
});
