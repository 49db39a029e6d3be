import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { patient, watchClocks } from '../../src/runtime/clock.ts';

/** The clock of the machines, with the system's timers in our hands. */

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const DAY_MS = 24 * 3_600_000;

describe('patient', () => {
  test('calls once, in time, and not when it was cleared', () => {
    const run = vi.fn<() => void>();
    patient.setTimeout(run, 500);
    patient.clearTimeout(patient.setTimeout(run, 400));
    vi.advanceTimersByTime(499);
    expect(run).not.toHaveBeenCalled();
    vi.advanceTimersByTime(10_000);
    expect(run).toHaveBeenCalledTimes(1);
    patient.clearTimeout(undefined);
  });

  test('waits longer than a timer of the system can', () => {
    const run = vi.fn<() => void>();
    patient.setTimeout(run, 60 * DAY_MS);
    const cleared = patient.setTimeout(run, 60 * DAY_MS);
    vi.advanceTimersByTime(60 * DAY_MS - 1);
    expect(run).not.toHaveBeenCalled();
    patient.clearTimeout(cleared);
    vi.advanceTimersByTime(1);
    expect(run).toHaveBeenCalledTimes(1);
  });

  test('that is late by more than a second lets the loop read first', () => {
    const order: string[] = [];
    const now = performance.now();
    const cancelled = patient.setTimeout(() => order.push('cancelled'), 100);
    patient.setTimeout(() => order.push('late'), 100);
    patient.setTimeout(() => order.push('a little late'), 1_000);
    // The process stood still for 1.5 s: what waits in the pipes is read in the turn after the timers.
    vi.spyOn(performance, 'now').mockReturnValue(now + 1_600);
    setImmediate(() => {
      order.push('read');
      patient.clearTimeout(cancelled);
    });
    vi.advanceTimersByTime(1_000);
    expect(order).toEqual(['read', 'late', 'a little late']);
    vi.restoreAllMocks();
  });
});

describe('watchClocks', () => {
  test('tells a jump of the wall clock once, both ways, and nothing else', () => {
    const jumps: number[] = [];
    const stop = watchClocks((byMs) => void jumps.push(byMs));
    vi.advanceTimersByTime(10_000);
    vi.setSystemTime(Date.now() + 2_000);
    vi.advanceTimersByTime(10_000);
    expect(jumps).toEqual([]);
    vi.setSystemTime(Date.now() + 3_600_000);
    vi.advanceTimersByTime(10_000);
    expect(jumps).toEqual([3_602_000]);
    vi.setSystemTime(Date.now() - 60_000);
    vi.advanceTimersByTime(10_000);
    expect(jumps).toEqual([3_602_000, -60_000]);
    stop();
    vi.setSystemTime(Date.now() + 60_000);
    vi.advanceTimersByTime(10_000);
    expect(jumps).toHaveLength(2);
    expect(vi.getTimerCount()).toBe(0);
  });
});
