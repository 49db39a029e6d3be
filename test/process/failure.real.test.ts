import { execFileSync } from 'node:child_process';
import { chmodSync, closeSync, existsSync, mkdirSync, openSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { LaunchSpec } from '../../src/process/index.ts';
import { folder, record, script } from './support.ts';

const SECRET = 's3cret-argument';

interface Case {
  name: string;
  argv: string[];
  spec?: Partial<LaunchSpec>;
  code: string;
  says: RegExp;
}

// S106: told apart at once; the message names the command and never an argument.
it.each<Case>([
  {
    name: 'missing on PATH',
    argv: ['no-such-program-x', SECRET],
    code: 'command-missing',
    says: /"no-such-program-x"/,
  },
  { name: 'missing path', argv: ['/no/such/program', SECRET], code: 'command-missing', says: /"\/no\/such\/program"/ },
  { name: 'a file as folder', argv: ['/bin/sh/x', SECRET], code: 'command-missing', says: /"\/bin\/sh\/x"/ },
  {
    name: 'cwd missing',
    argv: ['/bin/echo', SECRET],
    spec: { cwd: '/no/such/folder' },
    code: 'cwd-missing',
    says: /"\/no\/such\/folder" does not exist/,
  },
  {
    name: 'cwd a file',
    argv: ['/bin/echo', SECRET],
    spec: { cwd: '/bin/sh' },
    code: 'cwd-missing',
    says: /"\/bin\/sh" is not a directory/,
  },
  {
    name: 'too long',
    argv: ['/bin/echo', SECRET, 'x'.repeat(3 << 20)],
    code: 'argument-list-too-long',
    says: /"\/bin\/echo".*stdin or in a file/,
  },
  {
    name: 'zero byte in an argument',
    argv: ['/bin/echo', `${SECRET}\0`],
    code: 'argument-invalid',
    says: /Argument 1 of "\/bin\/echo"/,
  },
  {
    name: 'zero byte in the environment',
    argv: ['/bin/echo'],
    spec: { env: { BAD: `${SECRET}\0` } },
    code: 'argument-invalid',
    says: /variable BAD/,
  },
  { name: 'no command', argv: [], code: 'argument-invalid', says: /no command/ },
  { name: 'an empty command', argv: ['', SECRET], code: 'argument-invalid', says: /no command/ },
])('$name: $code', async ({ argv, spec, code, says }) => {
  const run = record(argv, spec);
  expect(run.child.pid).toBeNull();
  expect(run.log).toEqual([]);
  const failure = await run.unstarted;
  expect(failure.code).toBe(code);
  expect(failure.message).toMatch(says);
  expect(JSON.stringify(failure)).not.toContain(SECRET);
  run.child.write('nobody');
  run.child.closeStdin();
  await turn();
  expect(run.log).toEqual(['unstarted']);
});

it('not executable: says so; a folder as well', async () => {
  const file = script('plain.sh', 'echo hello\n', 0o644);
  expect(await record([file]).unstarted).toMatchObject({ code: 'command-not-executable', detail: { errno: 'EACCES' } });
  expect(await record([folder()]).unstarted).toMatchObject({ code: 'command-not-executable' });
});

it('an interpreter that is missing is not called a missing command', async () => {
  const failure = await record([script('odd', '#!/no/such/interpreter\n')]).unstarted;
  expect(failure).toMatchObject({ code: 'command-missing', message: expect.stringContaining('interpreter') });
});

it.runIf(process.platform === 'linux')('a script without a shebang runs as execvp runs it: by /bin/sh', async () => {
  const run = record([script('bare', 'echo "ran $1"\n'), 'here']);
  await run.drained;
  expect(run.stdout().toString()).toBe('ran here\n');
});

it('a folder that goes between the look and the start is still no missing command', async () => {
  const { spawnFailure } = await import('../../src/process/failure.ts');
  const cwd = join(folder(), 'short-lived');
  mkdirSync(cwd);
  rmdirSync(cwd);
  const enoent = Object.assign(new Error('spawn /bin/echo ENOENT'), { code: 'ENOENT' });
  const failure = spawnFailure(enoent, { argv: ['/bin/echo'], shell: false, cwd, env: {} });
  expect(failure.code).toBe('cwd-missing');
});

it.each(['EMFILE', 'ENFILE', 'EAGAIN', 'ENOMEM'])('%s is a lack of resources', async (code) => {
  const { spawnFailure } = await import('../../src/process/failure.ts');
  const failure = spawnFailure(Object.assign(new Error(code), { code }), {
    argv: ['x'],
    shell: false,
    cwd: '/',
    env: {},
  });
  expect(failure).toMatchObject({ code: 'resources-exhausted', detail: { errno: code } });
});

it.skipIf(process.getuid?.() === 0)('a folder that may not be entered', async () => {
  const cwd = folder();
  chmodSync(cwd, 0o600);
  expect(await record(['/bin/echo'], { cwd }).unstarted).toMatchObject({ code: 'cwd-missing' });
});

const prlimit = ['/usr/bin/prlimit', '/bin/prlimit'].find((path) => existsSync(path)) ?? '';

// Node reports this by an event on a child that execa has not handed out: unheard, it ends the whole process.
it.runIf(prlimit !== '')('no descriptors left: resources-exhausted, and this process lives on', async () => {
  const limit = (soft: string): void => void execFileSync(prlimit, ['--pid', `${process.pid}`, `--nofile=${soft}:`]);
  const soft = execFileSync(prlimit, ['--pid', `${process.pid}`, '--nofile', '--noheadings', '-o', 'SOFT'])
    .toString()
    .trim();
  const warmUp = record(['/bin/echo']);
  await warmUp.drained;
  const held: number[] = [];
  limit(String(readdirSync('/proc/self/fd').length + 60));
  try {
    // Ends by throwing, at the limit.
    for (;;) held.push(openSync('/dev/null', 'r'));
  } catch {
    // Full.
  }
  const run = record(['/bin/echo', SECRET]);
  const failure = await run.unstarted;
  await turn();
  for (const file of held) closeSync(file);
  limit(soft);
  expect(failure).toMatchObject({ code: 'resources-exhausted', detail: { errno: 'EMFILE' } });
  expect(run.log).toEqual(['unstarted']);
  const after = record(['/bin/echo', 'again']);
  await after.drained;
  expect(after.stdout().toString()).toBe('again\n');
});

it('leaves nothing behind: a failed start makes no file and no process', async () => {
  const cwd = folder();
  writeFileSync(join(cwd, 'only'), '');
  await record(['no-such-program-x'], { cwd }).unstarted;
  expect(readdirSync(cwd)).toEqual(['only']);
});
