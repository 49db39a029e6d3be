import { type ChildProcess, spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { JournalBody } from '../../machines/protocol.ts';
import {
  createSweeper,
  hostPlatform,
  newToken,
  probeContainment,
  startTimeOf,
  TOKEN_ENV,
} from '../../src/process/index.ts';
import { type RunDir, addActive, claimOwner, openJournal } from '../../src/record/index.ts';
import { type LookedAgain, type SeenAgain, lookAgain } from '../../src/runtime/look-again.ts';
import { makeRun } from '../support/kit.ts';
import { deadOwner, statusOf } from '../support/made-run.ts';
import { runs } from '../support/truth.ts';
import { type Rig, startRun } from './rig.ts';

const linux = hostPlatform().list === 'proc';
const { cgroup } = await probeContainment();
const at = '2026-12-01T10:00:00.000Z';

function seen(looked: LookedAgain): SeenAgain {
  if (looked.type !== 'looked') throw new Error(JSON.stringify(looked));
  return looked;
}

/** A process with the mark of an attempt, as one whose runner is gone; ends with the test. */
function orphan(token: string, argv: readonly string[] = ['sleep', '600']): ChildProcess & { pid: number } {
  const [command = '', ...args] = argv;
  const env = { PATH: process.env['PATH'] ?? '', [TOKEN_ENV]: token };
  const child = spawn(command, args, { stdio: 'ignore', detached: true, env });
  const { pid } = child;
  if (pid === undefined) throw new Error(`no ${command}`);
  onTestFinished(() => void child.kill('SIGKILL'));
  return Object.assign(child, { pid });
}

/** A run as its runner left it when it was killed, or with `ended` when it had ended; the journal is the test's. */
function leftRun(
  bodies: readonly JournalBody[],
  { ended = false, owner = deadOwner() } = {},
): { dir: RunDir; root: string } {
  const { dir, root, remove } = makeRun({ version: 1, steps: [{ id: 'a', run: ['true'] }] });
  onTestFinished(remove);
  claimOwner(dir, 1, owner);
  addActive(dir);
  writeFileSync(dir.status, JSON.stringify(statusOf(dir.id, { owner, state: ended ? 'failed' : 'running' })));
  const journal = openJournal(dir.journal, { epoch: 1, firstSeq: 1 });
  for (const body of bodies) journal.append(body);
  journal.close();
  return { dir, root };
}

const launching = (token: string): JournalBody => ({
  type: 'attempt.launching',
  at,
  step: 'a',
  attempt: 1,
  token,
  agent: 'command',
});
const started = (pid: number, startTime: number | null): JournalBody => ({
  type: 'attempt.started',
  at,
  step: 'a',
  attempt: 1,
  pid,
  startTime,
});

async function pidIn(rig: Rig, name = 'pid'): Promise<number> {
  const path = join(rig.root, name);
  const read = (): string => (existsSync(path) ? readFileSync(path, 'utf8').trim() : '');
  await expect.poll(read).not.toBe('');
  return Number(read());
}

/** The last resort finds nobody to be gone either. */
function unproven<T extends { endAll(): Promise<unknown> }>(table: T): T {
  return new Proxy(table, {
    get: (real, name) => {
      if (name === 'endAll') return async () => [];
      const value: unknown = Reflect.get(real, name, real);
      return typeof value === 'function' ? (value.bind(real) as unknown) : value;
    },
  });
}

describe.runIf(linux)('of a run whose runner was killed', () => {
  test('those who are there are named, signalled only when that is asked for, and then gone', async () => {
    const token = newToken();
    const child = orphan(token, ['/bin/sh', '-c', 'trap "" TERM; sleep 600 & wait']);
    const { dir, root } = leftRun([launching(token), started(child.pid, startTimeOf(child.pid))]);
    await expect.poll(async () => seen(await lookAgain('r1', { root })).attempts[0]?.members.length).toBe(2);
    const first = seen(await lookAgain('r1', { root }));
    expect(first).toMatchObject({
      run: 'owner-lost',
      verdict: 'survived',
      attempts: [{ level: 'searched', signals: [] }],
    });
    expect(first.attempts[0]?.members.map(({ by }) => by).toSorted()).toEqual(['group', 'leader']);
    expect(runs(child.pid)).toBe(true);

    const ended = seen(await lookAgain('r1', { root, end: true, graceMs: 100 }));
    expect(ended).toMatchObject({ verdict: 'gone', attempts: [{ verdict: 'gone', members: [] }] });
    expect(ended.attempts[0]?.signals.map(({ rung }) => rung)).toEqual(['SIGTERM', 'SIGKILL']);
    expect(runs(child.pid)).toBe(false);
    // Its end is not on record: somebody has to see to that.
    expect(existsSync(dir.activeMarker)).toBe(true);
  });

  test('one that left the group is found by its mark, also when the start is not on record', async () => {
    const token = newToken();
    const child = orphan(token);
    const { root } = leftRun([launching(token)]);
    expect(seen(await lookAgain('r1', { root })).attempts[0]?.members).toMatchObject([{ pid: child.pid, by: 'token' }]);
    expect(seen(await lookAgain('r1', { root, end: true })).verdict).toBe('gone');
    expect(runs(child.pid)).toBe(false);
  });

  test('S019: a pid of the record that is another process by now is neither named nor signalled', async () => {
    const stranger = orphan(newToken());
    const startTime = (startTimeOf(stranger.pid) ?? 0) - 1;
    const { root } = leftRun([launching(newToken()), started(stranger.pid, startTime)]);
    expect(seen(await lookAgain('r1', { root, end: true }))).toMatchObject({
      verdict: 'gone',
      attempts: [{ members: [], signals: [] }],
    });
    expect(runs(stranger.pid)).toBe(true);
  });

  test('S019: a session of that number counts only while its leader is the one of the record', async () => {
    // The leader has gone, and its session goes on: nobody could tell whether it still is the attempt's.
    const stranger = orphan(newToken(), ['/bin/sh', '-c', 'sleep 600 & exit 0']);
    await new Promise((resolve) => stranger.once('exit', resolve));
    onTestFinished(() => void process.kill(-stranger.pid, 'SIGKILL'));
    const { root } = leftRun([launching(newToken()), started(stranger.pid, 5)]);
    expect(seen(await lookAgain('r1', { root, end: true }))).toMatchObject({
      verdict: 'gone',
      attempts: [{ signals: [] }],
    });
    expect(() => process.kill(-stranger.pid, 0)).not.toThrow();
  });

  test('what ran before the machine was started anew is gone, whoever has those numbers now', async () => {
    const token = newToken();
    const child = orphan(token);
    const records = [launching(token), started(child.pid, startTimeOf(child.pid))];
    const { root } = leftRun(records, { owner: { ...deadOwner(), bootId: 'another' } });
    expect(seen(await lookAgain('r1', { root, end: true }))).toMatchObject({
      verdict: 'gone',
      attempts: [{ signals: [] }],
    });
    expect(runs(child.pid)).toBe(true);
  });
});

describe.runIf(linux)('of a run that has ended', () => {
  test('who was to stay is listed as kept, and ended when that is asked for', async () => {
    const rig = startRun({
      version: 1,
      steps: [{ id: 'a', leftovers: 'keep', run: ['bash', '-c', 'setsid sleep 600 >/dev/null 2>&1 & echo $! > pid'] }],
    });
    await rig.ended;
    const pid = await pidIn(rig);
    onTestFinished(() => void (runs(pid) && process.kill(pid, 'SIGKILL')));
    const kept = seen(await lookAgain('r1', { root: rig.root }));
    expect(kept).toMatchObject({
      run: 'ended',
      verdict: 'gone',
      attempts: [{ members: [], kept: [{ pid, by: 'token' }] }],
    });
    expect(runs(pid)).toBe(true);
    const ended = seen(await lookAgain('r1', { root: rig.root, end: true }));
    expect(ended).toMatchObject({
      verdict: 'gone',
      attempts: [{ kept: [], signals: [{ rung: 'SIGTERM', targets: 1 }] }],
    });
    expect(runs(pid)).toBe(false);
  });

  test('one that was known by its parent alone is known again by its identity', async () => {
    const shed =
      'setsid env -i /bin/sh -c "echo \\$\\$ > \\"\\$0\\"; exec sleep 600" "$PWD/shed" >/dev/null 2>&1 & exec sleep 600';
    const rig = startRun({
      version: 1,
      steps: [
        {
          id: 'a',
          leftovers: 'keep',
          run: ['bash', '-c', `(setsid bash -c '${shed}' >/dev/null 2>&1 &); while [ ! -s shed ]; do sleep 0.01; done`],
        },
      ],
    });
    await rig.ended;
    const pid = await pidIn(rig, 'shed');
    onTestFinished(() => void (runs(pid) && process.kill(pid, 'SIGKILL')));
    const [before] = seen(await lookAgain('r1', { root: rig.root })).attempts;
    const parent = before?.kept.find(({ by }) => by === 'token')?.pid ?? Number.NaN;
    expect(before?.kept.find((member) => member.pid === pid)?.by).toBe('descent');
    process.kill(parent, 'SIGKILL');
    await expect.poll(() => runs(parent)).toBe(false);
    const [after] = seen(await lookAgain('r1', { root: rig.root, end: true })).attempts;
    expect(after).toMatchObject({ verdict: 'gone', signals: [{ rung: 'SIGTERM', targets: 1 }] });
    expect(runs(pid)).toBe(false);
  });

  test.skipIf(cgroup.type !== 'available')(
    'who is in a control group is found there, and the group goes with them',
    async () => {
      const rig = startRun({
        version: 1,
        steps: [
          {
            id: 'a',
            contain: 'cgroup',
            leftovers: 'keep',
            run: ['bash', '-c', 'setsid env -i sleep 600 >/dev/null 2>&1 & echo $! > pid'],
          },
        ],
      });
      await rig.ended;
      const pid = await pidIn(rig);
      onTestFinished(() => void (runs(pid) && process.kill(pid, 'SIGKILL')));
      const launch = JSON.parse(readFileSync(rig.dir.attempt('a', 1).launch, 'utf8')) as {
        container: { kind: string; path: string };
      };
      expect(launch.container.kind).toBe('cgroup');
      expect(existsSync(launch.container.path)).toBe(true);
      const [found] = seen(await lookAgain('r1', { root: rig.root })).attempts;
      expect(found).toMatchObject({ level: 'contained', kept: [{ pid, by: 'cgroup' }] });
      const [ended] = seen(await lookAgain('r1', { root: rig.root, end: true })).attempts;
      expect(ended).toMatchObject({ verdict: 'gone', level: 'contained' });
      expect(runs(pid)).toBe(false);
      await expect
        .poll(async () => (await lookAgain('r1', { root: rig.root }), existsSync(launch.container.path)))
        .toBe(false);
    },
  );

  test('one without proof is no longer listed once nobody is found', async () => {
    const blind = createSweeper({ now: () => performance.now(), platform: { list: 'none', groups: false, ps: 'ps' } });
    const rig = startRun(
      { version: 1, steps: [{ id: 'a', run: ['true'] }] },
      { before: ({ kit }) => void Object.assign(kit, { sweeper: blind, table: unproven(kit.table) }) },
    );
    await rig.ended;
    expect(existsSync(rig.dir.activeMarker)).toBe(true);
    expect(seen(await lookAgain('r1', { root: rig.root }))).toMatchObject({ run: 'ended', verdict: 'gone' });
    expect(existsSync(rig.dir.activeMarker)).toBe(false);
  });

  test('a journal with holes, or without a line, never reads as nobody', async () => {
    const torn = leftRun([launching(newToken())], { ended: true });
    appendFileSync(torn.dir.journal, '{"v":1,"seq":2,"type":"attempt.laun\n');
    expect(seen(await lookAgain('r1', { root: torn.root }))).toMatchObject({
      verdict: 'unknown',
      reason: expect.stringContaining('journal'),
    });
    expect(existsSync(torn.dir.activeMarker)).toBe(true);
    const empty = leftRun([], { ended: true });
    expect(seen(await lookAgain('r1', { root: empty.root }))).toMatchObject({
      verdict: 'unknown',
      reason: 'the journal is missing',
    });
  });
});

describe.runIf(linux)('of a run that goes on', () => {
  test('everybody is named, and nobody ended from outside', async () => {
    const rig = startRun({ version: 1, steps: [{ id: 'a', run: ['sleep', '600'] }] });
    const { pid } = await rig.recorded('attempt.started');
    await expect.poll(async () => seen(await lookAgain('r1', { root: rig.root })).attempts.length).toBe(1);
    expect(seen(await lookAgain('r1', { root: rig.root }))).toMatchObject({
      run: 'running',
      verdict: 'survived',
      attempts: [{ members: [{ pid, by: 'leader', command: 'sleep' }] }],
    });
    expect(await lookAgain('r1', { root: rig.root, end: true })).toMatchObject({ type: 'refused', reason: 'running' });
    expect(runs(pid)).toBe(true);
    rig.stop();
    await rig.ended;
  });
});

test('a run that is not there, one of another machine, and one of a later version', async () => {
  const elsewhere = leftRun([], { owner: { ...deadOwner(), host: 'elsewhere.example' } });
  const { root } = elsewhere;
  expect(await lookAgain('r2', { root })).toMatchObject({ type: 'missing' });
  expect(await lookAgain('r1', { root })).toMatchObject({ type: 'refused', reason: 'elsewhere' });
  writeFileSync(elsewhere.dir.status, JSON.stringify({ v: 2 }));
  expect(await lookAgain('r1', { root })).toMatchObject({ type: 'newer' });
});
