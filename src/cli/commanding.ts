import { text as readAll } from 'node:stream/consumers';
import type { Answer, Receipt, SendOptions } from '../client.ts';
import { EXIT } from './codes.ts';
import { type PlaceOptions, failNotFound, timeOf } from './finding.ts';
import { type Io, fail, printJson } from './io.ts';
import { duration, oneLine } from './words.ts';

/** Options of every verb that sends a command. */
export interface CommandingOptions extends PlaceOptions {
  timeout?: string;
  json?: boolean;
}

export interface Commanding {
  /** `the stop`. */
  name: string;
  /** What to say when it has been obeyed. */
  done: (receipt: Receipt) => string;
  /** @default 'final' */
  until?: 'final' | 'first';
  /** Without `--timeout`. */
  waitMs: number;
}

/** A run that reads its commands answers within milliseconds; one that does not for so long is stuck or elsewhere. */
export const VERDICT_MS = 10_000;

/** Sends a command, waits for its receipt, says what it says, and gives back the exit code. */
export async function command(
  how: Commanding,
  options: CommandingOptions,
  io: Io,
  sendIt: (options: SendOptions & { source: string }) => Promise<Answer>,
): Promise<number> {
  const time = await timeOf('--timeout', options.timeout);
  if (time.type === 'bad') return fail(io, EXIT.usage, time.message);
  const waitMs = time.ms ?? how.waitMs;
  const interrupted = new AbortController();
  const onInterrupt = (): void => interrupted.abort();
  process.on('SIGINT', onInterrupt);
  try {
    const { until = 'final' } = how;
    const place = { root: options.root, env: io.env };
    const wait = { waitMs, until, signal: interrupted.signal };
    return await tellAnswer(
      await sendIt({ ...place, ...wait, source: 'command-line' }),
      { ...how, waitMs },
      options,
      io,
    );
  } finally {
    process.off('SIGINT', onInterrupt);
  }
}

export async function tellAnswer(answer: Answer, how: Commanding, options: CommandingOptions, io: Io): Promise<number> {
  switch (answer.type) {
    case 'receipt':
      return tellReceipt(answer.receipt, how, options, io);
    case 'no-verdict':
      if (options.json === true && answer.last !== null) await printJson(io, answer.last);
      return tellSilence(answer, how, io);
    case 'refused':
      return fail(io, answer.reason === 'owner-lost' ? EXIT.unreadable : EXIT.refused, answer.message);
    case 'missing':
    case 'ambiguous':
      return failNotFound(io, answer);
  }
}

function tellSilence({ id, last, why }: Extract<Answer, { type: 'no-verdict' }>, how: Commanding, io: Io): number {
  const known = last === null ? 'it was not read yet' : `so far it is ${last.verdict}`;
  switch (why) {
    case 'time':
      return fail(io, EXIT.refused, `no answer in ${duration(how.waitMs)}: ${known} (command ${id})`);
    case 'aborted':
      return fail(
        io,
        EXIT.interrupted,
        `waiting was interrupted; ${how.name} stays sent, and ${known} (command ${id})`,
      );
    case 'owner-lost':
      return fail(io, EXIT.unreadable, `the process that ran it has gone: ${known} (command ${id})`);
  }
}

async function tellReceipt(receipt: Receipt, how: Commanding, { json }: CommandingOptions, io: Io): Promise<number> {
  if (json === true) await printJson(io, receipt);
  const { verdict, reason, detail } = receipt;
  switch (verdict) {
    case 'accepted':
    case 'queued':
    case 'applied':
    case 'delivered':
      if (json !== true) io.out.line(how.done(receipt));
      // What was obeyed, and perhaps not what was meant.
      if (detail !== undefined)
        io.err.line(`coxswain: ${verdict === 'applied' ? 'warning' : 'note'}: ${oneLine(detail)}`);
      return EXIT.ok;
    case 'rejected':
    case 'undelivered':
    case 'conflict': {
      const more = detail === undefined ? '' : `: ${oneLine(detail)}`;
      return fail(io, EXIT.refused, `${how.name} was ${verdict} (${reason ?? 'no reason given'})${more}`);
    }
  }
}

/** A text as it stands in the call; `-` reads it from standard input, because arguments are short and others can read them. */
export async function textOf(word: string): Promise<string> {
  return word === '-' ? readAll(process.stdin) : word;
}
