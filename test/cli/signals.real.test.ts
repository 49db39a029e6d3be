import { describe, expect, test } from 'vitest';
import { type FakeChild, startFakeAgents } from '../../src/testing/fake-agent/index.ts';
import { attempt, openCli, until } from '../support/cli.ts';

describe('a signal to an attached run ends it in good order', () => {
  test.concurrent.each([
    { signal: 'SIGINT', code: 130 },
    { signal: 'SIGTERM', code: 143 },
    { signal: 'SIGHUP', code: 129 },
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

function isThere({ pid }: FakeChild): boolean {
  return attempt(() => process.kill(pid, 0)) === true;
}
