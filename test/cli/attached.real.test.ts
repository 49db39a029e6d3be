import { mkdirSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { RunResult } from '../../src/client.ts';
import { startFakeAgents } from '../../src/testing/fake-agent/index.ts';
import { type Cli, attempt, openCli } from '../support/cli.ts';

const chain = `
version: 1
steps:
  - { id: first, run: [echo, hello] }
  - { id: second, run: [echo, "got {{ steps.first.output }}"] }
`;

test.concurrent(
  'a chain: lines while it goes on, then what happened, where the files are and what to do next',
  async () => {
    await using cli = openCli();
    cli.file('plan.yaml', chain);
    const { code, stdout, stderr } = await cli.run(['run', 'plan.yaml', '--id', 'mine']);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    const lines = stdout.split('\n');
    expect(lines.slice(0, 5)).toEqual([
      'run mine started: plan, 2 steps',
      'first: started',
      'first: completed',
      'second: started',
      'second: completed',
    ]);
    expect(lines[5]).toMatch(/^completed: the work was done \(/);
    expect(lines[7]).toMatch(/^ {2}second +completed +\S+ s +gone \((searched|group)\)$/);
    expect(stdout).toContain(join(cli.root, 'runs', 'mine'));
    expect(stdout).toContain('coxswain result mine');
    expect(stdout).not.toContain('\u001B');
    const again = await cli.run(['run', 'plan.yaml', '--id', 'mine']);
    expect(again).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('mine') });
  },
);

test.concurrent('--json prints the result and nothing else', async () => {
  await using cli = openCli();
  const { code, stdout, stderr } = await cli.run([
    'run',
    '--id',
    'j',
    '--json',
    '--',
    'sh',
    '-c',
    'echo one; echo two',
  ]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  const result = JSON.parse(stdout) as RunResult;
  expect(result).toEqual(JSON.parse(readFileSync(join(cli.root, 'runs', 'j', 'result.json'), 'utf8')));
  expect(result.steps[0]).toMatchObject({ id: 'command', output: { text: 'one\ntwo' } });
});

test.concurrent('S017: a command that fails at once', async () => {
  await using cli = openCli();
  const { code, stdout } = await cli.run([
    'run',
    '--id',
    'f',
    '--',
    'sh',
    '-c',
    'sleep 0.02; echo "bad flag" >&2; exit 1',
  ]);
  expect(code).toBe(1);
  expect(stdout).toMatch(/^failed: exit-code \((\d\.\d) s\)$/m);
  expect(Number(/^failed: exit-code \((\d\.\d) s\)$/m.exec(stdout)?.[1])).toBeLessThan(1);
  expect(stdout).toContain('bad flag');
  expect(stdout).toContain('coxswain logs f --stderr');
  const [log, result] = await Promise.all([cli.run(['logs', 'f', '--stderr']), cli.run(['result', 'f', '--json'])]);
  expect(log).toMatchObject({ code: 0, stdout: 'bad flag\n' });
  const [step] = (JSON.parse(result.stdout) as RunResult).steps;
  expect(step).toMatchObject({ state: 'failed', output: null, outputState: 'absent', error: { code: 'exit-code' } });
});

test.concurrent('a time limit, and the folder it works in', async () => {
  await using cli = openCli();
  mkdirSync(join(cli.cwd, 'inner'));
  const [late, where] = await Promise.all([
    cli.run(['run', '--timeout', '300ms', '--', 'sleep', '60']),
    cli.run(['run', '--json', '--cwd', 'inner', '--', 'pwd']),
  ]);
  expect(late).toMatchObject({
    code: 1,
    stdout: expect.stringContaining("the step's time limit of 0.3 s was reached"),
  });
  expect(JSON.parse(where.stdout)).toMatchObject({ steps: [{ output: { text: join(cli.cwd, 'inner') } }] });
});

test.concurrent('the reader of the progress goes away: the run goes on to its end', async () => {
  await using cli = openCli();
  await using agents = await startFakeAgents();
  const { child, ended } = cli.start(['run', '--id', 'r', '--', ...agents.argv()]);
  const agent = await agents.next({ when: 'started' });
  child.stdout.destroy();
  child.stderr.destroy();
  await agent.raw('done\n');
  await agent.exit(0);
  expect(await ended).toMatchObject({ code: 0 });
  expect(cli.status('r').state).toBe('completed');
});

describe('a task for an agent', () => {
  test.concurrent('is given to pi, and its answer is the result', async () => {
    await using cli = openCli();
    await using agents = await startFakeAgents();
    const env = { COXSWAIN_AGENT_PI: installed(cli, agents.settings()) };
    const { ended } = cli.start(['run', '--id', 'p', '--agent', 'pi', '--model', 'a/b', 'say hello'], { env });
    const agent = await agents.next();
    expect(agent.task).toBe('say hello');
    expect(agent.argv).toContain('a/b');
    await agent.say('One moment.');
    await agent.toolStart('bash', { command: 'echo hello' });
    await agent.toolEnd('bash', { ok: true, output: 'hello' });
    await agent.finish({ text: 'Hello.' });
    expect(await ended).toMatchObject({ code: 0, stderr: '' });
    const [result, logs] = await Promise.all([cli.run(['result', 'p', '--step', 'task']), cli.run(['logs', 'p'])]);
    expect(result).toMatchObject({ code: 0, stdout: 'Hello.\n' });
    expect(logs.stdout).toContain('One moment.\n> bash {"command":"echo hello"}\n< bash\n  hello\nHello.\n');
  });

  test.concurrent('S102: a task of 300 kB from standard input is in no process list, status or journal', async () => {
    await using cli = openCli();
    await using agents = await startFakeAgents();
    const env = { COXSWAIN_AGENT_PI: installed(cli, agents.settings()) };
    const secret = 'cox-fake-token-5b1c';
    const task = `"quoted" '\n${'x'.repeat(300_000)}\n$(${secret})`;
    const { ended } = cli.start(['run', '--id', 'big', '--agent', 'pi', '-'], { env, input: task });
    const agent = await agents.next();
    expect(agent.task).toBe(task);
    expect(processList()).not.toContain(secret);
    await agent.finish({ text: 'Done.' });
    const { code, stdout, stderr } = await ended;
    expect(code).toBe(0);
    const directory = join(cli.root, 'runs', 'big');
    const derived = ['status.json', 'events.jsonl', 'result.json', 'report.md', 'attempts/task/1/launch.json'];
    const texts = derived.map((name) => readFileSync(join(directory, name), 'utf8'));
    const seen = [stdout, stderr, ...texts, (await cli.run(['status', 'big', '--json'])).stdout];
    for (const text of seen) expect(text).not.toContain(secret);
  });
});

/** A program as a person would have installed it, which is the fake agent. */
function installed(cli: Cli, { command = [], args = [] }: { command?: string[]; args?: string[] }): string {
  const [, program = '', ...leading] = [...command, ...args];
  const lines = [
    `process.argv.push(...${JSON.stringify(leading)});`,
    `await import(${JSON.stringify(pathToFileURL(program).href)});`,
  ];
  return cli.file('pi.mjs', `${lines.join('\n')}\n`);
}

/** Arguments of every process; nothing where there is no /proc. */
function processList(): string {
  if (process.platform !== 'linux') return '';
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.map((pid) => attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'latin1')) ?? '').join('\n');
}
