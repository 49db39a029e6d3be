import { performance } from 'node:perf_hooks';
import type { Job } from './contender.ts';

/** Runs `one` so many times, never more than `concurrency` at once. */
export async function pool({ steps, concurrency }: Job, one: () => Promise<void>): Promise<number> {
  const begun = performance.now();
  let left = steps;
  const worker = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      await one();
    }
  };
  await Promise.all(Array.from({ length: concurrency }, worker));
  return performance.now() - begun;
}
