import { expect, test } from 'vitest';
import type { SeenAgain } from '../../src/index.ts';
import { type Cli, attempt, openCli, until } from '../support/cli.ts';
import { runs } from '../support/truth.ts';

const linux = process.platform === 'linux';

/** A run whose runner was killed, and the pid of its step, which goes on. */
async function orphaned(cli: Cli): Promise<{ id: string; pid: number }> {
  const run = await cli.detach(['--', 'sleep', '600']);
  const pid = await until(() => attempt(() => cli.status(run.id).steps[0]?.pid), 'the step runs');
  process.kill(run.pid, 'SIGKILL');
  await until(() => !runs(run.pid), 'the runner is gone');
  return { id: run.id, pid };
}

test.concurrent(
  'doctor --run names what a killed runner has left, and ends it when told to',
  { skip: !linux },
  async () => {
    await using cli = openCli();
    const { id, pid } = await orphaned(cli);
    const text = await cli.run(['doctor', '--run', id.slice(0, 10)]);
    expect(text).toMatchObject({ code: 9, stderr: '' });
    expect(text.stdout.split('\n')).toEqual([
      `run ${id} has no runner any more`,
      '  command#1  1 process there (searched)',
      `    ${pid}  sleep  by leader`,
      '',
      `end them: coxswain doctor --run ${id} --end`,
      '',
    ]);
    const json = await cli.run(['doctor', '--run', id, '--json']);
    expect(json.code).toBe(9);
    const seen = JSON.parse(json.stdout) as SeenAgain;
    expect(seen).toMatchObject({
      v: 1,
      id,
      run: 'owner-lost',
      verdict: 'survived',
      attempts: [{ members: [{ pid, by: 'leader' }] }],
    });
    expect(runs(pid)).toBe(true);

    const ended = await cli.run(['doctor', '--run', id, '--end']);
    expect(ended).toMatchObject({ code: 0, stderr: '' });
    expect(ended.stdout).toBe(`run ${id} has no runner any more\n  command#1  gone (searched), after SIGTERM\n`);
    expect(runs(pid)).toBe(false);
    expect(await cli.run(['doctor', '--run', id])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('gone (searched)'),
    });
  },
);

test.concurrent(
  'doctor --run does not end what has a runner, and says what it cannot find',
  { skip: !linux },
  async () => {
    await using cli = openCli();
    const { id } = await cli.detach(['--', 'sleep', '600']);
    const pid = await until(() => attempt(() => cli.status(id).steps[0]?.pid), 'the step runs');
    const [look, end, missing, alone] = await Promise.all([
      cli.run(['doctor', '--run', id]),
      cli.run(['doctor', '--run', id, '--end']),
      cli.run(['doctor', '--run', 'nobody']),
      cli.run(['doctor', '--end']),
    ]);
    expect(look).toMatchObject({ code: 0, stdout: expect.stringContaining(`run ${id} goes on`) });
    expect(look.stdout).not.toContain('--end');
    expect(end).toMatchObject({ code: 8, stdout: '', stderr: expect.stringContaining('stop it') });
    expect(runs(pid)).toBe(true);
    expect(missing).toMatchObject({ code: 7, stderr: expect.stringContaining('nobody') });
    expect(alone).toMatchObject({ code: 2, stderr: expect.stringContaining('--run') });
  },
);
