import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type FakeChild, startFakeAgents } from '../../src/testing/fake-agent/index.ts';
import type { RunResult } from '../../src/client.ts';
import { MAIN, attempt, openCli, until } from '../support/cli.ts';

const windows = process.platform === 'win32';

describe('S011: a signal to an attached run ends it in good order', () => {
  test.concurrent.each([
    { signal: 'SIGINT', code: 130 },
    { signal: 'SIGTERM', code: 143 },
    { signal: 'SIGHUP', code: 129 },
    { signal: 'SIGQUIT', code: 131 },
  ] as const)('$signal: exit code $code, everything gone', async ({ signal, code }) => {
    await using cli = openCli();
    await using agents = await startFakeAgents();
    const { child, ended } = cli.start(['run', '--id', 's', '--', ...agents.argv()]);
    const agent = await agents.next({ when: 'started' });
    child.kill(signal);
    const end = await ended;
    expect(end).toMatchObject({ code, signal: null });
    expect(end.stdout).toContain(`stopped: the runner got ${signal}`);
    expect(cli.status('s')).toMatchObject({
      state: 'stopped',
      cause: { type: 'runner-signal', signal },
      steps: [{ state: 'stopped', proof: { verdict: 'gone' } }],
    });
    await agent.gone();
  });
});

test.concurrent('S009: the second Ctrl-C kills a frozen child at once', async () => {
  await using cli = openCli();
  await using agents = await startFakeAgents();
  const { child, ended } = cli.start(['run', '--id', 's', '--', ...agents.argv()]);
  const agent = await agents.next({ when: 'started' });
  await agent.freeze();
  child.kill('SIGINT');
  await until(() => attempt(() => cli.status('s').state) === 'stopping', 'the run is stopping');
  expect(isThere(agent)).toBe(true);
  const second = performance.now();
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 130, signal: null });
  expect(performance.now() - second).toBeLessThan(2000);
  expect(cli.status('s')).toMatchObject({ state: 'stopped', steps: [{ proof: { verdict: 'gone' } }] });
  await agent.gone();
});

describe('a signal to the runner of a detached run', () => {
  test.concurrent.each(['SIGTERM', 'SIGHUP'] as const)('%s: stopped, everything gone', async (signal) => {
    await using cli = openCli();
    await using agents = await startFakeAgents();
    const run = await cli.detach(['--', ...agents.argv()]);
    const agent = await agents.next({ when: 'started' });
    const waiting = cli.run(['wait', run.id]);
    process.kill(run.pid, signal);
    expect(await waiting).toMatchObject({ code: 3, stdout: expect.stringContaining(`the runner got ${signal}`) });
    expect(cli.status(run.id)).toMatchObject({ state: 'stopped', cause: { type: 'runner-signal', signal } });
    await agent.gone();
  });
});

test.concurrent('a limit on the size of files (SIGXFSZ) cuts the output, not the run', { skip: windows }, async () => {
  await using cli = openCli();
  const line = `trap "" XFSZ; yes | head -c 2000000`;
  const run = `"${process.execPath}" "${MAIN}" run --id x -- sh -c '${line}'`;
  const { code } = await cli.shell(`ulimit -f 400; exec ${run}`);
  expect(code).toBe(0);
  expect(cli.status('x')).toMatchObject({ state: 'completed' });
  const result = JSON.parse(readFileSync(join(cli.root, 'runs', 'x', 'result.json'), 'utf8')) as RunResult;
  expect(result.steps[0]).toMatchObject({ truncated: true, output: { path: 'attempts/command/1/stdout.jsonl' } });
});

const script = '/usr/bin/script';

test.concurrent('S012: the terminal of an attached run is closed', { skip: !existsSync(script) }, async () => {
  await using cli = openCli();
  await using agents = await startFakeAgents();
  const words = [process.execPath, MAIN, 'run', '--id', 't', '--', ...agents.argv()]
    .map((word) => `"${word}"`)
    .join(' ');
  // A shell that tells its job of the hang-up, as those of people do, and lives on to tell the exit code.
  const line = `trap 'kill -HUP $job' HUP; ${words} & job=$!; wait $job; wait $job; echo $? > code`;
  const terminal = cli.launch([script, '-qec', line, '/dev/null'], { env: { SHELL: '/bin/sh' } });
  const agent = await agents.next({ when: 'started' });
  terminal.child.kill('SIGKILL');
  await until(() => attempt(() => readFileSync(join(cli.cwd, 'code'), 'utf8')) === '129\n', 'it ends with code 129');
  expect(cli.status('t')).toMatchObject({ state: 'stopped', cause: { type: 'runner-signal', signal: 'SIGHUP' } });
  await agent.gone();
  await terminal.ended;
});

function isThere({ pid }: FakeChild): boolean {
  return attempt(() => process.kill(pid, 0)) === true;
}
