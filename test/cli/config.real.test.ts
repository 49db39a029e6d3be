import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openCli } from '../support/cli.ts';

const CONFIG = `version: 1
agents:
  shout: { adapter: command, command: [tr, a-z, A-Z] }
  echo: { adapter: command, command: [cat] }
  broken: { adapter: command, command: [cat], thinking: high }
`;

test('S103: of three definitions one is broken: the good ones work, it is shown, and launching it is exit code 2', async () => {
  await using cli = openCli();
  const config = cli.file('coxswain.config.yaml', CONFIG);
  const fault = `${config}:5:57 agents.broken.thinking: the command adapter cannot honour "thinking: high"`;
  const [list, good, broken, missing, without] = await Promise.all([
    cli.run(['agents', '--json']),
    cli.run(['run', '--json', '--agent', 'shout', 'hello']),
    cli.run(['run', '--agent', 'broken', 'hello']),
    cli.run(['run', '--agent', 'brokn', 'hello']),
    cli.run(['run', '--no-config', '--agent', 'shout', 'hello']),
  ]);
  const agents = (JSON.parse(list.stdout) as { agents: { name: string; problem: string | null }[] }).agents;
  const problems = new Map(agents.map(({ name, problem }) => [name, problem]));
  expect(problems.get('shout')).toBeNull();
  expect(problems.get('echo')).toBeNull();
  expect(problems.get('broken')).toContain(fault);
  expect(list.code).toBe(0);
  expect(good).toMatchObject({ code: 0, stderr: '' });
  expect(JSON.parse(good.stdout)).toMatchObject({ steps: [{ agent: 'shout', output: { text: 'HELLO' } }] });
  expect(broken).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(fault) });
  expect(missing).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no agent "brokn"') });
  expect(without).toMatchObject({ code: 2, stderr: expect.stringContaining('there is no agent "shout"') });
  // Only the good one was begun.
  expect(cli.ids()).toHaveLength(1);
});

test('a file that was named, also for a run in the background; one that cannot be read is exit code 2', async () => {
  await using cli = openCli();
  mkdirSync(join(cli.cwd, 'elsewhere'));
  cli.file('mine.yaml', CONFIG);
  cli.file('bad.yaml', 'version: 1\nagents: [\n');
  const { id } = await cli.detach(['--config', 'mine.yaml', '--cwd', 'elsewhere', '--agent', 'shout', 'hello']);
  const [ended, bad] = await Promise.all([
    cli.run(['wait', id, '--timeout', '20s']),
    cli.run(['agents', '--config', 'bad.yaml']),
  ]);
  expect(ended.code).toBe(0);
  expect((await cli.run(['result', id, '--step', 'task'])).stdout).toBe('HELLO\n');
  expect(bad).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(/bad\.yaml:\d+:\d+: /) });
});
