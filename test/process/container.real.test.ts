import { chmodSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import {
  createSweeper,
  hostPlatform,
  identify,
  probeContainment,
  signalTree,
  type Container,
  type Containment,
} from '../../src/process/index.ts';
import { probeAnew } from '../../src/process/container/index.ts';
import { createPidns } from '../../src/process/container/pidns.ts';
import { firstLine, folder, record, script, treeOfRun, until } from './support.ts';

const containment: Containment = await probeContainment();
const cgroup = containment.cgroup.type === 'available';
const pidns = containment.pidns.type === 'available';
const now = (): number => performance.now();
const node = process.execPath;

let names = 0;
const opened: Container[] = [];

function open(kind: 'cgroup' | 'pidns'): Container {
  names += 1;
  const made = kind === 'cgroup' ? containment.openCgroup(`test ${process.pid}/${names}`) : containment.openPidns();
  if (made.type === 'refused') throw new Error(made.code);
  opened.push(made.container);
  return made.container;
}

afterEach(async () => {
  for (const container of opened.splice(0)) {
    container.kill();
    // oxlint-disable-next-line no-await-in-loop -- one after the other
    await until('the container to be removed', () => container.remove());
  }
});

const kinds = [...(cgroup ? (['cgroup'] as const) : []), ...(pidns ? (['pidns'] as const) : [])];

/** What the program saw, without what differs for a reason. */
function shown(text: string): unknown {
  const [args, env, cwd, input] = JSON.parse(text) as [unknown, Record<string, string>, string, string];
  const kept = Object.entries(env).filter(([name, value]) => !isOwn(name, value));
  return [args, Object.fromEntries(kept), cwd, input];
}

/** The token; and bash, which is taken for odd names, counts its levels. */
const isOwn = (name: string, value: string): boolean =>
  name === 'COXSWAIN_TOKEN' || (name === 'SHLVL' && value === '0');

describe.each(kinds)('in a %s', (kind) => {
  it('a program gets its arguments, environment, folder and input as without', async () => {
    const cwd = folder();
    const show =
      'process.stdin.on("data", (d) => console.log(JSON.stringify([process.argv.slice(1), process.env, process.cwd(), String(d)])))';
    const argv = [node, '-e', show, '--', '$HOME `x` "y" \'z\'', '', '* ; exit 3', 'ü\n2'];
    const env = { PATH: '/bin', 'odd-name.x': 'kept', EMPTY: '', TEXT: 'a b\n$c' };
    const spec = { cwd, env, stdin: { type: 'text' as const, text: 'hello' } };
    const [plain, inside] = [record(argv, spec), record(argv, { ...spec, contain: open(kind) })];
    expect(shown(await firstLine(inside))).toEqual(shown(await firstLine(plain)));
    expect(inside.log.slice(0, 1)).toEqual(['started']);
    expect(await inside.exited).toMatchObject({ code: 0, signal: null });
    await inside.drained;
  });

  it('does not show the program the descriptor of its wrapper, and passes exit codes on', async () => {
    const run = record(['/bin/sh', '-c', '[ -e /proc/$$/fd/3 ] && exit 1; exit 7'], { contain: open(kind) });
    expect(await run.exited).toMatchObject({ code: 7 });
  });

  it('tells a program that cannot be started apart, as without', async () => {
    const denied = script('denied', '#!/bin/sh\n', 0o600);
    const orphaned = script('orphaned', '#!/no/such/interpreter\n');
    chmodSync(denied, 0o600);
    const codes = [];
    for (const argv of [['no-such-program-at-all'], [denied], [orphaned], ['-x']]) {
      // oxlint-disable-next-line no-await-in-loop -- one container after the other
      codes.push((await record(argv, { contain: open(kind) }).unstarted).code);
    }
    expect(codes).toEqual(['command-missing', 'command-not-executable', 'command-missing', 'argument-invalid']);
  });

  it('runs a command line in a shell', async () => {
    const run = record(['echo "$0" && echo $((1 + 1)) | cat'], { shell: true, contain: open(kind) });
    await run.drained;
    expect(run.stdout().toString()).toBe('/bin/sh\n2\n');
  });

  it('says who is inside, at level contained, and that nobody is', async () => {
    const sweeper = createSweeper({ now });
    const container = open(kind);
    const run = record(['/bin/sh', '-c', 'setsid env -i sleep 600 & echo ready; exec sleep 600'], {
      contain: container,
    });
    await firstLine(run);
    const target = await treeOfRun(run, container);
    const look = await sweeper.look(target);
    expect(look).toMatchObject({ type: 'looked', level: 'contained', search: 'unneeded' });
    const members = look.type === 'looked' ? look.members : [];
    expect(members.length).toBeGreaterThanOrEqual(2);
    expect(members.map(({ by }) => by)).toContain(kind === 'cgroup' ? 'cgroup' : 'namespace');
    expect(container.remove()).toBe(false);
    const signalled = signalTree(target, 'SIGKILL', { members });
    expect(signalled.error).toBeUndefined();
    expect(signalled.targets).toBeGreaterThan(0);
    await run.exited;
    await until('all to be gone', () => members.every(({ pid }) => identify(pid) === null));
    expect(await sweeper.look(target)).toMatchObject({
      type: 'looked',
      members: [],
      level: 'contained',
      search: kind === 'cgroup' ? 'done' : 'unneeded',
    });
  });

  it('a gentle signal reaches everybody once, in the group or not', async () => {
    const container = open(kind);
    const heard = join(folder(), 'heard');
    const trap = `trap 'echo x >>${heard}; exit 0' TERM; echo ready; while :; do sleep 0.05; done`;
    const run = record(
      ['/bin/sh', '-c', `trap : TERM; setsid /bin/sh -c "$0" & /bin/sh -c "$0" & wait; wait; wait`, trap],
      {
        contain: container,
      },
    );
    await until('both', () => run.stdout().toString() === 'ready\nready\n');
    const target = await treeOfRun(run, container);
    const before = container.look();
    expect(before.type).toBe('occupied');
    signalTree(target, 'SIGTERM');
    await until('both have heard', () => existsSync(heard) && readFileSync(heard, 'utf8').length >= 4);
    expect(readFileSync(heard, 'utf8')).toBe('x\nx\n');
  });
});

describe.runIf(cgroup)('a control group', () => {
  it('that is gone before the launch makes it a launch that did not happen', async () => {
    const container = open('cgroup');
    expect(container.remove()).toBe(true);
    const run = record(['/bin/sh', '-c', 'echo never'], { contain: container });
    expect(await run.unstarted).toMatchObject({ code: 'spawn-failed', detail: { container: 'cgroup' } });
    expect(run.log).toEqual(['unstarted']);
    expect(container.look()).toEqual({ type: 'empty' });
  });

  it('does not keep out of the search whoever left it', async () => {
    const container = open('cgroup');
    const above = containment.cgroup.type === 'available' ? containment.cgroup.base : '';
    const run = record(
      ['/bin/sh', '-c', `setsid /bin/sh -c 'echo $$ >${above}/cgroup.procs; echo $$; exec sleep 600' & read x`],
      { contain: container, stdin: { type: 'protocol' } },
    );
    const left = Number(await firstLine(run));
    const target = await treeOfRun(run, container);
    run.child.closeStdin();
    await run.exited;
    await until('nobody is inside', () => container.look().type === 'empty');
    const look = await createSweeper({ now }).look(target);
    expect(look).toMatchObject({ level: 'contained', search: 'done', members: [{ pid: left, by: 'token' }] });
    signalTree(target, 'SIGKILL', { members: look.type === 'looked' ? look.members : [], emptied: true });
    await until('it is gone', () => identify(left) === null);
  });

  it('can be found again by its path, and no other group can', async () => {
    const container = open('cgroup');
    const run = record(['/bin/sh', '-c', 'exec sleep 600'], { contain: container });
    await run.started;
    const again = containment.reopenCgroup(container.path ?? '');
    expect(again.type === 'opened' ? again.container.look() : again).toMatchObject({ type: 'occupied' });
    expect(containment.reopenCgroup('/sys/fs/cgroup/system.slice')).toEqual({ type: 'refused', code: 'not-ours' });
    expect(containment.reopenCgroup('/no/such/coxswain-group')).toEqual({ type: 'refused', code: 'ENOENT' });
    expect(containment.openCgroup(`test ${process.pid}/${names}`)).toEqual({ type: 'refused', code: 'EEXIST' });
  });

  it('is removed with the groups that were made inside it', async () => {
    const container = open('cgroup');
    const nested = 'mkdir "$0/inner" && echo $$ >"$0/inner/cgroup.procs" && echo in && exec sleep 600';
    const run = record(['/bin/sh', '-c', nested, container.path ?? ''], { contain: container });
    await firstLine(run);
    expect(container.look()).toMatchObject({ type: 'occupied', members: [{ pid: run.child.pid }] });
    container.kill();
    await run.exited;
    await until('it is removed', () => container.remove());
    expect(existsSync(container.path ?? '')).toBe(false);
  });
});

describe.runIf(hostPlatform().list === 'proc')('a process id namespace', () => {
  it('is not empty before the process that made it is gone, and that one can be ended', async () => {
    const slow = script('unshare', '#!/bin/sh\n"$@"\nexec sleep 600\n');
    const container = createPidns([slow]);
    opened.push(container);
    const run = record(['/bin/sh', '-c', 'exit 0'], { contain: container });
    const { pid } = await run.started;
    await until('the program is over', () => readFileSync(`/proc/${pid}/cmdline`, 'latin1').startsWith('sleep'));
    expect(container.look()).toMatchObject({ type: 'occupied', members: [{ pid, by: 'leader' }] });
    expect(container.kill()).toEqual({ targets: 1 });
    expect(await run.exited).toMatchObject({ signal: 'SIGKILL' });
    expect(container.look()).toEqual({ type: 'empty' });
  });
});

describe('the probe', () => {
  it('says why a kind is not to be had, and refuses to open it', async () => {
    const none = await probeAnew({ platform: { list: 'ps', groups: true, ps: 'ps' } });
    expect(none.cgroup).toMatchObject({ type: 'unavailable', reason: 'no-proc' });
    expect(none.openPidns()).toEqual({ type: 'refused', code: 'no-proc' });
  });

  it.runIf(hostPlatform().list === 'proc')('tries, and believes nothing', async () => {
    // A folder that looks like a place for groups and is none; and an unshare that may not.
    const fake = folder();
    const bin = folder();
    writeFileSync(join(bin, 'unshare'), '#!/bin/sh\nexit 1\n', { mode: 0o755 });
    const texts: Record<string, string> = {
      '/proc/self/mountinfo': `30 24 0:26 / ${fake} rw - cgroup2 cgroup2 rw`,
      '/proc/self/cgroup': '0::/',
    };
    const read = (path: string): string => texts[path] ?? '';
    const found = await probeAnew({ read, path: bin });
    expect(found.cgroup).toMatchObject({ type: 'unavailable', reason: 'no-cgroup-kill' });
    expect(found.pidns).toMatchObject({ type: 'unavailable', reason: 'not-allowed' });
    const nothing = await probeAnew({ read: () => '', path: '' });
    expect(nothing.openCgroup('x')).toEqual({ type: 'refused', code: 'no-cgroup2' });
    expect(nothing.pidns).toMatchObject({ reason: 'no-unshare' });
  });
});
