/**
 * A clock that stands still until it is told to go on. Timers fire in the order of their times, at their times:
 * a timer set by a timer fires within the same `advance` when it is due. Satisfies XState's `Clock`.
 *
 * XState's own SimulatedClock moves to the end first, so re-armed timers fire once where they should fire often.
 */
export class StepClock {
  #now = 0;
  #next = 1;
  readonly #timers = new Map<number, { at: number; run: (...args: unknown[]) => void }>();

  setTimeout = (run: (...args: unknown[]) => void, ms: number): number => {
    const id = this.#next++;
    this.#timers.set(id, { at: this.#now + Math.max(0, ms), run });
    return id;
  };

  clearTimeout = (id: unknown): void => {
    this.#timers.delete(id as number);
  };

  /** Milliseconds since the clock was made. */
  now = (): number => this.#now;

  /** Timers that are waiting. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Lets `ms` milliseconds pass. */
  advance(ms: number): void {
    const end = this.#now + ms;
    for (;;) {
      const due = [...this.#timers]
        .filter(([, timer]) => timer.at <= end)
        .toSorted(([a, x], [b, y]) => x.at - y.at || a - b)[0];
      if (due === undefined) break;
      const [id, timer] = due;
      this.#timers.delete(id);
      this.#now = Math.max(this.#now, timer.at);
      timer.run();
    }
    this.#now = end;
  }
}
