import { spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { Member, Proof } from '../../machines/protocol.ts';
import {
  type Look,
  type Sweeper,
  createSweeper,
  hostPlatform,
  identify,
  startTimeOf,
} from '../../src/process/index.ts';
import type { Runtime } from '../../src/runtime/run.ts';
import { expectTruth, runs } from '../support/truth.ts';
import { type Rig, startRun } from './rig.ts';

/** What becomes of process trees, seen through whole runs. The zoo has the hostile ones; these are the cases with names. */

const linux = hostPlatform().list === 'proc';

afterEach(() => vi.unstubAllEnvs());

const proofOf = (rig: Rig): Proof => JSON.parse(readFileSync(rig.dir.attempt('a', 1).proof, 'utf8')) as Proof;
const bash = (script: string): string[] => ['bash', '-c', script];

/** The pids that a step wrote into a file of the plan's folder, once there are so many. */
async function pidsIn(rig: Rig, count: number): Promise<number[]> {
  const path = join(rig.root, 'pids');
  const read = (): number[] =>
    existsSync(path) ? readFileSync(path, 'utf8').split('\n').filter(Boolean).map(Number) : [];
  await expect.poll(read).toHaveLength(count);
  return read();
}

/** Whom it names, and whether they ran, at the moment a record was journaled. */
function whoRanAt(rig: Rig, type: string, pids: readonly number[]): number[] {
  const ran: number[] = [];
  rig.runtime.journal.onAppend((record) => {
    if (record.type === type) ran.push(...pids.filter(runs));
  });
  return ran;
}

/** A process that is nobody's business here, and ends with the test. */
function bystander(): number {
  const child = spawn('sleep', ['600'], { stdio: 'ignore', detached: true });
  onTestFinished(() => void child.kill('SIGKILL'));
  if (child.pid === undefined) throw new Error('no sleep');
  return child.pid;
}

test('S001: a program that hears TERM and stays is killed with its child, and only then is anything said to have ended', async () => {
  const program = `
    const { spawn } = require('node:child_process');
    const { writeFileSync } = require('node:fs');
    process.on('SIGTERM', () => {});
    const child = spawn('sleep', ['300']);
    writeFileSync('pids', process.pid + '\\n' + child.pid + '\\n');
    setInterval(() => {}, 1000);`;
  const stop = [
    { do: 'SIGTERM' as const, grace: 500 },
    { do: 'SIGKILL' as const, grace: 500 },
  ];
  const rig = startRun({
    version: 1,
    agents: { deaf: { adapter: 'command', command: [process.execPath, '-e', program], stop } },
    steps: [{ id: 'a', agent: 'deaf', task: 'x' }],
  });
  const pids = await pidsIn(rig, 2);
  const atClosed = whoRanAt(rig, 'attempt.closed', pids);
  const atSettled = whoRanAt(rig, 'run.settled', pids);
  rig.stop();
  await rig.ended;
  expect({ atClosed, atSettled }).toEqual({ atClosed: [], atSettled: [] });
  expectTruth(rig);
  const { signals, verdict } = proofOf(rig);
  expect(verdict).toBe('gone');
  expect(signals.map(({ rung }) => rung)).toEqual(['SIGTERM', 'SIGKILL']);
  const [term = 0, kill = 0] = signals.map(({ at }) => Date.parse(at));
  expect(kill - term).toBeGreaterThanOrEqual(490);
  // The slot is given on with the step, after the proof.
  const order = rig.records
    .map(({ type }) => type)
    .filter((type) => type.endsWith('closed') || type.endsWith('settled'));
  expect(order).toEqual(['attempt.closed', 'step.settled', 'run.settled']);
});

test('S002: what a program leaves behind by nohup is ended and counted, and the work is done all the same', async () => {
  const rig = startRun({
    version: 1,
    steps: [{ id: 'a', run: bash('nohup sleep 300 >/dev/null 2>&1 & echo $! > pids; echo result; exit 0') }],
  });
  const { outcome } = await rig.ended;
  const { status, result } = expectTruth(rig);
  expect(outcome.state).toBe('completed');
  expect(result.steps[0]?.output?.text).toBe('result');
  expect(status.steps[0]?.proof).toMatchObject({ verdict: 'gone', leftovers: 1, survivors: 0 });
  const [pid] = await pidsIn(rig, 1);
  expect(proofOf(rig).leftovers).toEqual([
    { pid, startTime: expect.any(Number), by: expect.any(String), command: expect.stringMatching(/sleep|nohup|bash/) },
  ]);
  expect(identify(pid ?? 0)).toBeNull();
});

describe.runIf(linux)('programs that list processes are not needed', () => {
  test.each([
    ['S003: ps prints its usage', '#!/bin/sh\necho "usage: ps" >&2\nexit 1\n'],
    ['S003: there is no ps', null],
    ['S021: ps cannot be executed', '#!/bin/sh\nexit 126\n'],
  ])('%s: a grandchild is ended all the same', async (_name, ps) => {
    const rig = startRun(
      {
        version: 1,
        steps: [{ id: 'a', run: ['/bin/bash', '-c', '/bin/sleep 600 & echo $! > pids; echo $$ >> pids; wait'] }],
      },
      { furnish: (root) => stubPath(root, ps) },
    );
    const pids = await pidsIn(rig, 2);
    rig.stop();
    await rig.ended;
    expectTruth(rig);
    expect(proofOf(rig)).toMatchObject({ verdict: 'gone', level: 'searched' });
    expect(pids.filter(runs)).toEqual([]);
  });
});

/** A PATH of this process with one program on it, or none. */
function stubPath(root: string, ps: string | null): void {
  const folder = join(root, 'bin');
  mkdirSync(folder, { mode: 0o700 });
  if (ps !== null) {
    writeFileSync(join(folder, 'ps'), ps, { mode: 0o600 });
    chmodSync(join(folder, 'ps'), 0o700);
  }
  vi.stubEnv('PATH', folder);
}

test('S003: where nothing can be listed the proof is unknown, and the step has failed for it', async () => {
  const blind = createSweeper({ now: () => performance.now(), platform: { list: 'none', groups: false, ps: 'ps' } });
  const rig = startRun(
    { version: 1, steps: [{ id: 'a', run: bash('echo fine') }] },
    { before: (runtime) => lookWith(runtime, () => blind) },
  );
  const { outcome } = await rig.ended;
  expect(outcome).toMatchObject({ state: 'failed', cause: { type: 'failure', reason: 'unproven' } });
  expect(proofOf(rig)).toMatchObject({ verdict: 'unknown', reason: expect.stringContaining('no list of processes') });
});

/** Puts something before the eyes of the machines. The last resort keeps its own. */
function lookWith({ kit }: Runtime, sweeper: (real: Sweeper) => Sweeper): void {
  Object.assign(kit, { sweeper: sweeper(kit.sweeper) });
}

test.runIf(linux)(
  'S004: a session of its own is found by the mark in its environment, and the record says so',
  async () => {
    const script =
      '(setsid bash -c "echo \\$\\$ > pids; sleep 300 & disown" &); while [ ! -s pids ]; do sleep 0.01; done; exit 0';
    const rig = startRun({ version: 1, steps: [{ id: 'a', run: bash(`exec </dev/null >/dev/null 2>&1; ${script}`) }] });
    const { outcome } = await rig.ended;
    expect(outcome.state).toBe('completed');
    expectTruth(rig);
    const { leftovers, level, signals } = proofOf(rig);
    expect(level).toBe('searched');
    expect(leftovers.map(({ by }) => by)).toContain('token');
    expect(signals.map(({ rung }) => rung)).toEqual(['SIGTERM']);
  },
);

test.runIf(linux)(
  'S020: who has another start time than the one that was found gets no signal, and the proof says why',
  async () => {
    const pid = bystander();
    const replaced: Member = { pid, startTime: (startTimeOf(pid) ?? 0) - 1, by: 'token', command: 'sleep' };
    const rig = startRun(
      { version: 1, steps: [{ id: 'a', run: ['true'] }] },
      { before: (runtime) => lookWith(runtime, (real) => firstFinds(real, replaced)) },
    );
    await rig.ended;
    const { verdict, leftovers, signals } = proofOf(rig);
    expect(verdict).toBe('gone');
    expect(leftovers).toEqual([replaced]);
    expect(signals).toMatchObject([{ rung: 'SIGTERM', targets: 0, error: 'recycled' }]);
    expect(runs(pid)).toBe(true);
  },
);

/** In the first look one who is not there any more is seen too. */
function firstFinds(real: Sweeper, member: Member): Sweeper {
  let first = true;
  return {
    get totals() {
      return real.totals;
    },
    async look(target, options): Promise<Look> {
      const look = await real.look(target, options);
      if (look.type === 'blind' || !first) return look;
      first = false;
      return { ...look, members: [...look.members, member] };
    },
  };
}

test.runIf(linux)(
  'a bystander that sits in the work tree is left alone, by a stop and by the end of a run',
  async () => {
    const rig = startRun({ version: 1, steps: [{ id: 'a', run: bash('echo $$ > pids; exec sleep 600') }] });
    await pidsIn(rig, 1);
    const child = spawn('sleep', ['600'], { stdio: 'ignore', cwd: rig.root });
    onTestFinished(() => void child.kill('SIGKILL'));
    rig.stop();
    await rig.ended;
    expectTruth(rig);
    expect(proofOf(rig)).toMatchObject({ verdict: 'gone', members: [], leftovers: [] });
    expect(runs(child.pid ?? 0)).toBe(true);
  },
);
