import { proof, stop as sendStop, wait } from '../client.ts';
import { EXIT } from './codes.ts';
import { VERDICT_MS, tellAnswer } from './commanding.ts';
import { headline } from './describe.ts';
import { type PlaceOptions, timeOf } from './finding.ts';
import { type Io, fail } from './io.ts';
import { checkProof, proofWords } from './proof.ts';
import { duration } from './words.ts';

export interface StopOptions extends PlaceOptions {
  timeout: string;
  /** False with `--no-wait`. */
  wait: boolean;
  step?: string;
  reason?: string;
  json?: boolean;
}

/** Of a run it waits for the end, of a step it does not: the run goes on. */
export async function stop(run: string, options: StopOptions, io: Io): Promise<number> {
  const time = await timeOf('--timeout', options.timeout);
  if (time.type === 'bad') return fail(io, EXIT.usage, time.message);
  const place = { root: options.root, env: io.env };
  const { step, reason } = options;
  const answer = await sendStop(run, { ...place, source: 'command-line', step, reason, waitMs: VERDICT_MS });
  const what = step === undefined ? run : `step ${step} of ${run}`;
  const how = { name: 'the stop', done: () => `stop applied to ${what}`, waitMs: VERDICT_MS };
  const code = await tellAnswer(answer, how, options, io);
  if (code !== EXIT.ok || !options.wait || step !== undefined) return code;
  return waitForEnd(run, time.ms ?? 0, options, io);
}

async function waitForEnd(run: string, timeoutMs: number, options: StopOptions, io: Io): Promise<number> {
  const place = { root: options.root, env: io.env };
  const waited = await wait(run, { ...place, timeoutMs });
  if (waited.type === 'ended') {
    const { id, status } = waited;
    const found = proof(id, place);
    if (options.json !== true) {
      io.out.line(headline(status));
      if (found !== null) io.out.line(`processes: ${proofWords(found)}`);
    }
    return checkProof(id, EXIT.ok, options, io);
  }
  const goingOn = waited.type === 'timed-out';
  const words = goingOn
    ? `it is still stopping after ${duration(timeoutMs)}`
    : `its end could not be seen (${waited.type})`;
  return fail(io, EXIT.incomplete, `the stop was applied, but ${words}: look again with coxswain wait ${run}`);
}
