import { readFileSync, readdirSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Receipt, RunResult, Status } from '../../src/client.ts';
import { startFakeAgents } from '../../src/testing/fake-agent/index.ts';
import { type Ended, MAIN, attempt, openCli, until } from '../support/cli.ts';

const linux = process.platform === 'linux';

test.concurrent('detach, look, wait in one shell and stop in another (S018), and what came of it', async () => {
  await using cli = openCli();
  await using agents = await startFakeAgents();
  const started = await cli.run(['run', '--detach', '--', ...agents.argv()]);
  const id = started.stdout.trim();
  expect(started).toMatchObject({ code: 0, stderr: expect.stringContaining(`coxswain wait ${id}`) });
  const agent = await agents.next({ when: 'started' });
  await until(() => cli.status(id).steps[0]?.pid === agent.pid, 'the status shows it');
  const [status, list] = await Promise.all([cli.run(['status', id, '--json']), cli.run(['list', '--active'])]);
  expect(JSON.parse(status.stdout)).toMatchObject({ v: 1, id, state: 'running', steps: [{ pid: agent.pid }] });
  expect(list).toMatchObject({ code: 0, stdout: expect.stringContaining(id) });

  const waiting = cli.start(['wait', id]);
  const stopped = await cli.run(['stop', id.slice(0, 20)]);
  const after = performance.now();
  expect(stopped).toMatchObject({ code: 0, stderr: '' });
  expect(stopped.stdout).toMatch(
    /^stopped: stopped by command-line \(.*\)\nprocesses: gone \((searched|group)\), 1 attempt$/m,
  );
  expect(await waiting.ended).toMatchObject({ code: 3, stdout: expect.stringContaining('stopped by command-line') });
  expect(performance.now() - after).toBeLessThan(1000);
  await agent.gone();

  const [result, again, active] = await Promise.all([
    cli.run(['result', id, '--json']),
    cli.run(['stop', id]),
    cli.run(['list', '--active']),
  ]);
  expect(JSON.parse(result.stdout) as RunResult).toMatchObject({ id, state: 'stopped', cause: { type: 'stop' } });
  expect(again).toMatchObject({ code: 8, stdout: '', stderr: expect.stringContaining('has ended already: stopped') });
  expect(active).toMatchObject({ code: 0, stdout: 'no runs\n' });
});

test.concurrent('stop --no-wait returns with the verdict, --json with the receipt', async () => {
  await using cli = openCli();
  await using agents = await startFakeAgents();
  const { id } = await cli.detach(['--', ...agents.argv()]);
  const agent = await agents.next({ when: 'started' });
  await agent.ignore('SIGTERM');
  const stop = await cli.run(['stop', id, '--no-wait', '--json']);
  expect(stop.code).toBe(0);
  expect(JSON.parse(stop.stdout) as Receipt).toMatchObject({ v: 1, type: 'stop', verdict: 'applied', final: true });
  expect(['stopping', 'finalizing']).toContain(cli.status(id).state);
  // The child does not hear; the second signal to its runner ends it at once.
  const { pid } = cli.status(id).owner;
  process.kill(pid, 'SIGTERM');
  process.kill(pid, 'SIGHUP');
  expect(await cli.run(['wait', id])).toMatchObject({ code: 3 });
  await agent.gone();
});

test.concurrent('S029: a wait that times out or is interrupted leaves the run alone', { skip: !linux }, async () => {
  await using cli = openCli();
  await using agents = await startFakeAgents();
  const { id } = await cli.detach(['--', ...agents.argv()]);
  const agent = await agents.next({ when: 'started' });
  await until(() => cli.status(id).steps[0]?.pid === agent.pid, 'the status shows it');
  const before = cli.status(id);
  const late = await cli.run(['wait', id, '--timeout', '200ms', '--json']);
  expect(late).toMatchObject({ code: 5, stderr: expect.stringContaining('is still going on') });
  expect(JSON.parse(late.stdout) as Status).toMatchObject({ id, state: 'running' });

  const waiting = cli.start(['wait', id]);
  await until(() => watchesFiles(waiting.child.pid), 'it waits');
  waiting.child.kill('SIGINT');
  expect(await waiting.ended).toMatchObject({ code: 130, signal: null, stderr: expect.stringContaining('goes on') });
  expect(cli.status(id)).toMatchObject({ state: 'running', seq: before.seq });

  await agent.raw('well\n');
  await agent.exit(0);
  expect(await cli.run(['wait', id])).toMatchObject({ code: 0, stdout: expect.stringContaining('completed') });
});

test.concurrent('S016: a runner that cannot start is told at once, and the run says why', async () => {
  await using cli = openCli();
  const thrower = cli.file(
    'throw.cjs',
    `if (/runner\\.js$/.test(process.argv[1])) throw new Error('no luck today');\n`,
  );
  const env = { NODE_OPTIONS: `--require ${thrower}` };
  const { code, stdout, stderr, ms } = await cli.run(['run', '--id', 'u', '--detach', '--', 'true'], { env });
  expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
  expect(ms).toBeLessThan(15_000);
  expect(stderr).toContain('no luck today');
  expect(cli.status('u')).toMatchObject({ state: 'failed', cause: { type: 'failure', reason: 'runner-start' } });
  expect(readFileSync(join(cli.root, 'runs', 'u', 'runner.log'), 'utf8')).toContain('no luck today');
  expect(await cli.run(['wait', 'u'])).toMatchObject({ code: 1 });
});

describe('logs -f', () => {
  test.concurrent('shows what comes until the run ends', async () => {
    await using cli = openCli();
    await using agents = await startFakeAgents();
    const { id } = await cli.detach(['--', ...agents.argv()]);
    const agent = await agents.next({ when: 'started' });
    const following = cli.start(['logs', '-f', id]);
    let seen = '';
    following.child.stdout.on('data', (chunk: Buffer) => (seen += chunk.toString()));
    await agent.raw('one\n');
    await until(() => seen === 'one\n', 'the first line is shown');
    await agent.raw('two\nthr');
    await agent.raw('ee\n');
    await agent.exit(0);
    expect(await following.ended).toMatchObject({ code: 0, stdout: 'one\ntwo\nthree\n', stderr: '' });
  });

  test.concurrent('S012: ends when its reader goes, also when nothing more is said', { skip: !linux }, async () => {
    await using cli = openCli();
    await using agents = await startFakeAgents();
    const { id } = await cli.detach(['--', ...agents.argv()]);
    const agent = await agents.next({ when: 'started' });
    await agent.raw('one\ntwo\n');
    const head = (verb: string): Promise<Ended> =>
      cli.shell(`("${process.execPath}" "${MAIN}" ${verb} -f ${id}; echo "code $?" >&2) | head -1`);
    const [logs, events] = await Promise.all([head('logs'), head('events')]);
    expect(logs).toMatchObject({ stdout: 'one\n', stderr: 'code 0\n' });
    expect(events).toMatchObject({ stdout: expect.stringMatching(/^ +1 .* started: .*\n$/), stderr: 'code 0\n' });
    expect(Math.max(logs.ms, events.ms)).toBeLessThan(3000);
    expect(cli.status(id).state).toBe('running');
    await agent.exit(0);
  });
});

/** Whether a process has begun to watch files: then its signal handlers are there, too. */
function watchesFiles(pid = 0): boolean {
  const fds = readdirSync(`/proc/${pid}/fd`);
  return fds.some((fd) => attempt(() => readlinkSync(`/proc/${pid}/fd/${fd}`))?.includes('inotify') === true);
}
