import { describe, expect, test } from 'vitest';
import { later } from '../../machines/policy/time.ts';
import type { JournalRecord, RunInput, Status, StepPlan } from '../../machines/protocol.ts';
import { fold, project, stable } from '../../machines/index.ts';
import type { AnyMachineSnapshot } from 'xstate';
import { actorAt } from '../../src/testing/index.ts';
import { AT, NO_LIMITS, RETRY, RUN_INPUT } from './models.ts';
import { World } from './world.ts';

/** Limits that are moved while they run, clocks that part, and what an agent is told of the time it has left. */

const STEP: StepPlan = {
  id: 'a',
  agent: 'fake',
  models: [],
  needs: [],
  timeoutMs: null,
  limits: NO_LIMITS,
  retry: { ...RETRY, attempts: 3, backoff: { firstMs: 1_000, factor: 1, mostMs: 1_000 } },
  leftovers: 'end',
  proof: 'searched',
  asks: 'wait',
};

interface Limits {
  runMs?: number | null;
  step?: Partial<StepPlan>;
}

/** A run of one step, begun at `AT`, whose process runs. */
function running({ runMs = null, step = {} }: Limits = {}) {
  const limits = { concurrency: 1, timeoutMs: runMs };
  const input: RunInput = { ...RUN_INPUT, steps: [{ ...STEP, ...step }], limits };
  const world = new World(input, { deadlines: true });
  const { run, clock, records } = world;
  const now = (): string => later(AT, clock.now());
  run.send({ type: 'run.begin', at: AT, deadlineAt: runMs === null ? null : later(AT, runMs) });
  const go = (name: string): void => {
    const move = world.moves().find((one) => one.name === name);
    if (move === undefined)
      throw new Error(
        `no move ${name} among ${world
          .moves()
          .map((one) => one.name)
          .join(', ')}`,
      );
    move.go();
  };
  const start = (): void => {
    go('a ready');
    to('attempt', { type: 'child.started', at: now(), pid: 42, startTime: 1 });
  };
  const to = (actor: 'step' | 'attempt', event: object): void =>
    actorAt(run, actor === 'step' ? ['step:a'] : ['step:a', 'attempt'])?.send(event);
  start();
  return {
    world,
    go,
    start,
    now,
    wait: (ms: number) => clock.advance(ms),
    extend: (limitMs: number, ofStep?: string) =>
      run.send({
        type: 'run.command',
        at: now(),
        command: {
          type: 'extend',
          id: `extend-${now()}`,
          source: 'test',
          limitMs,
          deadlineAt: later(now(), limitMs),
          ...(ofStep === undefined ? {} : { step: ofStep }),
        },
      }),
    jump: (byMs: number) => run.send({ type: 'clock.jumped', at: later(now(), byMs), byMs }),
    toAttempt: (event: object) => to('attempt', event),
    attemptInput: () => actorAt(run, ['step:a', 'attempt'])?.getSnapshot().context,
    state: () => project(run.getSnapshot() as AnyMachineSnapshot, { seq: records.length, updatedAt: '' }).state,
    of: <T extends JournalRecord['type']>(type: T) =>
      records.filter((one): one is JournalRecord & { type: T } => one.type === type),
    /** As ever: the journal tells what the snapshots do. */
    status: (): Status => {
      const projected = stable(
        project(run.getSnapshot() as AnyMachineSnapshot, { seq: records.length, updatedAt: '' }),
      );
      expect(fold(records)).toEqual(projected);
      return projected;
    },
  };
}
type Running = ReturnType<typeof running>;

/** The attempt fails, its processes are gone, and the wait before the next one is over. */
function failOnce(it: Running): void {
  for (const name of ['a ended badly', 'a exited', 'a drained', 'a looked: nobody']) it.go(name);
  it.wait(1_500);
}

describe('the deadline of the run', () => {
  test('moves while it runs, and counts from when it was moved', () => {
    const it = running({ runMs: 60_000 });
    it.wait(50_000);
    it.extend(30_000);
    expect(it.of('run.deadline-moved')).toMatchObject([{ from: later(AT, 60_000), to: later(AT, 80_000) }]);
    expect(it.status().deadlineAt).toBe(later(AT, 80_000));
    it.wait(29_999);
    expect(it.state()).toBe('running');
    it.wait(1);
    expect(it.state()).toBe('stopping');
    expect(it.of('run.stopping')).toMatchObject([{ cause: { type: 'run-deadline', limitMs: 30_000 } }]);
    it.status();
  });

  test('can be made for a run that had none, and earlier than it was', () => {
    const it = running();
    it.extend(10_000);
    it.extend(2_000);
    expect(it.of('run.deadline-moved')).toMatchObject([
      { from: null, to: later(AT, 10_000) },
      { from: later(AT, 10_000), to: later(AT, 2_000) },
    ]);
    it.wait(2_000);
    expect(it.of('run.stopping')).toMatchObject([{ cause: { type: 'run-deadline', limitMs: 2_000 } }]);
  });

  test('now: it is over at once', () => {
    const it = running({ runMs: 60_000 });
    it.extend(0);
    it.wait(0);
    expect(it.of('run.stopping')).toMatchObject([{ cause: { type: 'run-deadline', limitMs: 0 } }]);
  });

  test('after the outcome is decided there is none to move', () => {
    const it = running({ runMs: 60_000 });
    for (const name of ['a ended well', 'a exited', 'a drained', 'a looked: nobody']) it.go(name);
    expect(it.state()).toBe('finalizing');
    it.extend(0);
    it.wait(60_000);
    expect(it.of('run.deadline-moved')).toEqual([]);
    expect(it.of('run.stopping')).toEqual([]);
  });
});

describe('clocks that part', () => {
  test('the deadline that readers see follows the wall clock, on record; the limit itself does not move', () => {
    const it = running({ runMs: 60_000 });
    it.wait(10_000);
    it.jump(3_600_000);
    expect(it.of('clock.jumped')).toMatchObject([{ byMs: 3_600_000 }]);
    expect(it.of('run.deadline-moved')).toMatchObject([{ from: later(AT, 60_000), to: later(AT, 3_660_000) }]);
    expect(it.status().deadlineAt).toBe(later(AT, 3_660_000));
    it.wait(49_999);
    expect(it.state()).toBe('running');
    it.wait(1);
    expect(it.state()).toBe('stopping');
  });

  test('backwards too; without a deadline the jump alone is on record', () => {
    const it = running({ runMs: 60_000 });
    it.jump(-5_000);
    expect(it.status().deadlineAt).toBe(later(AT, 55_000));
    const free = running();
    free.jump(5_000);
    expect([free.of('clock.jumped').length, free.of('run.deadline-moved').length]).toEqual([1, 0]);
    expect(free.status().deadlineAt).toBeUndefined();
  });
});

describe('the limit of a step', () => {
  test('moves while it runs, and counts from when it was moved', () => {
    const it = running({ step: { timeoutMs: 10_000 } });
    it.wait(9_000);
    it.extend(5_000, 'a');
    expect(it.of('step.extended')).toMatchObject([{ step: 'a', limitMs: 5_000 }]);
    it.wait(4_999);
    expect(it.attemptInput()).toMatchObject({ cause: null });
    it.wait(1);
    expect(it.attemptInput()).toMatchObject({ cause: { type: 'step-limit', limitMs: 5_000 } });
    expect(it.of('run.deadline-moved')).toEqual([]);
  });

  test('is told to the next attempt as it is now', () => {
    const it = running({ step: { timeoutMs: 10_000 } });
    expect(it.attemptInput()).toMatchObject({ deadlineAt: later(AT, 10_000) });
    it.wait(9_000);
    it.extend(5_000, 'a');
    failOnce(it);
    it.start();
    expect(it.attemptInput()).toMatchObject({ n: 2, deadlineAt: later(AT, 14_000) });
  });

  test('of a step that does not run changes nothing', () => {
    const it = running({ step: { timeoutMs: 10_000 } });
    it.extend(0, 'b');
    it.wait(9_999);
    expect(it.attemptInput()).toMatchObject({ cause: null });
  });

  test('ends a wait at once, and the run goes on without it', () => {
    const it = running({
      step: { timeoutMs: 10_000, retry: { ...STEP.retry, backoff: { firstMs: 60_000, factor: 1, mostMs: 60_000 } } },
    });
    for (const name of ['a ended badly', 'a exited', 'a drained', 'a looked: nobody']) it.go(name);
    expect(it.status().steps).toMatchObject([{ state: 'backing-off', attempt: 1 }]);
    it.extend(0, 'a');
    it.wait(0);
    expect(it.status().steps).toMatchObject([{ state: 'failed', cause: { type: 'step-limit' }, attempt: 1 }]);
  });
});

describe('what a child is told', () => {
  test('the earliest end that is known: of the run, of the step', () => {
    const limits: Limits[] = [
      {},
      { runMs: 5_000 },
      { runMs: 5_000, step: { timeoutMs: 3_000 } },
      { runMs: 5_000, step: { timeoutMs: 9_000 } },
    ];
    const told = limits.map((one) => running(one).attemptInput()?.['deadlineAt']);
    expect(told).toEqual([null, later(AT, 5_000), later(AT, 3_000), later(AT, 5_000)]);
  });

  test('a moved deadline holds for the attempts to come', () => {
    const it = running({ runMs: 60_000 });
    it.extend(600_000);
    failOnce(it);
    it.start();
    expect(it.attemptInput()).toMatchObject({ n: 2, deadlineAt: later(AT, 600_000) });
  });
});

describe('the notice to come to an end', () => {
  test('comes a minute before the end, but not in the first half of the time', () => {
    const long = running({ runMs: 600_000 });
    long.wait(539_999);
    expect(long.world.told).toEqual([]);
    long.wait(1);
    expect(long.world.told).toEqual(['a wrap-up 60000']);
    const short = running({ step: { limits: { ...NO_LIMITS, attemptMs: 10_000 } } });
    short.wait(5_000);
    expect(short.world.told).toEqual(['a wrap-up 5000']);
  });

  test('does not come where there is no end', () => {
    const it = running();
    it.wait(10 * 24 * 3_600_000);
    expect(it.world.told).toEqual([]);
  });

  test('follows a deadline that was moved: later, earlier, and of the step', () => {
    const it = running({ runMs: 600_000 });
    it.wait(500_000);
    it.extend(600_000);
    it.wait(539_999);
    expect(it.world.told).toEqual([]);
    it.wait(1);
    expect(it.world.told).toEqual(['a wrap-up 60000']);
    // It was told already, and has more time again: it will be told again.
    it.extend(10_000, 'a');
    it.wait(5_000);
    expect(it.world.told).toEqual(['a wrap-up 60000', 'a wrap-up 5000']);
  });

  test('is not repeated to an agent that went on after its end', () => {
    const it = running({ step: { limits: { ...NO_LIMITS, attemptMs: 10_000 } } });
    it.wait(5_000);
    it.toAttempt({ type: 'child.ended', at: it.now(), end: { type: 'success', chars: 1, stop: 'stop' } });
    it.wait(500);
    it.toAttempt({ type: 'child.resumed', at: it.now() });
    it.wait(4_000);
    expect(it.world.told).toEqual(['a wrap-up 5000', 'a finish']);
  });

  test('is not for one that has ended', () => {
    const it = running({ step: { limits: { ...NO_LIMITS, attemptMs: 1_500 } } });
    it.toAttempt({ type: 'child.ended', at: it.now(), end: { type: 'success', chars: 1, stop: 'stop' } });
    it.wait(900);
    expect(it.world.told).toEqual(['a finish']);
  });
});
