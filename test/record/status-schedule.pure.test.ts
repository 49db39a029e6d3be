import { describe, expect, test } from 'vitest';
import { createStatusSchedule } from '../../src/record/index.ts';
import { nextWriteAt } from '../../src/record/status-schedule.ts';

/** A clock that stands still until it is moved. */
function fakeClock() {
  let now = 0;
  let last = 0;
  const timers = new Map<number, { at: number; call: () => void }>();
  return {
    now: () => now,
    setTimeout(call: () => void, ms: number) {
      last += 1;
      timers.set(last, { at: now + ms, call });
      return last;
    },
    clearTimeout: (handle: unknown) => void timers.delete(handle as number),
    get pending() {
      return timers.size;
    },
    advance(ms: number) {
      const end = now + ms;
      for (;;) {
        const due = [...timers].filter(([, t]) => t.at <= end).toSorted(([, a], [, b]) => a.at - b.at)[0];
        if (due === undefined) break;
        timers.delete(due[0]);
        now = Math.max(now, due[1].at);
        due[1].call();
      }
      now = end;
    },
  };
}

function setUp() {
  const clock = fakeClock();
  const writes: number[] = [];
  const schedule = createStatusSchedule({ clock, write: () => writes.push(clock.now()) });
  return { clock, writes, schedule };
}

describe('when the status is written', () => {
  test('at once after quiet, once for a burst', () => {
    const { clock, writes, schedule } = setUp();
    clock.advance(1000);
    schedule.changed();
    schedule.changed();
    clock.advance(0);
    expect(writes).toEqual([1000]);
  });

  test('in the gap after a write at its end, and more changes do not push it away', () => {
    const { clock, writes, schedule } = setUp();
    schedule.changed();
    clock.advance(30);
    schedule.changed();
    clock.advance(50);
    schedule.changed();
    clock.advance(100);
    expect(writes).toEqual([0, 100]);
  });

  test('an urgent change does not wait for the gap, and takes a waiting one along', () => {
    const { clock, writes, schedule } = setUp();
    schedule.changed();
    clock.advance(30);
    schedule.changed();
    schedule.changed({ urgent: true });
    clock.advance(500);
    expect(writes).toEqual([0, 30]);
  });

  test('never more than ten in any second, urgent or not', () => {
    const { clock, writes, schedule } = setUp();
    for (let i = 0; i < 600; i += 1) {
      schedule.changed({ urgent: i % 2 === 0 });
      clock.advance(5);
    }
    expect(writes.length).toBeGreaterThan(25);
    for (const start of writes) {
      expect(writes.filter((t) => t >= start && t < start + 1000).length).toBeLessThanOrEqual(10);
    }
  });

  test('flush writes what waits and only then; close forgets it', () => {
    const { clock, writes, schedule } = setUp();
    schedule.flush();
    expect(writes).toEqual([]);
    schedule.changed();
    schedule.flush();
    expect(writes).toEqual([0]);
    schedule.changed();
    schedule.close();
    schedule.changed({ urgent: true });
    clock.advance(5000);
    expect(writes).toEqual([0]);
    expect(clock.pending).toBe(0);
  });

  test('the decision alone', () => {
    const rules = { minGapMs: 100, mostPerSecond: 3 };
    expect(nextWriteAt(500, [], { ...rules, urgent: false })).toBe(500);
    expect(nextWriteAt(500, [450], { ...rules, urgent: false })).toBe(550);
    expect(nextWriteAt(500, [450], { ...rules, urgent: true })).toBe(500);
    expect(nextWriteAt(500, [100, 200, 300], { ...rules, urgent: true })).toBe(1100);
  });
});
