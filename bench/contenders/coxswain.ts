import { performance } from 'node:perf_hooks';
import { start } from '../../src/index.ts';
import { type Contender, PROGRAM } from './contender.ts';
import { planOf } from './plan.ts';

/** The whole: a run with its record, from `start` until `ended`. */
export const coxswain: Contender = async (job) => {
  const begun = performance.now();
  const run = await start({ plan: planOf(job, PROGRAM) }, { root: `${job.folder}/state`, cwd: job.folder });
  const { outcome, recorded } = await run.ended();
  const ms = performance.now() - begun;
  if (outcome.state !== 'completed' || !recorded) {
    const errors = run.status().steps.flatMap((step) => step.error ?? []);
    throw new Error(`the run ended as ${outcome.state}: ${JSON.stringify(errors)}`);
  }
  return ms;
};
