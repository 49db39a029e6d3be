import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Cli, attempt, openCli, until } from '../support/cli.ts';

/** Node options under which a process of this program, the moment it claims its run, does something to itself or others. */
function atTheClaim(cli: Cli, program: 'main.js' | 'runner.js', deed: string): Record<string, string> {
  const hook = cli.file(
    'hook.cjs',
    `const fs = require('node:fs');
     const { linkSync } = fs;
     fs.linkSync = (...args) => { linkSync(...args); ${deed} };
     if (process.argv[1].endsWith('${program}')) require('node:module').syncBuiltinESMExports();`,
  );
  return { NODE_OPTIONS: `--require ${hook}` };
}

describe('a signal as soon as there is a run, before anything is started', () => {
  test.concurrent('attached', async () => {
    await using cli = openCli();
    const env = atTheClaim(cli, 'main.js', "process.kill(process.pid, 'SIGTERM');");
    const { code, signal } = await cli.run(['run', '--id', 'e', '--', 'sleep', '60'], { env });
    expect({ code, signal }).toEqual({ code: 143, signal: null });
    expect(cli.status('e')).toMatchObject({ state: 'stopped', cause: { type: 'runner-signal', signal: 'SIGTERM' } });
  });

  test.concurrent('detached', async () => {
    await using cli = openCli();
    const env = atTheClaim(cli, 'runner.js', "process.kill(process.pid, 'SIGTERM');");
    await cli.run(['run', '--id', 'e', '--detach', '--', 'sleep', '60'], { env });
    expect(await cli.run(['wait', 'e'])).toMatchObject({ code: 3 });
    expect(cli.status('e')).toMatchObject({ state: 'stopped', cause: { type: 'runner-signal', signal: 'SIGTERM' } });
  });
});

test.concurrent('a launcher that dies before its runner is up does not end the run', async () => {
  await using cli = openCli();
  const gone = `
    const { ppid } = process;
    process.kill(ppid, 'SIGKILL');
    while (process.ppid === ppid) Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);`;
  const env = atTheClaim(cli, 'runner.js', gone);
  const launcher = await cli.run(['run', '--id', 'e', '--detach', '--', 'echo', 'on'], { env });
  expect(launcher.signal).toBe('SIGKILL');
  await until(() => ended(cli), 'the run ends');
  expect(cli.status('e')).toMatchObject({ state: 'completed' });
  expect(readFileSync(join(cli.root, 'runs', 'e', 'runner.log'), 'utf8')).toBe('');
});

const ended = (cli: Cli): boolean =>
  ['completed', 'failed', 'stopped'].includes(attempt(() => cli.status('e').state) ?? '');
