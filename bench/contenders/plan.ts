import type { PlanInput } from '../../src/index.ts';
import type { Job } from './contender.ts';

/** Independent command steps. */
export function planOf({ steps, concurrency }: Job, program: string): PlanInput {
  return {
    version: 1,
    name: 'bench',
    limits: { concurrency },
    steps: Array.from({ length: steps }, (_, at) => ({ id: `s${at}`, run: [program], needs: [] })),
  };
}
