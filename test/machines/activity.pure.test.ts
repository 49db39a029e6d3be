import { createActor, setup } from 'xstate';
import { describe, expect, test } from 'vitest';
import { activityMachine } from '../../machines/index.ts';
import { later } from '../../machines/policy/time.ts';
import type { ActivityEvent, ActivityNews, AttemptLimits } from '../../machines/protocol.ts';
import { StepClock } from '../../src/testing/index.ts';
import { AT, NO_LIMITS } from './models.ts';

/** What an attempt is watched for, on a clock that stands still until it is moved. */

/** Somebody to tell the news to. */
function watch(limits: Partial<AttemptLimits>) {
  const clock = new StepClock();
  const told: [number, ActivityNews][] = [];
  const parent = setup({ types: { events: {} as ActivityNews }, actors: { activity: activityMachine } }).createMachine({
    invoke: { id: 'activity', src: 'activity', input: { limits: { ...NO_LIMITS, ...limits }, at: AT } },
    on: { '*': { actions: ({ event }) => void told.push([clock.now(), event]) } },
  });
  const actor = createActor(parent, { clock }).start();
  const at = (): string => later(AT, clock.now());
  const tell = (event: ActivityEvent): void => actor.getSnapshot().children['activity']?.send(event);
  return {
    /** Milliseconds and state, or cause. */
    news: () => told.map(([ms, one]) => `${ms} ${one.type === 'limit.reached' ? one.cause.type : one.state}`),
    causes: () => told.flatMap(([, one]) => (one.type === 'limit.reached' ? [one.cause] : [])),
    times: () => told.map(([, one]) => (one.type === 'limit.reached' ? one.cause.at : one.at)),
    wait: (ms: number) => clock.advance(ms),
    progress: () => tell({ type: 'heard', at: at(), progress: true }),
    noise: () => tell({ type: 'heard', at: at(), progress: false }),
    open: (id: string, name = id, since = at()) => tell({ type: 'tool.opened', at: at(), tool: { id, name, since } }),
    close: () => tell({ type: 'tool.closed', at: at() }),
    end: () => actor.stop(),
    at,
  };
}

describe('a single tool', () => {
  test('S030: noise does not help it, and the limit names it', () => {
    const it = watch({ toolMs: 1_000 });
    it.wait(300);
    it.open('x1', 'X');
    for (let i = 0; i < 9; i += 1) {
      it.wait(100);
      it.noise();
    }
    expect(it.news()).toEqual([]);
    it.wait(100);
    expect(it.causes()).toEqual([{ type: 'tool-limit', at: later(AT, 1_300), limitMs: 1_000, tool: 'X' }]);
    expect(it.news()).toEqual(['1300 tool-limit']);
  });

  test('S030: the end of another one does not clear it', () => {
    const it = watch({ toolMs: 1_000 });
    it.open('x1', 'X');
    it.wait(600);
    // Y came and went: X is the oldest, still.
    it.open('x1', 'X', AT);
    it.wait(400);
    expect(it.news()).toEqual(['1000 tool-limit']);
  });

  test('two of one name are told apart: the second has its own time, from its own start', () => {
    const it = watch({ toolMs: 1_000 });
    it.open('b1', 'bash');
    it.wait(400);
    const second = it.at();
    it.wait(400);
    // The first has ended, and the second, which began at 400, is the oldest.
    it.open('b2', 'bash', second);
    it.wait(599);
    expect(it.news()).toEqual([]);
    it.wait(1);
    expect(it.causes()).toEqual([{ type: 'tool-limit', at: later(AT, 1_400), limitMs: 1_000, tool: 'bash' }]);
  });

  test('ends its limit with itself; the next one begins anew', () => {
    const it = watch({ toolMs: 1_000 });
    it.open('1');
    it.wait(900);
    it.close();
    it.wait(900);
    it.open('2');
    it.wait(900);
    expect(it.news()).toEqual([]);
    it.wait(100);
    expect(it.causes()).toMatchObject([{ tool: '2' }]);
  });
});

describe('the first output', () => {
  test('S032: nothing at all', () => {
    const it = watch({ firstOutputMs: 2_000 });
    it.wait(60_000);
    expect(it.causes()).toEqual([{ type: 'first-output-limit', at: later(AT, 2_000), limitMs: 2_000 }]);
    expect(it.news()[0]).toBe('2000 first-output-limit');
  });

  test.each(['noise', 'progress', 'open'] as const)('%s is a first output', (what) => {
    const it = watch({ firstOutputMs: 2_000 });
    it.wait(1_999);
    it[what]('1');
    it.wait(30_000);
    expect(it.news()).toEqual([]);
  });
});

test('the limit of the attempt holds whatever it does', () => {
  const it = watch({ attemptMs: 5_000, stall: { afterMs: 1_000, action: 'stop' } });
  for (let i = 0; i < 10; i += 1) {
    it.wait(500);
    it.progress();
  }
  expect(it.causes()).toEqual([{ type: 'attempt-limit', at: later(AT, 5_000), limitMs: 5_000 }]);
});

describe('progress', () => {
  const stall = { afterMs: 2_000, action: 'stop' } as const;

  test('S034: quiet, then stalled, each told once; noise is no progress', () => {
    const it = watch({ stall });
    it.wait(500);
    it.progress();
    for (let i = 0; i < 100; i += 1) {
      it.wait(100);
      it.noise();
    }
    expect(it.news()).toEqual(['2500 quiet', '2500 stalled']);
    expect(it.times()).toEqual([later(AT, 2_500), later(AT, 2_500)]);
  });

  test('long limits: quiet after a minute, stalled at the limit', () => {
    const it = watch({ stall: { afterMs: 90_000, action: 'notice' } });
    it.wait(100_000);
    expect(it.news()).toEqual(['60000 quiet', '90000 stalled']);
  });

  test('without a limit it is only called quiet', () => {
    const it = watch({});
    it.wait(3_600_000);
    expect(it.news()).toEqual(['60000 quiet']);
    it.progress();
    it.wait(59_999);
    expect(it.news()).toEqual(['60000 quiet', '3600000 fresh']);
  });

  test('S033: a tool may be silent for as long as it is open, and no longer', () => {
    const it = watch({ stall });
    it.wait(1_900);
    it.open('1');
    it.wait(5_000);
    it.close();
    it.wait(1_999);
    expect(it.news()).toEqual([]);
    it.wait(1);
    expect(it.news()).toEqual(['8900 quiet', '8900 stalled']);
  });

  test('S035: what goes on again is fresh, and a stall is told again', () => {
    const it = watch({ stall: { afterMs: 1_000, action: 'notice' } });
    it.wait(1_050);
    it.progress();
    it.wait(1_000);
    it.open('1');
    expect(it.news()).toEqual(['1000 quiet', '1000 stalled', '1050 fresh', '2050 quiet', '2050 stalled', '2050 fresh']);
  });

  test('S035: after the end nothing is told', () => {
    const it = watch({ stall, attemptMs: 3_000, firstOutputMs: 3_000 });
    it.wait(1_999);
    it.end();
    it.wait(60_000);
    expect(it.news()).toEqual([]);
  });
});
