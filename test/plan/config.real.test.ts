import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { configOf, formatPlanErrors, loadConfig, loadPlan } from '../../src/plan/index.ts';

let dir = '';
beforeEach(() => {
  dir = realpathSync(mkdtempSync(join(tmpdir(), 'coxswain-config-')));
  mkdirSync(join(dir, 'repo', 'sub', 'deep'), { recursive: true });
  mkdirSync(join(dir, 'repo', '.git'));
});
afterEach(() => rmSync(dir, { recursive: true, force: true }));

const put = (name: string, text: string): string => {
  const path = join(dir, name);
  writeFileSync(path, text, { mode: 0o644 });
  return path;
};
const GOOD = 'version: 1\nagents: { mine: { adapter: command, command: [cat] } }\n';
const search = async (cwd: string, here = cwd) => {
  const loaded = await loadConfig({ cwd: join(dir, cwd), here: join(dir, here), file: 'search' });
  if (loaded.type === 'invalid') return formatPlanErrors(loaded.errors);
  const { file, definitions, notes } = loaded.config;
  return { file, names: Object.keys(definitions), notes };
};
const errors = async (file: string): Promise<string[]> => {
  const loaded = await loadConfig({ cwd: dir, here: dir, file });
  return loaded.type === 'ok' ? [] : formatPlanErrors(loaded.errors).replaceAll(`${dir}/`, '').split('\n');
};

describe('where it is found', () => {
  test('in the folder, else above it, up to the root of the repository', async () => {
    put('coxswain.config.yaml', GOOD);
    expect(await search('repo/sub/deep')).toEqual({ file: null, names: [], notes: [] });
    const top = put('repo/coxswain.config.yaml', GOOD);
    expect(await search('repo/sub/deep')).toEqual({ file: top, names: ['mine'], notes: [] });
    const near = put('repo/sub/coxswain.config.json', '{"version":1,"agents":{}}');
    expect(await search('repo/sub/deep')).toEqual({ file: near, names: [], notes: [] });
  });

  test('outside a repository only in the folder itself', async () => {
    const path = put('coxswain.config.yml', GOOD);
    mkdirSync(join(dir, 'plain'));
    expect(await search('plain')).toMatchObject({ file: null });
    expect(await search('')).toMatchObject({ file: path, names: ['mine'] });
  });

  test('two beside each other, and one that everybody may write, are refused', async () => {
    const path = put('coxswain.config.yaml', GOOD);
    chmodSync(path, 0o666);
    expect(await search('')).toContain('everybody may write it: if you trust it, name it with --config');
    expect(await errors(path)).toEqual([]);
    chmodSync(path, 0o644);
    put('coxswain.config.json', '{"version":1}');
    expect(await search('')).toContain('beside it lies coxswain.config.yaml: keep one of them');
  });

  test('a program is run where the user is, or when it was named, and nowhere else', async () => {
    const said = join(dir, 'was-run');
    const path = put(
      'repo/coxswain.config.mjs',
      `import { writeFileSync } from 'node:fs';
      writeFileSync(${JSON.stringify(said)}, '');
      export default { version: 1, agents: { mine: { adapter: 'command', command: ['cat'] } } };`,
    );
    const above = await search('repo/sub');
    expect(above).toMatchObject({ file: null, names: [], notes: [expect.stringContaining('name it with --config')] });
    // A task may work elsewhere than where the user is.
    expect(await search('repo', 'repo/sub')).toMatchObject({
      file: null,
      notes: [expect.stringContaining('--config')],
    });
    expect(existsSync(said)).toBe(false);
    expect(await search('repo')).toMatchObject({ file: path, names: ['mine'] });
    expect(existsSync(said)).toBe(true);
    expect(await errors(path)).toEqual([]);
    expect(await errors(put('bad.mjs', 'throw new Error("no")'))).toEqual(['bad.mjs: cannot be run: no']);
    expect(await errors(put('none.mjs', 'export const a = 1'))).toEqual([
      expect.stringContaining('none.mjs: has no default export'),
    ]);
  });
});

describe('mistakes', () => {
  test.each([
    ['', 'c.yaml: is empty: it needs a version, and agents'],
    ['version: 2\n', 'c.yaml:1:10 version: must be 1'],
    ['version: 1\nagent: {}\n', 'c.yaml:2:1 agent: is not a field of a config file. Did you mean "agents"?'],
    [
      'version: 1\nsteps: []\n',
      'c.yaml:2:1 steps: is not a field of a config file. Known here: $schema, version, agents.',
    ],
    ['version: 1\nagents: []\n', 'c.yaml:2:9 agents: must be a mapping of names to values, not a list'],
    ['version: 1\nagents: { "a b": {} }\n', 'c.yaml:2:11 agents["a b"]: the name must be'],
    ['version: 1\nversion: 1\n', 'c.yaml:2:1: the key "version" is there twice'],
  ])('of the file as a whole: %j', async (text, expected) => {
    put('c.yaml', text);
    expect((await errors('c.yaml'))[0]).toContain(expected);
  });

  test('a file that is not there', async () => {
    expect(await errors('gone.yaml')).toEqual([expect.stringContaining('there is no such file')]);
  });

  test('S103: one broken definition spoils no other, and is told with its place', async () => {
    put(
      'c.yaml',
      `version: 1
agents:
  good: { adapter: pi, thinking: high }
  odd: { adapter: pi, tinking: high }
  asks: { adapter: gemini, tools: [read_file], mcp: { a: { command: [x] } } }
  nobody: { adapter: pie }
  lost: { adapter: pi, skills: [./gone] }
  none: { adapter: acp }
  command: { adapter: pi }
`,
    );
    const loaded = await loadConfig({ cwd: dir, here: dir, file: 'c.yaml' });
    if (loaded.type === 'invalid') throw new Error(formatPlanErrors(loaded.errors));
    const { definitions, broken } = loaded.config;
    expect(definitions).toEqual({ good: { name: 'good', adapter: 'pi', thinking: 'high' } });
    const faults = Object.entries(broken).map(([name, fault]) => [name, fault.replaceAll(`${dir}/`, '')]);
    expect(Object.fromEntries(faults)).toMatchObject({
      odd: expect.stringContaining('c.yaml:4:23 agents.odd.tinking: is not a field that is known here. Did you mean'),
      asks: expect.stringMatching(
        /^c\.yaml:5:35 agents\.asks\.tools: the gemini adapter cannot honour "tools".*\nc\.yaml:5:58 agents\.asks\.mcp\.a: .*cannot honour "mcp \(stdio\)"/,
      ),
      nobody: expect.stringContaining(
        'c.yaml:6:22 agents.nobody.adapter: there is no adapter "pie". Did you mean "pi"?',
      ),
      lost: expect.stringContaining('c.yaml:7:33 agents.lost.skills[0]: there is nothing at'),
      none: expect.stringContaining('agents.none: the acp adapter needs a "command"'),
      command: expect.stringContaining('is the agent of run steps'),
    });
  });
});

test('paths are relative to the file that says them', async () => {
  put('x.ts', '');
  put('c.json', '{"version":1,"agents":{"a":{"adapter":"pi","extensions":["./x.ts","npm:y"]}}}');
  const loaded = await loadConfig({ cwd: '/', here: '/', file: join(dir, 'c.json') });
  expect(loaded).toMatchObject({ config: { definitions: { a: { extensions: [join(dir, 'x.ts'), 'npm:y'] } } } });
});

const configured = () => {
  const loaded = configOf(
    {
      mine: { adapter: 'pi', model: ['a/b', 'c/d'] },
      plain: { adapter: 'command', command: ['cat'] },
      broken: { adapter: 'command' },
    },
    dir,
  );
  if (loaded.type === 'invalid') throw new Error(formatPlanErrors(loaded.errors));
  return loaded.config;
};

const load = async (text: string) => {
  put('plan.yaml', `version: 1\n${text}`);
  const { definitions, broken } = configured();
  return loadPlan('plan.yaml', { cwd: dir, agents: ['command', 'pi'], definitions, broken });
};
const mistakes = async (text: string): Promise<string[]> => {
  const loaded = await load(text);
  return loaded.type === 'ok' ? [] : loaded.errors.map(({ line, field, code }) => `${line} ${field} ${code}`);
};

describe('in a plan', () => {
  test('they can be named, and are kept with the run', async () => {
    const loaded = await load(
      `defaults: { model: x/y }
agents: { own: { adapter: pi, model: e/f } }
steps: [{ id: a, agent: mine, task: x }, { id: b, agent: own, task: x }, { id: c, agent: pi, task: x },
  { id: d, agent: plain, task: x }, { id: e, agent: mine, model: g/h, task: x }]
`,
    );
    if (loaded.type === 'invalid') throw new Error(formatPlanErrors(loaded.errors));
    expect(Object.keys(loaded.plan.agents)).toEqual(['mine', 'plain', 'own']);
    // Of the step, of the agent, of the plan; what cannot be told a model gets none of those for all.
    expect(loaded.plan.steps.map(({ model }) => model)).toEqual([['a/b', 'c/d'], ['e/f'], ['x/y'], [], ['g/h']]);
  });

  test('a broken one is not a missing one, and one of the plan takes its place', async () => {
    expect(await mistakes('steps: [{ id: a, agent: broken, task: x }]')).toEqual(['2 steps[0].agent broken-agent']);
    expect(await mistakes('steps: [{ id: a, agent: brokn, task: x }]')).toEqual(['2 steps[0].agent unknown-agent']);
    expect(await mistakes('agents: { broken: { adapter: pi } }\nsteps: [{ id: a, agent: broken, task: x }]')).toEqual(
      [],
    );
  });

  test('an agent that cannot be told a model is not', async () => {
    expect(await mistakes('steps: [{ id: a, agent: plain, model: m, task: x }]')).toEqual([
      '2 steps[0].model not-honoured',
    ]);
  });

  test('what the plan itself asks in vain has its place', async () => {
    expect(
      await mistakes(`agents:
  a: { adapter: gemini, thinking: low, inherit: { contxt: false } }
  b: { adapter: gemini, thinking: low, permissions: { shell: ask } }
steps: [{ id: a, agent: a, task: x }]`),
    ).toEqual([
      '3 agents.a.inherit.contxt unknown-field',
      '4 agents.b.thinking not-honoured',
      '4 agents.b.permissions.shell not-honoured',
    ]);
  });
});
