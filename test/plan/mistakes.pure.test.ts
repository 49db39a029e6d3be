import { describe, expect, test } from 'vitest';
import { formatPlanErrors, planOf, planOfCommand, resolvePlan } from '../../src/plan/index.ts';
import { brief, errorsOf, options, parse, planFrom } from './support.ts';

const head = 'version: 1\nsteps:\n';
const two = `${head}  - id: scout\n    agent: pi\n    task: Look.\n  - id: fix\n    run: ls\n`;

describe('each mistake has its line, its field and its code', () => {
  test.each<[string, string, string[]]>([
    ['bad YAML', 'version: 1\nsteps: [\n  {id: a\nname: x\n', ['4:1  syntax']],
    ['a duplicate key', 'version: 1\nname: a\nname: b\nsteps: [{id: a, run: ls}]', ['3:1  duplicate-key']],
    ['an empty text', '', ['null:null  empty-plan']],
    ['only comments', '# nothing yet\n', ['null:null  empty-plan']],
    ['steps without steps', 'version: 1\nsteps:\n', ['2:7 steps empty-plan']],
    ['an empty list', 'version: 1\nsteps: []\n', ['2:8 steps empty-plan']],
    ['no steps', 'version: 1\n', ['1:1 steps missing-field']],
    ['another version', 'version: 2\nsteps: [{id: a, run: ls}]', ['1:10 version bad-value']],
    ['a list', '- id: a\n', ['1:1  wrong-type']],
    ['an unknown field', `${two}    tiemout: 3s\n`, ['8:5 steps[1].tiemout unknown-field']],
    ['an unknown field above', `${two}labls: {}\n`, ['8:1 labls unknown-field']],
    ['a field of later', `${two}    accept: { verify: [ls] }\n`, ['8:5 steps[1].accept unsupported-field']],
    ['a budget', `limits: { budget: { tokens: 4 } }\n${two}`, ['1:11 limits.budget unsupported-field']],
    ['only a field of later', `${head}  - id: a\n    parallel: []\n`, ['4:5 steps[0].parallel unsupported-field']],
    ['a schema that is none', `${two}    output: { schema: 7 }\n`, ['8:23 steps[1].output.schema wrong-type']],
    [
      'a mistake in a schema',
      `${two}    output:\n      schema:\n        properties:\n          a: { type: nubmer }\n`,
      ['11:22 steps[1].output.schema.properties.a.type bad-schema'],
    ],
    [
      'a schema that is not there',
      `${two}    output: { schema: no.json }\n`,
      ['8:23 steps[1].output.schema bad-schema'],
    ],
    [
      'a repair of a command',
      `${two}    output: { schema: {}, repair: 1 }\n`,
      ['8:35 steps[1].output.repair bad-value'],
    ],
    ['a repair of nothing', `${two}    output: { repair: 1 }\n`, ['8:23 steps[1].output.repair bad-value']],
    [
      'too many repairs',
      `${two}    output: { schema: {}, repair: 6 }\n`,
      ['8:35 steps[1].output.repair bad-value', '8:35 steps[1].output.repair bad-value'],
    ],
    ['a file outside', `${two}    output: { file: ../x }\n`, ['8:21 steps[1].output.file bad-value']],
    [
      'a file by its whole path',
      `${two}    output: { files: [/tmp/x] }\n`,
      ['8:23 steps[1].output.files[0] bad-value'],
    ],
    ['a folder as file', `${two}    output: { file: x/ }\n`, ['8:21 steps[1].output.file bad-value']],
    ['a file twice', `${two}    output: { files: [a, ./a] }\n`, ['8:22 steps[1].output.files bad-value']],
    ['file and files', `${two}    output: { file: a, files: [b] }\n`, ['8:31 steps[1].output.files bad-value']],
    [
      'a file that two write side by side',
      `${two}    output: { file: a/x }\n  - id: b\n    needs: []\n    run: ls\n    output: { files: [y, ./a/../a/x] }\n`,
      ['12:26 steps[2].output.files[1] bad-value'],
    ],
    ['file and schema', `${two}    output: { file: a, schema: {} }\n`, ['8:21 steps[1].output.file bad-value']],
    ['changes nobody can see', `${two}    output: { changes: required }\n`, ['8:24 steps[1].output.changes bad-value']],
    ['a number as id', `${head}  - id: 7\n    run: ls\n`, ['3:9 steps[0].id wrong-type']],
    ['a bad id', `${head}  - id: a/b\n    run: ls\n`, ['3:9 steps[0].id bad-id']],
    ['no id', `${head}  - run: ls\n`, ['3:5 steps[0].id missing-field']],
    ['a duplicate id', `${two}  - id: scout\n    run: ls\n`, ['8:9 steps[2].id duplicate-id']],
    ['ids that differ in case', `${two}  - id: Fix\n    run: ls\n`, ['8:9 steps[2].id duplicate-id']],
    ['an unknown agent', `${head}  - id: a\n    agent: cluade\n    task: x\n`, ['4:12 steps[0].agent unknown-agent']],
    ['an unknown default agent', `defaults: { agent: x }\n${two}`, ['1:20 defaults.agent unknown-agent']],
    ['an unknown adapter', `agents: { mine: { adapter: x } }\n${two}`, ['1:28 agents.mine.adapter unknown-adapter']],
    ['no agent', `${head}  - id: a\n    task: x\n`, ['3:5 steps[0] missing-field']],
    ['a task for command', `${head}  - id: a\n    agent: command\n    task: x\n`, ['4:12 steps[0].agent bad-value']],
    ['an agent for run', `${two}    agent: pi\n`, ['8:12 steps[1].agent bad-value']],
    ['task and run', `${two}    task: x\n`, ['7:10 steps[1].run task-and-run']],
    ['neither', `${head}  - id: a\n`, ['3:5 steps[0] no-task']],
    ['an unknown need', `${two}    needs: [scout, scuot]\n`, ['8:20 steps[1].needs[1] unknown-step']],
    ['a need of itself', `${two}    needs:\n      - fix\n`, ['9:9 steps[1].needs[0] self-need']],
    ['needs as text', `${two}    needs: scout\n`, ['8:12 steps[1].needs wrong-type']],
    ['concurrency 0', `limits: { concurrency: 0 }\n${two}`, ['1:24 limits.concurrency bad-value']],
    ['concurrency 65', `limits: { concurrency: 65 }\n${two}`, ['1:24 limits.concurrency bad-value']],
    ['concurrency 1.5', `limits: { concurrency: 1.5 }\n${two}`, ['1:24 limits.concurrency wrong-type']],
    ['a depth too far', `limits: { nested: { depth: 17 } }\n${two}`, ['1:28 limits.nested.depth bad-value']],
    ['a patience that is none', `steering: { recover: never }\n${two}`, ['1:22 steering.recover bad-value']],
    ['steering that is unknown', `steering: { retry: true }\n${two}`, ['1:13 steering.retry unknown-field']],
    ['half a nested run', `limits: { nested: { total: 1.5 } }\n${two}`, ['1:28 limits.nested.total wrong-type']],
    ['a limit that is none', `limits: { nested: { most: 5 } }\n${two}`, ['1:21 limits.nested.most unknown-field']],
    ['a timeout of 0', `${two}    timeout: 0s\n`, ['8:14 steps[1].timeout bad-value']],
    ['a timeout beyond a timer', `${two}    timeout: 25d\n`, ['8:14 steps[1].timeout bad-value']],
    ['a timeout without unit', `${two}    timeout: "30"\n`, ['8:14 steps[1].timeout bad-value']],
    ['no such cwd', `${two}    cwd: missing\n`, ['8:10 steps[1].cwd cwd-missing']],
    ['a cwd that is a file', `${two}    cwd: a.txt\n`, ['8:10 steps[1].cwd cwd-not-a-directory']],
    ['no such cwd of the plan, told once', `cwd: missing\n${two}    cwd: x\n`, ['1:6 cwd cwd-missing']],
    ['a name that is no name', `labels: { __proto__: x }\n${two}`, ['1:11 labels.__proto__ bad-value']],
    [
      'a ladder that ends politely',
      `agents: { m: { adapter: pi, stop: [{ do: SIGTERM }] } }\n${two}`,
      ['1:35 agents.m.stop bad-value'],
    ],
    ['an unset name of a variable', `${two}    env: { "a=b": x }\n`, ['8:12 steps[1].env["a=b"] bad-value']],
    ['a number in env', `${two}    env: { PORT: 80 }\n`, ['8:18 steps[1].env.PORT wrong-type']],
  ])('%s', (_, text, expected) => {
    expect(brief(parse(text))).toEqual(expected);
  });
});

describe('template references', () => {
  test.each<[string, string, string[]]>([
    ['a step that does not exist', '    run: [x, "{{ steps.scuot.output }}"]\n', ['9:14 steps[2].run[1] unknown-step']],
    ['no ancestor', '    needs: []\n    run: [x, "{{ steps.fix.output }}"]\n', ['10:14 steps[2].run[1] not-an-ancestor']],
    ['itself', '    run: [x, "{{ steps.last.output }}"]\n', ['9:14 steps[2].run[1] not-an-ancestor']],
    ['in a task', '    agent: pi\n    task: "{{ steps.x.output }}"\n', ['10:11 steps[2].task unknown-step']],
    ['in env', '    run: ls\n    env: { A: "{{ steps.x.output }}" }\n', ['10:15 steps[2].env.A unknown-step']],
    ['a later step', '    run: [ls]\n  - id: z\n    needs: [last]\n    run: ["{{ steps.y.output }}"]\n  - id: y\n    run: ls\n',
      ['12:11 steps[3].run[0] not-an-ancestor']],
    ['a prototype key', '    run: ["{{ steps.__proto__.output }}"]\n', ['9:11 steps[2].run[0] unknown-step']],
    ['outputs of one step', '    run: ["{{ steps.fix.outputs }}"]\n', ['9:11 steps[2].run[0] bad-template']],
    ['an unknown name', '    run: ["{{ file }}"]\n', ['9:11 steps[2].run[0] bad-template']],
    ['a tag', '    run: ["{% if true %}x{% endif %}"]\n', ['9:11 steps[2].run[0] bad-template']],
    ['an open expression', '    run: ["{{ steps.fix.output"]\n', ['9:11 steps[2].run[0] bad-template']],
    ['a shell line', '    run: echo "{{ steps.fix.output }}"\n', ['9:10 steps[2].run shell-template']],
  ])('%s', (_, rest, expected) => {
    expect(brief(parse(`${two}  - id: last\n${rest}`))).toEqual(expected);
  }); // prettier-ignore

  test('an ancestor may be far away, and its id awkward', () => {
    const text = `${two}  - id: a.b\n    run: ls\n  - id: last\n    run: ["{{ steps.scout.output }}", "{{ steps['a.b'].output | upcase }}"]\n`;
    expect(planFrom(parse(text)).steps[3]?.needs).toEqual(['a.b']);
  });

  test('template: false takes braces as they are', () => {
    const text = `${two}  - id: last\n    template: false\n    run: docker ps --format "{{.ID}}"\n    env: { A: "{{ x" }\n`;
    expect(planFrom(parse(text)).steps[2]).toMatchObject({ template: false, env: { A: '{{ x' } });
  });

  test('defaults.env takes none', () => {
    expect(brief(parse(`defaults: { env: { A: "{{ steps.scout.output }}" } }\n${two}`))).toEqual([
      '1:23 defaults.env.A bad-template',
    ]);
  });
});

describe('cycles', () => {
  test('the path is named and a need in it is pointed at', () => {
    const text = `${head}  - { id: a, run: ls, needs: [c] }\n  - { id: b, run: ls, needs: [a] }\n  - { id: c, run: ls, needs: [b] }\n`;
    const [error, ...others] = errorsOf(parse(text));
    expect(others).toEqual([]);
    expect(error).toMatchObject({ line: 3, column: 31, field: 'steps[0].needs[0]', code: 'cycle' });
    expect(error?.message).toContain('a -> c -> b -> a');
  });

  test('a default need is explained', () => {
    const [error] = errorsOf(parse(`${head}  - { id: a, run: ls, needs: [b] }\n  - { id: b, run: ls }\n`));
    expect(error).toMatchObject({ line: 3, field: 'steps[0].needs[0]', code: 'cycle' });
    expect(error?.message).toContain('b names no needs');
  });

  test('beside needs that lead nowhere the right one is pointed at', () => {
    const text = `${head}  - { id: a, run: ls, needs: [zz, b] }\n  - { id: b, run: ls, needs: [a] }\n`;
    expect(brief(parse(text))).toEqual(['3:31 steps[0].needs[0] unknown-step', '3:35 steps[0].needs[1] cycle']);
  });

  test('a ring of 2,000 steps is found', () => {
    const steps = Array.from({ length: 2_000 }, (_, n) => ({
      id: `s${n}`,
      run: 'ls',
      needs: [`s${(n + 1) % 2_000}`],
    }));
    const [error] = errorsOf(resolvePlan({ version: 1, steps }, options));
    expect(error?.code).toBe('cycle');
    expect(error?.message.length).toBeLessThan(400);
  });
});

describe('all at once', () => {
  const many = `version: 1
nmae: x
steps:
  - id: a
    agent: pie
    task: 7
  - id: a
    run: ls
    needs: [b]
    cwd: missing
`;
  test('in the order of the text', () => {
    expect(brief(parse(many))).toEqual([
      '2:1 nmae unknown-field',
      '5:12 steps[0].agent unknown-agent',
      '6:11 steps[0].task wrong-type',
      '7:9 steps[1].id duplicate-id',
      '9:13 steps[1].needs[0] unknown-step',
      '10:10 steps[1].cwd cwd-missing',
    ]);
  });

  test('written for people: where, what, and what to do', () => {
    const lines = formatPlanErrors(errorsOf(parse(many))).split('\n');
    expect(lines[0]).toBe('plan.yaml:2:1 nmae: is not a field that is known here. Did you mean "name"?');
    expect(lines[1]).toBe(
      'plan.yaml:5:12 steps[0].agent: there is no agent "pie". Did you mean "pi"? Known: pi, command, claude.',
    );
    expect(lines[2]).toBe('plan.yaml:6:11 steps[0].task: must be text, not the number 7: put it in quotes, "7"');
  });

  test('twenty at most, and how many more', () => {
    const loaded = parse(head + Array.from({ length: 50 }, (_, n) => `  - { id: s${n}, run: 1 }\n`).join(''));
    if (loaded.type === 'ok') throw new Error('the plan was taken');
    expect(loaded.errors).toHaveLength(20);
    expect(loaded.more).toBe(30);
    expect(formatPlanErrors(loaded.errors, loaded.more)).toMatch(/\n… and 30 more$/);
  });

  test('too many steps are one mistake', () => {
    const steps = Array.from({ length: 10_001 }, () => 1);
    expect(errorsOf(resolvePlan({ version: 1, steps }, options)).map(({ code }) => code)).toEqual(['too-many-steps']);
  });
});

describe('plans that are no files', () => {
  test('an object has the same checks and no lines', () => {
    const loaded = resolvePlan({ version: 1, steps: [{ id: 'a', run: ['ls'], needs: ['b'] }], extra: 1 }, options);
    expect(errorsOf(loaded)).toMatchObject([
      { file: null, line: null, column: null, field: 'extra', code: 'unknown-field' },
      { file: null, line: null, column: null, field: 'steps[0].needs[0]', code: 'unknown-step' },
    ]);
    expect(formatPlanErrors(errorsOf(loaded))).toMatch(/^extra: is not a field/);
  });

  test.each([undefined, null, 7, 'x', [], new Date(0), () => 1])('%s is refused', (value) => {
    expect(errorsOf(resolvePlan(value, options)).length).toBeGreaterThan(0);
  });

  test('a one-step plan speaks of its own fields', () => {
    expect(errorsOf(planOf({ agent: 'pie', task: ' ' }, options))).toMatchObject([
      { field: 'task', code: 'bad-value' },
      { field: 'agent', code: 'unknown-agent' },
    ]);
    expect(errorsOf(planOfCommand([], options))).toMatchObject([{ field: 'run', code: 'bad-value' }]);
  });
});
