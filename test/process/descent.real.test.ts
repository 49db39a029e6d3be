import { describe, expect, it } from 'vitest';
import type { Member } from '../../machines/protocol.ts';
import {
  createSweeper,
  hostPlatform,
  identify,
  note,
  signalTree,
  startTimeOf,
  suspects,
  type Look,
} from '../../src/process/index.ts';
import { endLater, firstLine, folder, record, treeOfRun, until, type Recording } from './support.ts';

const now = (): number => performance.now();
const node = process.execPath;

/** Its child has no token and a session of its own. It ends when its input does. */
const SHEDDING = [
  node,
  '-e',
  `const c = require('node:child_process').spawn('sleep', ['600'], { detached: true, stdio: 'ignore', env: {} });
   console.log(c.pid); process.stdin.on('data', () => {}).on('end', () => process.exit(0));`,
];

const shedding = (): Recording => record(SHEDDING, { stdin: { type: 'protocol' } });

function membersOf(look: Look): Member[] {
  if (look.type === 'blind') throw new Error(`blind: ${look.reason}`);
  return look.members;
}

const brief = (look: Look): string[] =>
  membersOf(look)
    .map(({ pid, by }) => `${by} ${pid}`)
    .toSorted();

describe.runIf(hostPlatform().list === 'proc')('descent', () => {
  it('finds who shed token and session while the parent lives, and knows them afterwards', async () => {
    const run = shedding();
    const pid = Number(await firstLine(run));
    endLater(pid);
    const target = await treeOfRun(run);
    const sweeper = createSweeper({ now });
    const first = await sweeper.look(target);
    expect(brief(first)).toEqual([`descent ${pid}`, `leader ${target.pgid}`]);
    run.child.closeStdin();
    await run.exited;
    const second = await sweeper.look(target);
    expect(brief(second)).toEqual([`descent ${pid}`]);
    expect(second.serial).toBe(first.serial + 1);
    expect(signalTree(target, 'SIGKILL', { members: membersOf(second), emptied: true })).toEqual({ targets: 1 });
    await until('it is gone', () => identify(pid) === null);
    expect(brief(await sweeper.look(target))).toEqual([]);
    expect(target.kin?.all()).toEqual([]);
  });

  it('is remembered by a note before the first signal, and not found without', async () => {
    const runs = [shedding(), shedding()] as const;
    const pids = await Promise.all(runs.map(async (run) => Number(await firstLine(run))));
    pids.forEach(endLater);
    const [noted, unnoted] = await Promise.all([treeOfRun(runs[0]), treeOfRun(runs[1])]);
    expect(note(noted)).toBe(2);
    for (const target of [noted, unnoted]) signalTree(target, 'SIGKILL');
    await Promise.all(runs.map((run) => run.exited));
    const sweeper = createSweeper({ now });
    expect(brief(await sweeper.look(noted))).toEqual([`descent ${pids[0]}`]);
    expect(brief(await sweeper.look(unnoted))).toEqual([]);
  });

  it('S020: a remembered pid that is another’s by now is neither found nor signalled', async () => {
    const target = await treeOfRun(record(['/bin/sh', '-c', 'exec sleep 600']));
    const stranger = record(['/bin/sh', '-c', 'exec sleep 600']);
    const { pid } = await stranger.started;
    const before = (startTimeOf(pid) ?? 0) - 1;
    target.kin?.add(pid, before, 'descent');
    expect(brief(await createSweeper({ now }).look(target))).toEqual([`leader ${target.pgid}`]);
    const replaced: Member = { pid, startTime: before, by: 'descent', command: 'sleep' };
    expect(signalTree(target, 'SIGTERM', { members: [replaced] })).toEqual({ targets: 1, error: 'recycled' });
    expect(identify(pid)).not.toBeNull();
  });

  it('does not reach from the runner to its other children', async () => {
    const runs = [shedding(), shedding()] as const;
    const pids = await Promise.all(runs.map(async (run) => Number(await firstLine(run))));
    pids.forEach(endLater);
    const targets = await Promise.all(runs.map((run) => treeOfRun(run)));
    const sweeper = createSweeper({ now });
    const looks = await Promise.all(targets.map((target) => sweeper.look(target)));
    expect(looks.map(brief)).toEqual(targets.map(({ pgid }, index) => [`descent ${pids[index]}`, `leader ${pgid}`]));
  });
});

describe.runIf(hostPlatform().list === 'proc')('pipes', () => {
  it('are searched when asked for, and tell who holds them', async () => {
    const holder = `const c = require('node:child_process').spawn('sleep', ['600'], { detached: true, stdio: ['ignore', 'ignore', 'inherit'], env: {} });
      c.unref(); console.log(c.pid);`;
    const run = record([node, '-e', holder]);
    const pid = Number(await firstLine(run));
    endLater(pid);
    await run.exited;
    const target = await treeOfRun(run);
    expect(target.pipes).toHaveLength(2);
    const sweeper = createSweeper({ now });
    expect(brief(await sweeper.look(target))).toEqual([]);
    expect(brief(await sweeper.look(target, { pipes: true }))).toEqual([`pipe ${pid}`]);
    // Who merely holds a pipe is not remembered.
    expect(brief(await sweeper.look(target))).toEqual([]);
  });
});

describe('suspects', () => {
  it.runIf(hostPlatform().list === 'proc')('sit in the work tree and are younger than the attempt', async () => {
    const workTree = folder();
    const older = record(['/bin/sh', '-c', 'exec sleep 600'], { cwd: workTree });
    const { startTime } = await older.started;
    await until('the clock to tick', () => tick() > (startTime ?? 0));
    const attempt = await treeOfRun(record(['/bin/sh', '-c', 'exec sleep 600'], { cwd: workTree }));
    const sitter = await record(['/bin/sh', '-c', 'exec sleep 600'], { cwd: workTree }).started;
    await record(['/bin/sh', '-c', 'exec sleep 600']).started;
    const seen = await suspects(attempt, workTree, [attempt.leader]);
    expect(seen?.map(({ pid }) => pid)).toEqual([sitter.pid]);
    expect(await suspects(attempt, '/no/such/folder')).toBeNull();
  });

  it('are unknown where nothing can be listed', async () => {
    const target = { pgid: 7, token: '', leader: { pid: 7, startTime: null } };
    expect(await suspects(target, folder(), [], { list: 'ps', groups: true, ps: 'ps' })).toBeNull();
  });
});

/** Hundredths of a second since boot, as start times are counted. */
const tick = (): number => Math.floor((process.hrtime()[0] * 1e3 + process.hrtime()[1] / 1e6) / 10) - 1;

it('without /proc, ps shows living descent out of the group', async () => {
  const run = shedding();
  const pid = Number(await firstLine(run));
  endLater(pid);
  const platform = { list: 'ps', groups: true, ps: 'ps' } as const;
  const look = await createSweeper({ now, platform }).look(await treeOfRun(run));
  expect(look.level).toBe('group');
  expect(brief(look)).toContain(`descent ${pid}`);
  // It cannot be told from another under its pid, so it is named and left alone.
  const target = await treeOfRun(run);
  const members = membersOf(look).filter((member) => member.pid === pid);
  expect(signalTree(target, 'SIGURG', { members, emptied: true, platform })).toEqual({ targets: 0, error: 'unseen' });
});
