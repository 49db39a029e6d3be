import { expect, it } from 'vitest';
import { createSweeper, type TreeTarget } from '../../src/process/index.ts';
import type { Finding } from '../../src/process/search.ts';

const target = (pgid: number): TreeTarget => ({ pgid, token: `t${pgid}`, leader: { pid: pgid, startTime: 1 } });
const empty: Finding = { type: 'looked', members: [], level: 'searched' };

/** A sweeper on a hand-driven clock, whose searches end when the test says so. */
function rig(): {
  sweeper: ReturnType<typeof createSweeper>;
  scheduled: number[];
  searched: number[][];
  tick: (ms?: number) => void;
  end: (busyMs: number) => Promise<void>;
} {
  let now = 1_000;
  let due: (() => void) | undefined;
  let finish: ((busyMs: number) => void) | undefined;
  const scheduled: number[] = [];
  const searched: number[][] = [];
  const sweeper = createSweeper({
    now: () => now,
    schedule: (action, ms) => {
      scheduled.push(ms);
      due = action;
    },
    search: (targets, busy) => {
      searched.push(targets.map(({ pgid }) => pgid));
      return new Promise((resolve) => {
        finish = (busyMs) => {
          busy(busyMs);
          resolve(targets.map(() => empty));
        };
      });
    },
  });
  return {
    sweeper,
    scheduled,
    searched,
    tick(ms = 0) {
      now += ms;
      due?.();
    },
    async end(busyMs) {
      finish?.(busyMs);
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

it('begins at once after a quiet time and shares one search among those that ask together', async () => {
  const { sweeper, scheduled, searched, tick, end } = rig();
  const looks = [sweeper.look(target(10)), sweeper.look(target(11))];
  expect(scheduled).toEqual([0]);
  tick();
  await end(1);
  expect(await Promise.all(looks)).toEqual([
    { ...empty, serial: 1 },
    { ...empty, serial: 1 },
  ]);
  expect(searched).toEqual([[10, 11]]);
  expect(sweeper.totals).toEqual({ searches: 1, busyMs: 1 });
});

it('lets a request that comes during a search wait for the next, at least 10 ms later', async () => {
  const { sweeper, scheduled, searched, tick, end } = rig();
  const first = sweeper.look(target(10));
  tick();
  let answered = false;
  const second = sweeper.look(target(11)).then(() => (answered = true));
  await end(1);
  expect(await first).toMatchObject({ serial: 1 });
  expect(answered).toBe(false);
  expect(scheduled).toEqual([0, 10]);
  tick(10);
  await end(1);
  await second;
  expect(searched).toEqual([[10], [11]]);
});

it('takes a fifth of the time, and after a quiet time 40 ms in advance', async () => {
  const { sweeper, scheduled, tick, end } = rig();
  const search = async (restMs: number, busyMs: number): Promise<void> => {
    const look = sweeper.look(target(10));
    tick(restMs);
    await end(busyMs);
    await look;
  };
  await search(0, 30);
  // 10 ms are left, and 2 are earned while it rests; the search overdraws it by 18.
  await search(10, 30);
  await search(90, 7);
  await search(35, 1);
  tick(10_000);
  void sweeper.look(target(11));
  expect(scheduled).toEqual([0, 10, 90, 35, 0]);
});

it('turns a search that fails into "blind" for all who asked', async () => {
  const sweeper = createSweeper({
    now: () => 0,
    platform: { list: 'proc', groups: true, ps: 'ps' },
    search: () => Promise.reject(new Error('/proc cannot be read: EMFILE')),
  });
  expect(await sweeper.look(target(10))).toEqual({
    type: 'blind',
    reason: '/proc cannot be read: EMFILE',
    level: 'searched',
    serial: 1,
  });
});
