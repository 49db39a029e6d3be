import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { expectTruth, runs } from '../support/truth.ts';
import { type Rig, sleeper, startRun } from './rig.ts';

/** Enough steps to be worth a nursery; the last ones go on until they are ended. */
const SHORT = 96;
const LONG = 12;
const PLAN = {
  version: 1 as const,
  limits: { concurrency: LONG },
  steps: [
    ...Array.from({ length: SHORT }, (_, i) => ({ id: `short${i}`, needs: [], run: ['true'] })),
    ...Array.from({ length: LONG }, (_, i) => sleeper(`long${i}`)),
  ],
};

const parentOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/stat`, 'latin1').replace(/^.*\) \S (\d+) .*$/s, '$1'));

/** All of the long ones run, in the nursery. A slot is free before the proof of whoever had it: that is waited for too. */
async function underWay(rig: Rig): Promise<{ pids: number[]; nursery: number }> {
  const started = Array.from({ length: LONG }, (_, i) =>
    rig.recorded('attempt.started', ({ step }) => step === `long${i}`),
  );
  const settled = Array.from({ length: SHORT }, (_, i) =>
    rig.recorded('step.settled', ({ step }) => step === `short${i}`),
  );
  const pids = (await Promise.all(started)).map(({ pid }) => pid);
  await Promise.all(settled);
  const parents = new Set(pids.map(parentOf));
  expect(parents.size).toBe(1);
  const [nursery = 0] = parents;
  expect(nursery).not.toBe(process.pid);
  return { pids, nursery };
}

test('a run of many steps has its children in a nursery, ends them like any others, and then the nursery', async () => {
  const rig = startRun(PLAN);
  const { pids, nursery } = await underWay(rig);
  rig.stop();
  const { outcome } = await rig.ended;
  expect(outcome.state).toBe('stopped');
  const { status } = expectTruth(rig);
  expect(status.counts).toMatchObject({ completed: SHORT, stopped: LONG });
  expect(status.steps.filter(({ proof }) => proof?.verdict !== 'gone')).toEqual([]);
  expect([nursery, ...pids].filter(runs)).toEqual([]);
});

test('a nursery that is lost is a crash of the runner: every child is ended, and the record says so', async () => {
  const rig = startRun(PLAN);
  const { pids, nursery } = await underWay(rig);
  process.kill(nursery, 'SIGKILL');
  const { outcome, recorded } = await rig.ended;
  expect(recorded).toBe(true);
  expect(outcome).toMatchObject({ state: 'failed', cause: { type: 'runner-crashed' }, partial: true });
  expect(JSON.stringify(outcome.cause)).toContain('starts the children');
  const { status } = expectTruth({ dir: rig.dir });
  expect(status.steps.filter(({ state }) => state === 'failed')).toHaveLength(LONG);
  expect(pids.filter(runs)).toEqual([]);
});
