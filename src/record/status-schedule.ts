export interface ScheduleClock {
  /** Milliseconds on a clock that never goes back. */
  now(): number;
  setTimeout(call: () => void, ms: number): unknown;
  clearTimeout(handle: unknown): void;
}

export interface StatusScheduleOptions {
  write: () => void;
  /** Least time between two writes that may wait. @default 100 ms */
  minGapMs?: number;
  /** Most writes in any second, urgent ones included. @default 10 */
  mostPerSecond?: number;
  /** @default the process's monotonic clock; its timers do not keep the process alive */
  clock?: ScheduleClock;
}

/**
 * When to write the status. A change after a quiet time is written at once (after this turn of the loop, so
 * that one burst makes one write); during the gap after a write, at its end; an urgent one does not wait for the gap.
 * Never more than `mostPerSecond` in a second.
 */
export interface StatusSchedule {
  changed(options?: { urgent?: boolean }): void;
  /** Writes now if a change waits. */
  flush(): void;
  /** Forgets what waits; later changes are ignored. */
  close(): void;
}

const realClock: ScheduleClock = {
  now: () => performance.now(),
  setTimeout: (call, ms) => setTimeout(call, ms).unref(),
  clearTimeout: (handle) => clearTimeout(handle as NodeJS.Timeout),
};

/**
 * The decision alone: the earliest time for the next write.
 *
 * @param writes Times of the last writes, oldest first; at most `mostPerSecond` of them.
 */
export function nextWriteAt(
  now: number,
  writes: readonly number[],
  { urgent, minGapMs, mostPerSecond }: { urgent: boolean; minGapMs: number; mostPerSecond: number },
): number {
  const last = writes.at(-1);
  const afterGap = urgent || last === undefined ? now : Math.max(now, last + minGapMs);
  const oldest = writes.length < mostPerSecond ? undefined : writes.at(-mostPerSecond);
  return oldest === undefined ? afterGap : Math.max(afterGap, oldest + 1000);
}

export function createStatusSchedule(options: StatusScheduleOptions): StatusSchedule {
  const { write, minGapMs = 100, mostPerSecond = 10, clock = realClock } = options;
  const writes: number[] = [];
  let pending: { at: number; handle: unknown } | null = null;
  let closed = false;

  function fire(): void {
    pending = null;
    writes.push(clock.now());
    if (writes.length > mostPerSecond) writes.shift();
    write();
  }

  function cancel(): void {
    if (pending !== null) clock.clearTimeout(pending.handle);
    pending = null;
  }

  return {
    changed({ urgent = false } = {}) {
      if (closed) return;
      const now = clock.now();
      const at = nextWriteAt(now, writes, { urgent, minGapMs, mostPerSecond });
      if (pending !== null && pending.at <= at) return;
      cancel();
      pending = { at, handle: clock.setTimeout(fire, Math.ceil(at - now)) };
    },
    flush() {
      if (pending === null) return;
      cancel();
      fire();
    },
    close() {
      closed = true;
      cancel();
    },
  };
}
