import { accessSync, constants, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import {
  bootId,
  endTreeByPid,
  groupState,
  hostPlatform,
  identify,
  isSame,
  signalGroup,
  signalMember,
  startTimeOf,
  type Platform,
  type TreeTarget,
} from '../../src/process/index.ts';
import { readStat } from '../../src/process/proc.ts';
import { endLater, firstLine, record, targetOf, until } from './support.ts';

const proc = hostPlatform().list === 'proc';
const noProc: Platform = { list: 'ps', groups: true, ps: 'ps' };

/** Default action: ignored. For tests in which a signal must not arrive, and harmless if it did. */
const HARMLESS = 'SIGURG';

const forged = (pid: number): TreeTarget => ({ pgid: pid, token: '', leader: { pid, startTime: startTimeOf(pid) } });

describe.runIf(proc)('identity', () => {
  it('names this boot and this process', () => {
    expect(bootId()).toMatch(/^[0-9a-f-]{36}$/);
    expect(identify(process.pid)).toEqual({ pid: process.pid, startTime: startTimeOf(process.pid) });
  });

  it('knows a process by its start time, and that it has ended', async () => {
    const run = record(['/bin/sh', '-c', 'exec sleep 600']);
    const { pid, startTime } = await run.started;
    expect(isSame(pid, startTime)).toBe(true);
    expect(isSame(pid, (startTime ?? 0) + 1)).toBe(false);
    expect(isSame(pid, null)).toBe(false);
    process.kill(pid, 'SIGKILL');
    await run.exited;
    expect(isSame(pid, startTime)).toBe(false);
    expect(identify(pid)).toBeNull();
    expect(startTimeOf(pid)).toBeNull();
  });

  it('does not count a zombie as the same process, though it is still there', async () => {
    const run = record(['/bin/bash', '-c', 'sleep 0.01 & echo $!; exec sleep 600']);
    const pid = Number(await firstLine(run));
    await until('the zombie', () => {
      const stat = readStat(pid);
      return stat.type === 'read' && stat.value.gone;
    });
    expect(startTimeOf(pid)).toEqual(expect.any(Number));
    expect(isSame(pid, startTimeOf(pid))).toBe(false);
  });

  it('without /proc says only that somebody answers', () => {
    expect(isSame(process.pid, null, noProc)).toBe(true);
    expect(startTimeOf(process.pid, noProc)).toBeNull();
  });
});

describe('groupState', () => {
  it('sees members after the leader has gone, and nobody after them', async () => {
    const run = record(['/bin/sh', '-c', 'sleep 600 & echo $!']);
    const { pid } = await run.started;
    const member = Number(await firstLine(run));
    await run.exited;
    expect(groupState(pid)).toBe('occupied');
    process.kill(member, 'SIGKILL');
    await until('the group is gone', () => groupState(pid) !== 'occupied');
  });

  it.runIf(proc)('tells a group of nothing but zombies, which still answers signal 0', async () => {
    // Job control gives the background job a group of its own; `exec` leaves it without a parent that waits.
    const run = record(['/bin/bash', '-c', 'set -m; sleep 0.01 & echo $!; exec sleep 600']);
    const pgid = Number(await firstLine(run));
    await until('nothing but zombies', () => groupState(pgid) === 'zombies');
    expect(process.kill(-pgid, 0)).toBe(true);
    expect(groupState(pgid, noProc)).toBe('occupied');
  });

  it('never says empty where there are no groups to ask', () => {
    expect(groupState(2 ** 22 - 7, { list: 'none', groups: false, ps: 'ps' })).toBe('occupied');
  });
});

describe.runIf(proc)('signalGroup', () => {
  it('reaches the whole group while the leader lives, and after it has gone', async () => {
    const run = record(['/bin/sh', '-c', 'trap "" TERM; sleep 600 & echo $!; wait; exit 3']);
    const target = await targetOf(run);
    await firstLine(run);
    expect(signalGroup(target, 'SIGKILL')).toEqual({ targets: 1 });
    expect(await run.exited).toMatchObject({ signal: 'SIGKILL' });

    const orphans = record(['/bin/sh', '-c', 'sleep 600 & echo $!']);
    const orphaned = await targetOf(orphans);
    const member = Number(await firstLine(orphans));
    await orphans.exited;
    expect(signalGroup(orphaned, 'SIGKILL')).toEqual({ targets: 1 });
    await until('the member is gone', () => identify(member) === null);
    expect(signalGroup(orphaned, 'SIGKILL')).toEqual({ targets: 0 });
  });

  it('does not signal when the leader’s number is another’s now', async () => {
    const run = record(['/bin/sh', '-c', 'exec sleep 600']);
    const target = await targetOf(run);
    const earlier = { ...target, leader: { pid: target.pgid, startTime: (target.leader.startTime ?? 0) - 5 } };
    expect(signalGroup(earlier, 'SIGKILL')).toEqual({ targets: 0, error: 'recycled' });
    expect(isSame(target.pgid, target.leader.startTime)).toBe(true);
  });

  it('does not signal members that are nobody’s we know', async () => {
    // A group whose leader was reaped, in a session of another number: as a stranger's would be.
    const run = record([
      '/bin/bash',
      '-c',
      'set -m; { sleep 600 & echo $!; } & leader=$!; wait $leader; echo $leader; exec sleep 600',
    ]);
    const [member = 0, pgid = 0] = await until('both pids', () => {
      const lines = run.stdout().toString().trim().split('\n').map(Number);
      return lines.length === 2 && lines;
    });
    endLater(pgid);
    expect(readStat(pgid).type).toBe('gone');
    expect(readStat(member)).toMatchObject({ value: { pgid } });
    const target: TreeTarget = { pgid, token: 'another', leader: { pid: pgid, startTime: startTimeOf(member) } };
    expect(signalGroup(target, HARMLESS)).toEqual({ targets: 0, error: 'not-ours' });
    expect(signalGroup({ ...target, token: run.token }, HARMLESS)).toEqual({ targets: 1 });
  });

  it('never signals its own group, its parents, or the first process', async () => {
    const own = readStat(process.pid);
    const pgid = own.type === 'read' ? own.value.pgid : 0;
    for (const pid of [pgid, process.pid, process.ppid, 1]) {
      expect(signalGroup(forged(pid), HARMLESS)).toEqual({ targets: 0, error: 'protected' });
    }
    for (const pid of [process.pid, process.ppid, 1]) {
      expect(signalMember({ pid, startTime: startTimeOf(pid) }, HARMLESS)).toEqual({ targets: 0, error: 'protected' });
    }
  });
});

describe.runIf(proc)('signalMember', () => {
  it('signals the very process, and nobody in its place', async () => {
    const run = record(['/bin/sh', '-c', 'exec sleep 600']);
    const { pid, startTime } = await run.started;
    expect(signalMember({ pid, startTime: (startTime ?? 0) - 1 }, 'SIGKILL')).toEqual({
      targets: 0,
      error: 'recycled',
    });
    expect(signalMember({ pid, startTime: null }, 'SIGKILL')).toEqual({ targets: 0, error: 'unseen' });
    expect(isSame(pid, startTime)).toBe(true);
    expect(signalMember({ pid, startTime }, 'SIGTERM')).toEqual({ targets: 1 });
    expect(await run.exited).toMatchObject({ signal: 'SIGTERM' });
    expect(signalMember({ pid, startTime }, 'SIGTERM')).toEqual({ targets: 0 });
  });

  it.runIf(mayChoosePids())('is not fooled by a pid that really was handed out again', async () => {
    const first = record(['/bin/sh', '-c', 'exec sleep 600']);
    const target = await targetOf(first);
    process.kill(target.pgid, 'SIGKILL');
    await first.exited;
    // Start times have ticks of 10 ms: within one there is nothing to tell.
    await until('a later tick', () => ticksNow() > (target.leader.startTime ?? 0) + 1);
    const second = await until('the same pid again', () => {
      writeFileSync('/proc/sys/kernel/ns_last_pid', String(target.pgid - 1));
      const next = record(['/bin/sh', '-c', 'exec sleep 600']);
      return next.child.pid === target.pgid && next;
    });
    const reborn = await second.started;
    expect(signalMember(target.leader, 'SIGKILL')).toEqual({ targets: 0, error: 'recycled' });
    expect(signalGroup(target, 'SIGKILL')).toEqual({ targets: 0, error: 'recycled' });
    expect(isSame(reborn.pid, reborn.startTime)).toBe(true);
  });
});

describe('endTreeByPid', () => {
  const groupless: Platform = { list: 'proc', groups: false, ps: 'ps' };

  it('is refused where groups do it better, and for ourselves', async () => {
    expect(await endTreeByPid(999_999, 'SIGKILL')).toEqual({ targets: 0, error: 'use-groups' });
    expect(await endTreeByPid(process.pid, HARMLESS, groupless)).toEqual({ targets: 0, error: 'protected' });
  });

  it('ends a child and those it started', async () => {
    const run = record(['/bin/sh', '-c', 'sleep 600 & echo $!; wait']);
    const { pid } = await run.started;
    const grandchild = Number(await firstLine(run));
    expect(await endTreeByPid(pid, 'SIGKILL', groupless)).toEqual({ targets: 1 });
    await run.exited;
    await until('the grandchild is gone', () => identify(grandchild) === null);
  });
});

function ticksNow(): number {
  return Math.floor(Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0]) * 100);
}

function mayChoosePids(): boolean {
  try {
    accessSync('/proc/sys/kernel/ns_last_pid', constants.W_OK);
    return process.getuid?.() === 0;
  } catch {
    return false;
  }
}
