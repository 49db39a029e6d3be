import { type Answer, type Receipt, proof, stop as sendStop, wait } from '../client.ts';
import { EXIT } from './codes.ts';
import { headline } from './describe.ts';
import { type PlaceOptions, failNotFound, timeOf } from './finding.ts';
import { type Io, fail, printJson } from './io.ts';
import { checkProof, proofWords } from './proof.ts';
import { duration } from './words.ts';

export interface StopOptions extends PlaceOptions {
  timeout: string;
  /** False with `--no-wait`. */
  wait: boolean;
  reason?: string;
  json?: boolean;
}

/** The stop is applied as soon as it is read; a runner that does not read for so long is stuck or elsewhere. */
const VERDICT_MS = 10_000;

export async function stop(run: string, options: StopOptions, io: Io): Promise<number> {
  const time = await timeOf('--timeout', options.timeout);
  if (time.type === 'bad') return fail(io, EXIT.usage, time.message);
  const place = { root: options.root, env: io.env };
  const { reason } = options;
  const answer = await sendStop(run, { ...place, source: 'command-line', reason, waitMs: VERDICT_MS });
  const code = await tell(answer, run, options, io);
  if (code !== EXIT.ok || !options.wait) return code;
  return waitForEnd(run, time.ms ?? 0, options, io);
}

async function tell(answer: Answer, run: string, options: StopOptions, io: Io): Promise<number> {
  switch (answer.type) {
    case 'receipt':
      return tellReceipt(answer.receipt, run, options, io);
    case 'no-verdict': {
      const known = answer.last === null ? 'the command was not read yet' : 'the run knows of it';
      return fail(io, EXIT.refused, `no answer in ${duration(VERDICT_MS)}: ${known} (command ${answer.id})`);
    }
    case 'refused':
      return fail(io, answer.reason === 'owner-lost' ? EXIT.unreadable : EXIT.refused, answer.message);
    case 'missing':
    case 'ambiguous':
      return failNotFound(io, answer);
  }
}

async function tellReceipt(receipt: Receipt, run: string, { json }: StopOptions, io: Io): Promise<number> {
  if (json === true) await printJson(io, receipt);
  if (receipt.verdict === 'applied') {
    if (json !== true) io.out.line(`stop applied to ${run}`);
    return EXIT.ok;
  }
  const detail = receipt.detail === undefined ? '' : `: ${receipt.detail}`;
  return fail(io, EXIT.refused, `the stop was ${receipt.verdict} (${receipt.reason ?? 'no reason given'})${detail}`);
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
