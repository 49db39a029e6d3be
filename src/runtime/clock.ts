/** A timer later than this met a loop that was blocked, or a process that was frozen. */
const LATE_MS = 1_000;
/** The system's timers take no more: a longer one would be over at once. */
const LONGEST_MS = 2 ** 31 - 1;

interface Timer {
  timeout: NodeJS.Timeout | null;
  turn: NodeJS.Immediate | null;
}

/**
 * The clock of the machines: monotonic, and patient. A timer that fires late first lets the loop read what waits, so
 * that a child which has spoken or ended in time is not taken for silent because of our own slowness.
 */
export const patient = {
  setTimeout(run: () => void, ms: number): Timer {
    const due = performance.now() + ms;
    const timer: Timer = { timeout: null, turn: null };
    const fire = (): void => {
      timer.timeout = null;
      if (performance.now() - due < LATE_MS) run();
      // Two turns: one reads the pipes, the next has dealt with what was in them.
      else timer.turn = setImmediate(() => (timer.turn = setImmediate(run)));
    };
    const wait = (): void => {
      const left = due - performance.now();
      timer.timeout = left > LONGEST_MS ? setTimeout(wait, LONGEST_MS) : setTimeout(fire, left);
    };
    wait();
    return timer;
  },
  clearTimeout(timer: unknown): void {
    const { timeout, turn } = (timer ?? { timeout: null, turn: null }) as Timer;
    if (timeout !== null) clearTimeout(timeout);
    if (turn !== null) clearImmediate(turn);
  },
};

/** The clocks part when somebody sets the wall clock, or the machine sleeps where the monotonic one stands still. */
const JUMP_MS = 2_000;
const LOOK_EVERY_MS = 1_000;

/** Tells when the wall clock has jumped against the monotonic one. Returns the way to stop. */
export function watchClocks(jumped: (byMs: number) => void): () => void {
  let offset = Date.now() - performance.now();
  const timer = setInterval(() => {
    const now = Date.now() - performance.now();
    const byMs = Math.round(now - offset);
    if (Math.abs(byMs) <= JUMP_MS) return;
    offset = now;
    jumped(byMs);
  }, LOOK_EVERY_MS);
  timer.unref();
  return () => clearInterval(timer);
}
