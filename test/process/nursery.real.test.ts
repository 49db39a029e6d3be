import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, it, onTestFinished } from 'vitest';
import type { Failure } from '../../machines/protocol.ts';
import { createLauncher, type Child, type LaunchSpec, newToken, startTimeOf } from '../../src/process/index.ts';
import { openNursery } from '../../src/process/nursery/nursery.ts';
import { Outbox } from '../../src/process/nursery/outbox.ts';
import type { News } from '../../src/process/nursery/messages.ts';
import { runs } from '../support/truth.ts';
import { endLater, folder, plainEnv, until } from './support.ts';

const node = process.execPath;
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(closing.splice(0).map((close) => close()));
});

interface Told {
  child: Child;
  log: string[];
  pid: number | null;
  out: Buffer[];
  code: number | null;
  failure: Failure | null;
  over: Promise<string>;
}

type Start = (spec: LaunchSpec, token: string, handlers: Parameters<Launcher['launch']>[2]) => Child;
type Launcher = ReturnType<typeof createLauncher>;

function tell(start: Start, argv: string[], spec: Partial<LaunchSpec> = {}): Told {
  const ends: ((how: string) => void)[] = [];
  const end = (how: string): void => ends.forEach((one) => one(how));
  const told: Omit<Told, 'child'> = {
    log: [],
    pid: null,
    out: [],
    code: null,
    failure: null,
    over: new Promise((resolve) => void ends.push(resolve)),
  };
  const child = start({ argv, shell: false, cwd: '/', env: plainEnv, stdin: { type: 'none' }, ...spec }, newToken(), {
    started: ({ pid }) => {
      told.log.push('started');
      told.pid = pid;
      endLater(pid);
    },
    unstarted: (failure) => {
      told.log.push('unstarted');
      told.failure = failure;
      end('unstarted');
    },
    stdout: (chunk) => {
      if (told.log.at(-1) !== 'stdout') told.log.push('stdout');
      told.out.push(chunk);
    },
    stderr: () => void told.log.push('stderr'),
    exited: ({ code }) => {
      told.log.push('exited');
      told.code = code;
    },
    drained: (how) => {
      told.log.push('drained');
      end(how);
    },
  });
  return Object.assign(told, { child });
}

async function nursery(onLost: (error: Error) => void = (error) => expect.fail(error.message)) {
  const opened = openNursery(onLost);
  closing.push(() => opened.close());
  await until('the nursery is ready', () => opened.ready);
  return Object.assign(opened, {
    tell: (argv: string[], spec?: Partial<LaunchSpec>) =>
      tell((given, token, handlers) => opened.launch(given, token, handlers), argv, spec),
  });
}

const hash = (data: Buffer): string => createHash('sha256').update(data).digest('hex');
const parentOf = (pid: number): string =>
  readFileSync(`/proc/${pid}/stat`, 'latin1')
    .replace(/^.*\) \S /s, '')
    .split(' ')[0] ?? '';
const commandOf = (pid: number | string): string => readFileSync(`/proc/${pid}/cmdline`, 'latin1');

describe('children of a nursery', () => {
  it('are told of as those that are started here: start, output, exit, drain', async () => {
    const { tell: launch } = await nursery();
    const run = launch(['/bin/sh', '-c', 'echo out; exit 7'], { cwd: folder() });
    expect(run.log).toEqual([]);
    expect(await run.over).toBe('closed');
    expect(run.log).toEqual(['started', 'stdout', 'exited', 'drained']);
    expect(Buffer.concat(run.out).toString()).toBe('out\n');
    expect(run.code).toBe(7);
  });

  it('lead a session of their own, below the nursery and not below the runner, with their identity', async () => {
    const { tell: launch } = await nursery();
    const run = launch(['sleep', '60']);
    const pid = await until('it runs', () => run.pid);
    expect(startTimeOf(pid)).toEqual(expect.any(Number));
    expect(commandOf(parentOf(pid))).toContain(join('nursery', 'main.js'));
    process.kill(-pid, 'SIGKILL');
    expect(await run.over).toBe('closed');
  });

  it('hear what is written before they are born, in order, and the end of it', async () => {
    const { tell: launch } = await nursery();
    const run = launch(['cat'], { stdin: { type: 'protocol' } });
    for (let i = 0; i < 100; i += 1) run.child.write(`${i}\n`);
    run.child.closeStdin();
    await run.over;
    const lines = Array.from({ length: 100 }, (_, i) => `${i}\n`);
    expect(Buffer.concat(run.out).toString()).toBe(lines.join(''));
  });

  it('are refused for the same reasons', async () => {
    const { tell: launch } = await nursery();
    const missing = launch(['/no/such/program']);
    const elsewhere = launch(['true'], { cwd: '/no/such/folder' });
    const long = launch(['true', 'x'.repeat(200_000)]);
    await Promise.all([missing, elsewhere, long].map(({ over }) => over));
    expect(missing.failure?.code).toBe('command-missing');
    expect(elsewhere.failure?.code).toBe('cwd-missing');
    expect(long.failure?.code).toBe('argument-list-too-long');
    expect([missing, elsewhere, long].map(({ log }) => log)).toEqual([['unstarted'], ['unstarted'], ['unstarted']]);
  });

  it('lose no byte while the runner does not listen, and then some time more', async () => {
    const { tell: launch } = await nursery();
    const bytes = 24 * 1024 * 1024;
    const run = launch([node, '-e', `process.stdout.write(Buffer.alloc(${bytes}, 'coxswain'))`]);
    await until('it writes', () => run.out.length > 0);
    // Longer than a silence that counts as the end: nothing may be called over that could not be read.
    const blocked = performance.now() + 800;
    while (performance.now() < blocked);
    expect(await run.over).toBe('closed');
    expect(hash(Buffer.concat(run.out))).toBe(hash(Buffer.alloc(bytes, 'coxswain')));
  });
});

describe('the nursery itself', () => {
  it('goes when it is closed, and leaves nothing', async () => {
    const opened = await nursery();
    const run = opened.tell(['cat'], { stdin: { type: 'protocol' } });
    const pid = await until('it runs', () => run.pid);
    const parent = Number(parentOf(pid));
    run.child.closeStdin();
    await run.over;
    await opened.close();
    expect(runs(parent)).toBe(false);
  });

  it('says so once when it is lost, and nothing about its children any more', async () => {
    const lost: string[] = [];
    const opened = await nursery((error) => void lost.push(error.message));
    const run = opened.tell(['sleep', '60']);
    const pid = await until('it runs', () => run.pid);
    process.kill(Number(parentOf(pid)), 'SIGKILL');
    await until('the loss is told', () => lost.length > 0);
    expect(lost).toEqual([expect.stringContaining('SIGKILL')]);
    expect(opened.ready).toBe(false);
    expect(run.log).toEqual(['started']);
    // Its children live on: whoever opened it has to end them.
    expect(runs(pid)).toBe(true);
  });

  it('takes no notice of the signals that end a program politely', async () => {
    const opened = await nursery();
    const run = opened.tell(['sleep', '60']);
    const pid = await until('it runs', () => run.pid);
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'] as const)
      process.kill(Number(parentOf(pid)), signal);
    const after = opened.tell(['true']);
    expect(await after.over).toBe('closed');
    process.kill(-pid, 'SIGKILL');
    await run.over;
  });

  it('ends its children with a runner that was killed', async () => {
    const built = new URL('../../dist/src/process/nursery/nursery.js', import.meta.url);
    const runner = spawn(
      node,
      [
        '--input-type=module',
        '-e',
        `import { openNursery } from ${JSON.stringify(fileURLToPath(built))};
         const nursery = openNursery(() => {});
         const told = { started: ({ pid }) => console.log(pid), unstarted() {}, stdout() {}, stderr() {}, exited() {}, drained() {} };
         const spec = { argv: ['sh', '-c', 'trap "" TERM; sleep 60 & sleep 60'], shell: false, cwd: '/', env: process.env, stdin: { type: 'none' } };
         nursery.launch(spec, 'token', told);
         nursery.launch(spec, 'token', told);`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    );
    onTestFinished(() => void runner.kill('SIGKILL'));
    const pids: number[] = [];
    for await (const line of createInterface(runner.stdout)) {
      pids.push(Number(line));
      endLater(Number(line));
      if (pids.length === 2) break;
    }
    const parent = Number(parentOf(pids[0] ?? 0));
    expect(readlinkSync(`/proc/${parent}/exe`)).toBe(node);
    runner.kill('SIGKILL');
    await until('all are gone', () => [...pids, parent].every((pid) => !runs(pid)));
  });
});

const bornHere = (pid: number): boolean => parentOf(pid) === String(process.pid);

async function births(launcher: Launcher): Promise<boolean> {
  const run = tell((...args) => launcher.launch(...args), ['sleep', '60']);
  const pid = await until('it runs', () => run.pid);
  const here = bornHere(pid);
  process.kill(-pid, 'SIGKILL');
  await run.over;
  return here;
}

describe('where children are born', () => {
  it('is here, until that has cost as much as a nursery, which the first who meet it do not wait for', async () => {
    const launcher = createLauncher({ priceMs: 0, onLost: (error) => expect.fail(error.message) });
    closing.push(() => launcher.close());
    expect(await births(launcher)).toBe(true);
    await expect.poll(() => births(launcher), { timeout: 10_000 }).toBe(false);
  });

  it('is here for a run of a few', async () => {
    const launcher = createLauncher({ expected: 3, onLost: (error) => expect.fail(error.message) });
    closing.push(() => launcher.close());
    for (let i = 0; i < 3; i += 1) expect(await births(launcher)).toBe(true);
  });
});

describe('news on their way', () => {
  it('of one turn go as one message, and output stops being read while a megabyte is not taken', async () => {
    const sent: News[][] = [];
    const taken: (() => void)[] = [];
    const held: boolean[] = [];
    const outbox = new Outbox(
      (news, done) => {
        sent.push(news);
        taken.push(done);
      },
      (on) => void held.push(on),
    );
    outbox.put({ type: 'stdout', id: 1, chunk: Buffer.alloc(1024 * 1024) });
    outbox.put({ type: 'stdout', id: 2, chunk: Buffer.alloc(1) });
    outbox.put({ type: 'exited', id: 1, code: 0, signal: null });
    await until('they are sent', () => sent.length > 0);
    expect(sent.map((news) => news.map(({ type }) => type))).toEqual([['stdout', 'stdout', 'exited']]);
    expect([held, outbox.held]).toEqual([[true], true]);
    taken[0]?.();
    expect([held, outbox.held]).toEqual([[true, false], false]);
  });
});
