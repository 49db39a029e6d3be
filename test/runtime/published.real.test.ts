import { existsSync, mkdirSync, rmdirSync, statSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Status, fold, stable } from '../../machines/index.ts';
import { realMachines } from '../../src/runtime/wire.ts';
import { expectTruth } from '../support/truth.ts';
import { type Rig, startRun } from './rig.ts';

/** Invariant 3: the status names an end only when its result is there to be read. */

const PLAN = { version: 1 as const, steps: [{ id: 'a', run: ['true'] }] };
const machines = (backOff: number) => ({
  ...realMachines,
  finalize: realMachines.finalize.provide({ delays: { backOff } }),
});

/** The result cannot be written as long as a folder has its name. Every status that was written, and what lay there then. */
function begin(backOff: number): { rig: Rig; written: { status: Status; result: boolean }[] } {
  const written: { status: Status; result: boolean }[] = [];
  const rig = startRun(PLAN, {
    machines: machines(backOff),
    options: (dir) => {
      mkdirSync(dir.result);
      const isThere = (): boolean => existsSync(dir.result) && statSync(dir.result).isFile();
      return { onStatus: (status) => void written.push({ status, result: isThere() }) };
    },
  });
  return { rig, written };
}

test('run.settled is durable and the result is not: the status says finalizing, and no end', async () => {
  const { rig, written } = begin(20);
  await rig.recorded('persistence.degraded', ({ line }) => line === 'result');
  // A write of the status by itself, while the result is tried again.
  const before = written.length;
  await expect.poll(() => written.length, { interval: 5 }).toBeGreaterThan(before);
  for (const status of [rig.runtime.status(), ...written.map((one) => one.status)]) {
    expect(['running', 'finalizing']).toContain(status.state);
    expect(status).not.toHaveProperty('endedAt');
  }
  expect(rig.runtime.status()).toMatchObject({ state: 'finalizing', persistence: 'degraded' });
  // Asked for something now, it refuses; that is for a later status.
  const text = { chars: 4, sha256: '0123456789ab' };
  rig.runtime.command({ id: 'm1', type: 'steer', source: 'test', mode: 'auto', text });
  const status = rig.runtime.status();
  expect(stable(status)).toEqual(fold(rig.records.filter(({ seq }) => seq <= status.seq)));

  rmdirSync(rig.dir.result);
  expect(await rig.ended).toMatchObject({ recorded: true, outcome: { state: 'completed' } });
  const { records, result } = expectTruth({ dir: rig.dir, runtime: rig.runtime });
  for (const one of written) {
    expect(one.status.state !== 'completed' || one.result, 'no end without a result').toBe(true);
    expect(stable(one.status)).toEqual(fold(records.filter(({ seq }) => seq <= one.status.seq)));
  }
  expect(result['endedAt']).toBe(records.find(({ type }) => type === 'run.settled')?.ts);
});

test('the result can never be written: nothing claims an end', async () => {
  const { rig, written } = begin(1);
  expect((await rig.ended).recorded).toBe(false);
  expect(new Set(written.map(({ status }) => status.state))).not.toContain('completed');
  expect(rig.runtime.status().state).toBe('finalizing');
  expect(existsSync(rig.dir.activeMarker)).toBe(true);
});
