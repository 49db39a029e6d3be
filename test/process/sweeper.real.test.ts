import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  createSweeper,
  groupState,
  hostPlatform,
  identify,
  newToken,
  signalMember,
  startTimeOf,
  type Look,
  type Platform,
  type TreeTarget,
} from '../../src/process/index.ts';
import { readStat } from '../../src/process/proc.ts';
import { endLater, firstLine, folder, record, script, targetOf, until } from './support.ts';

const proc = hostPlatform().list === 'proc';
const now = (): number => performance.now();
const node = process.execPath;

/** Starts `sleep` in a session of its own and prints its pid. */
const STRAY = `const c = require('node:child_process').spawn('sleep', ['600'], { detached: true, stdio: 'ignore' }); c.unref(); console.log(c.pid);`;

const withPs = (ps: string): Platform => ({ list: 'ps', groups: true, ps });

/** Looks again and again until the file is there: how many members each look found, -1 for a blind one. */
async function lookUntil(file: string, target: TreeTarget): Promise<number[]> {
  const sweeper = createSweeper({ now });
  const counts: number[] = [];
  while (!existsSync(file)) {
    // oxlint-disable-next-line no-await-in-loop -- one look after the other is the case
    const look = await sweeper.look(target);
    counts.push(look.type === 'blind' ? -1 : look.members.length);
  }
  expect(counts.length).toBeGreaterThan(0);
  return counts;
}

function membersOf(look: Look): { pid: number; by: string; command: string }[] {
  if (look.type === 'blind') throw new Error(`blind: ${look.reason}`);
  return look.members.map(({ pid, by, command }) => ({ pid, by, command }));
}

describe.runIf(proc)('the search', () => {
  it('has an answer where others come and go faster than they can be read', async () => {
    // Each of these starts a process, and reaps it, some hundred times a second.
    const others = Array.from({ length: 4 }, () => record(['/bin/bash', '-c', 'while :; do /bin/true; done']));
    const child = record(['/bin/sh', '-c', 'exit 0']);
    await Promise.all(others.map((other) => other.started));
    await child.exited;
    const target = await targetOf(child);
    const sweeper = createSweeper({ now });
    for (let i = 0; i < 5; i += 1) {
      // oxlint-disable-next-line no-await-in-loop -- one look after the other is the case
      expect(await sweeper.look(target)).toMatchObject({ type: 'looked', members: [] });
    }
  });

  it('finds nobody after a child that left nobody, and the leader while it lives', async () => {
    const sweeper = createSweeper({ now });
    const gone = record(['/bin/sh', '-c', 'exit 0']);
    await gone.exited;
    expect(await sweeper.look(await targetOf(gone))).toEqual({
      type: 'looked',
      members: [],
      level: 'searched',
      serial: 1,
    });
    const alive = record(['/bin/sh', '-c', 'exec sleep 600']);
    const target = await targetOf(alive);
    expect(await sweeper.look(target)).toEqual({
      type: 'looked',
      members: [{ pid: target.pgid, startTime: target.leader.startTime, by: 'leader', command: 'sleep' }],
      level: 'searched',
      serial: 2,
    });
  });

  it('finds a stray that left group and session by its token, and it can be ended by its identity', async () => {
    const sweeper = createSweeper({ now });
    const run = record([node, '-e', STRAY]);
    const stray = Number(await firstLine(run));
    endLater(stray);
    await run.exited;
    const target = await targetOf(run);
    expect(groupState(target.pgid)).toBe('empty');
    const look = await sweeper.look(target);
    expect(membersOf(look)).toEqual([{ pid: stray, by: 'token', command: 'sleep' }]);
    const [member] = look.type === 'looked' ? look.members : [];
    expect(member === undefined ? null : signalMember(member, 'SIGKILL')).toEqual({ targets: 1 });
    await until('the stray is gone', () => identify(stray) === null);
    expect(membersOf(await sweeper.look(target))).toEqual([]);
  });

  it('finds one that shed the environment by its session; one that shed both is out of reach', async () => {
    const sweeper = createSweeper({ now });
    const run = record(['/bin/sh', '-c', 'env -i /bin/sh -c "exec sleep 600" & echo $!']);
    const pid = Number(await firstLine(run));
    await run.exited;
    await until('the exec', () => {
      const stat = readStat(pid);
      return stat.type === 'read' && stat.value.command === 'sleep';
    });
    const target = await targetOf(run);
    expect(membersOf(await sweeper.look(target))).toEqual([{ pid, by: 'group', command: 'sleep' }]);

    const hidden = record([node, '-e', STRAY.replace("stdio: 'ignore'", "stdio: 'ignore', env: {}")]);
    endLater(Number(await firstLine(hidden)));
    await hidden.exited;
    expect(membersOf(await sweeper.look(await targetOf(hidden)))).toEqual([]);
  });

  it('tells several trees apart in one search', async () => {
    const sweeper = createSweeper({ now });
    const runs = [record([node, '-e', STRAY]), record([node, '-e', STRAY]), record(['/bin/true'])];
    const strays = await Promise.all(runs.slice(0, 2).map(async (run) => Number(await firstLine(run))));
    strays.forEach(endLater);
    await Promise.all(runs.map((run) => run.exited));
    const targets = await Promise.all(runs.map(targetOf));
    const looks = await Promise.all(targets.map((target) => sweeper.look(target)));
    expect(looks.map((look) => membersOf(look).map(({ pid }) => pid))).toEqual([[strays[0]], [strays[1]], []]);
    expect(sweeper.totals.searches).toBe(1);
  });

  it('sees what is there after the request, not what an earlier search saw', async () => {
    const sweeper = createSweeper({ now });
    const run = record(['/bin/sh', '-c', 'read x; exit 0'], { stdin: { type: 'protocol' } });
    const target = await targetOf(run);
    const before = sweeper.look(target);
    expect(membersOf(await before)).toHaveLength(1);
    run.child.closeStdin();
    await run.exited;
    expect(membersOf(await sweeper.look(target))).toEqual([]);
  });

  it('does not lose a tree that hops: each process starts the next and ends', async () => {
    // The end is told by a file: the pipes are closed on our side soon after the first process has ended.
    const mark = join(folder(), 'end');
    const hop = script(
      'hop.sh',
      'if [ "$1" -gt 0 ]; then /bin/sh "$0" $(($1 - 1)) "$2" & exit 0; fi; echo > "$2"; exec sleep 600\n',
    );
    const run = record(['/bin/sh', hop, '300', mark]);
    expect(await lookUntil(mark, await targetOf(run))).not.toContain(0);
  });

  it('does not lose a process in the middle of an exec', async () => {
    // Out of the session, so that only the environment tells; it shows none for a moment at each exec.
    const mark = join(folder(), 'end');
    const again = script(
      'again.sh',
      'if [ "$1" -gt 0 ]; then exec /bin/sh "$0" $(($1 - 1)) "$2"; fi; echo > "$2"; exec sleep 600\n',
    );
    const run = record([node, '-e', STRAY.replace(`'sleep', ['600']`, `'/bin/sh', ['${again}', '500', '${mark}']`)]);
    endLater(Number(await firstLine(run)));
    await run.exited;
    const counts = await lookUntil(mark, await targetOf(run));
    expect(new Set(counts)).toEqual(new Set([1]));
  });

  it('never takes this process or its parents for members', async () => {
    const own = readStat(process.pid);
    const pgid = own.type === 'read' ? own.value.session : 0;
    const look = await createSweeper({ now }).look({
      pgid,
      token: newToken(),
      leader: { pid: pgid, startTime: startTimeOf(pgid) },
    });
    const pids = membersOf(look).map(({ pid }) => pid);
    expect(pids).not.toContain(process.pid);
    expect(pids).not.toContain(process.ppid);
  });

  it('ignores older processes, whatever their environment says', async () => {
    const older = record(['/bin/sh', '-c', 'exec sleep 600']);
    const { startTime } = await older.started;
    const younger = { pid: 2 ** 22 - 7, startTime: (startTime ?? 0) + 1 };
    const look = await createSweeper({ now }).look({ pgid: younger.pid, token: older.token, leader: younger });
    expect(membersOf(look)).toEqual([]);
  });
});

describe('without /proc', () => {
  it('searches by group with ps, and says that this is all', async () => {
    const run = record(['/bin/sh', '-c', 'sleep 600 & echo $!; wait']);
    const target = await targetOf(run);
    const member = Number(await firstLine(run));
    const sweeper = createSweeper({ now, platform: withPs('ps') });
    const look = await sweeper.look(target);
    expect(look.level).toBe('group');
    expect(membersOf(look)).toEqual(
      expect.arrayContaining([
        { pid: target.pgid, by: 'leader', command: 'sh' },
        { pid: member, by: 'group', command: 'sleep' },
      ]),
    );
    process.kill(-target.pgid, 'SIGKILL');
    await run.exited;
    await until('the group is gone', () => groupState(target.pgid) !== 'occupied');
    expect(await sweeper.look(target)).toMatchObject({ type: 'looked', members: [], level: 'group' });
  });

  it.each([
    ['fails', 'exit 126', 'ps failed (exit 126)'],
    ['lists somebody else’s processes', 'echo "1 0 1 S init"', 'ps gave no usable list'],
    ['prints help', 'echo "usage: ps"', 'ps gave no usable list'],
    ['is killed', 'kill -KILL $$', 'ps failed (SIGKILL)'],
  ])('is blind, not content, when ps %s', async (_name, body, reason) => {
    const ps = script('ps', `#!/bin/sh\n${body}\n`);
    const run = record(['/bin/sh', '-c', 'exec sleep 600']);
    const look = await createSweeper({ now, platform: withPs(ps) }).look(await targetOf(run));
    expect(look).toMatchObject({ type: 'blind', reason, level: 'group' });
  });

  it('is blind when there is no ps, or nothing to ask', async () => {
    const target = await targetOf(record(['/bin/sh', '-c', 'exec sleep 600']));
    const missing = await createSweeper({ now, platform: withPs('/no/such/ps') }).look(target);
    expect(missing).toMatchObject({ type: 'blind', reason: 'ps failed (ENOENT)', level: 'group' });
    const none = await createSweeper({ now, platform: { list: 'none', groups: false, ps: 'ps' } }).look(target);
    expect(none).toMatchObject({ type: 'blind', level: 'group' });
  });
});
