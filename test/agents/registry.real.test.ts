import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AgentResolution, agentVariable, createRegistry } from '../../src/agents/index.ts';

let dir = '';
let pi = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'coxswain-registry-'));
  await mkdir(join(dir, 'bin'));
  pi = join(dir, 'bin', 'pi');
  await program(pi, 'echo 9.8.7');
  await writeFile(join(dir, 'plain'), '#!/bin/sh\n');
  await writeFile(join(dir, 'agent.mjs'), 'console.log("script " + process.argv[2])\n');
});
afterAll(() => rm(dir, { recursive: true, force: true }));

async function program(path: string, body: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${body}\n`);
  await chmod(path, 0o755);
}

const commandOf = (found: AgentResolution): unknown =>
  found.type === 'agent' ? found.agent.settings.command : found.type;
const messageOf = (found: AgentResolution): string => (found.type === 'agent' ? '' : found.message);
const resolvePi = (env: Record<string, string>, command?: string[]): Promise<AgentResolution> =>
  createRegistry(command === undefined ? {} : { pi: { name: 'pi', adapter: 'pi', command } }, {
    env,
    execPath: '/opt/node',
  }).resolve('pi', 'task');

describe('the program of an agent', () => {
  test('is looked for in the definition, the environment and PATH, in this order', async () => {
    const PATH = `/nowhere::${join(dir, 'bin')}`;
    const COXSWAIN_AGENT_PI = join(dir, 'agent.mjs');
    expect(commandOf(await resolvePi({ PATH }))).toEqual([pi]);
    expect(commandOf(await resolvePi({ PATH, COXSWAIN_AGENT_PI }))).toEqual(['/opt/node', COXSWAIN_AGENT_PI]);
    expect(commandOf(await resolvePi({ PATH, COXSWAIN_AGENT_PI: pi }))).toEqual([pi]);
    expect(commandOf(await resolvePi({ PATH, COXSWAIN_AGENT_PI }, ['pi', '-x']))).toEqual(['pi', '-x']);
    expect(commandOf(await resolvePi({ PATH }, [pi]))).toEqual([pi]);
    expect(commandOf(await resolvePi({ PATH, COXSWAIN_AGENT_PI: '' }))).toEqual([pi]);
  });

  test('of a definition is also looked for under its adapter', async () => {
    const registry = createRegistry({ 'my-pi': { name: 'my-pi', adapter: 'pi' } }, { env: { COXSWAIN_AGENT_PI: pi } });
    expect(commandOf(await registry.resolve('my-pi', 'task'))).toEqual([pi]);
    const own = createRegistry(
      { 'my-pi': { name: 'my-pi', adapter: 'pi' } },
      { env: { COXSWAIN_AGENT_PI: '/nowhere', COXSWAIN_AGENT_MY_PI: pi } },
    );
    expect(commandOf(await own.resolve('my-pi', 'task'))).toEqual([pi]);
    expect(agentVariable('my-pi.2')).toBe('COXSWAIN_AGENT_MY_PI_2');
  });

  test('that is not there: what was looked for and what to do', async () => {
    const nowhere = await resolvePi({ PATH: '/nowhere' });
    expect(nowhere).toMatchObject({ type: 'not-found', reason: 'command-missing' });
    expect(messageOf(nowhere)).toContain('"pi" on PATH');
    expect(messageOf(nowhere)).toContain('set COXSWAIN_AGENT_PI to its path');
    for (const path of [join(dir, 'gone'), join(dir, 'gone.js'), dir]) {
      const found = await resolvePi({ COXSWAIN_AGENT_PI: path });
      expect(found).toMatchObject({ type: 'not-found', reason: 'command-missing' });
      expect(messageOf(found)).toContain(`COXSWAIN_AGENT_PI is "${path}"`);
    }
    expect(await resolvePi({ COXSWAIN_AGENT_PI: join(dir, 'plain') })).toMatchObject({
      reason: 'command-not-executable',
    });
    expect(await resolvePi({ PATH: '/nowhere' }, ['pi'])).toMatchObject({ reason: 'command-missing' });
    expect(await resolvePi({}, [join(dir, 'plain')])).toMatchObject({ reason: 'command-not-executable' });
    // It belongs to the working directory of a step.
    expect(commandOf(await resolvePi({}, ['./gone']))).toEqual(['./gone']);
  });

  test('of command steps is not looked for', async () => {
    const registry = createRegistry({}, { env: {} });
    expect(await registry.resolve('command', 'run')).toMatchObject({ type: 'agent', agent: { name: 'command' } });
    expect(await registry.resolve('command', 'task')).toMatchObject({ type: 'refused' });
    expect(await registry.resolve('pi', 'run')).toMatchObject({ type: 'refused' });
  });
});

test('an agent that is not there is answered with those that are', async () => {
  const registry = createRegistry({ mine: { name: 'mine', adapter: 'nobody' } }, { env: {} });
  expect(registry.names()).toEqual(['acp', 'claude', 'codex', 'command', 'gemini', 'mine', 'opencode', 'pi']);
  expect(await registry.resolve('py', 'task')).toEqual({
    type: 'unknown',
    message: 'there is no agent "py"; there are: acp, claude, codex, command, gemini, mine, opencode, pi',
    known: ['acp', 'claude', 'codex', 'command', 'gemini', 'mine', 'opencode', 'pi'],
  });
  expect(messageOf(await registry.resolve('mine', 'task'))).toBe(
    'agent "mine": there is no adapter "nobody"; there are: acp, claude, codex, command, gemini, opencode, pi',
  );
});

test('S103: a broken definition is shown with its fault beside the good ones, and is not a missing one', async () => {
  const definitions = {
    good: { name: 'good', adapter: 'codex', mode: 'exec', command: [pi] },
    better: { name: 'better', adapter: 'claude', command: [pi] },
    broken: { name: 'broken', adapter: 'claude', mode: 'rpc', command: [pi] },
  };
  const registry = createRegistry(definitions, { env: {} });
  for (const name of ['good', 'better']) {
    expect(await registry.resolve(name, 'task')).toMatchObject({ type: 'agent', agent: { name } });
  }
  const fault = 'agent "broken": the claude adapter has no modes';
  expect(await registry.resolve('broken', 'task')).toEqual({ type: 'refused', message: fault });
  expect(await registry.resolve('brokn', 'task')).toMatchObject({ type: 'unknown' });
  const problems = (await registry.list()).map(({ name, problem }) => [name, problem]);
  expect(problems).toEqual(
    expect.arrayContaining([
      ['good', null],
      ['better', null],
      ['broken', fault],
    ]),
  );
});

test('a mode that does not exist is refused', () => {
  const registry = createRegistry({ pi: { name: 'pi', adapter: 'pi', mode: 'tui' } }, { env: {} });
  expect(registry.get('pi', 'task')).toMatchObject({ type: 'refused' });
});

test('S103: a broken definition is shown with its fault, refused with the same, and harms no other', async () => {
  const definitions = {
    good: { name: 'good', adapter: 'opencode', command: [pi] },
    broken: { name: 'broken', adapter: 'gemini', command: [pi], mode: 'tui' },
    gone: { name: 'gone', adapter: 'acp', command: [join(dir, 'gone'), '--acp'] },
  };
  const registry = createRegistry(definitions, { env: {} });
  const problems = new Map((await registry.list()).map(({ name, problem }) => [name, problem]));
  expect(problems.get('good')).toBeNull();
  expect(await registry.resolve('good', 'task')).toMatchObject({ type: 'agent' });
  const broken = await registry.resolve('broken', 'task');
  expect(broken.type).toBe('refused');
  expect(messageOf(broken)).toBe(problems.get('broken'));
  // Broken is not the same as missing.
  const gone = await registry.resolve('gone', 'task');
  expect(gone).toMatchObject({ type: 'not-found', reason: 'command-missing' });
  expect(messageOf(gone)).toBe(problems.get('gone'));
});

test('the list: built-in or not, found or not, and the version when asked', async () => {
  const env = { PATH: join(dir, 'bin'), COXSWAIN_AGENT_SCRIPT: join(dir, 'agent.mjs') };
  const definitions = {
    script: { name: 'script', adapter: 'pi' },
    broken: { name: 'broken', adapter: 'command' },
    tool: { name: 'tool', adapter: 'command', command: ['pi'] },
  };
  const registry = createRegistry(definitions, { env });
  const list = await registry.list({ versions: true });
  const found = (name: string) => list.find((agent) => agent.name === name);
  expect(list.map((agent) => agent.name)).toEqual(
    'acp broken claude codex command gemini opencode pi script tool'.split(' '),
  );
  expect(found('pi')).toMatchObject({ adapter: 'pi', builtIn: true, command: [pi], problem: null, version: '9.8.7' });
  expect(found('pi')).toMatchObject({ versionKnown: false, warning: expect.stringContaining('and not 9.8') });
  expect(found('script')).toMatchObject({ builtIn: false, version: 'script --version', versionKnown: false });
  expect(found('tool')).toMatchObject({ versionKnown: null, warning: null });
  expect(found('command')).toMatchObject({ builtIn: true, command: null, problem: null, version: null });
  expect(found('broken')?.problem).toContain('"command"');
  expect(found('tool')).toMatchObject({ command: ['pi'], problem: null, version: null });
  // Each definition of it brings its own command; it is shown with what it needs.
  expect(found('acp')).toMatchObject({ builtIn: true, command: null });
  expect(found('acp')?.problem).toContain('needs a "command"');
  expect(found('opencode')?.problem).toContain('no program "opencode" on PATH');
  expect(found('pi')?.capabilities?.cost).toBe(true);
  expect((await registry.list()).every((agent) => !('version' in agent))).toBe(true);
});
