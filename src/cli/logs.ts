import { setTimeout as pause } from 'node:timers/promises';
import { type RunDir, type Status, type StatusReading, find, hasEnded, status as readStatus } from '../client.ts';
import { EXIT } from './codes.ts';
import { type PlaceOptions, failNotFound, failUnreadable } from './finding.ts';
import { type Io, fail } from './io.ts';
import { type LogWanted, LogSources, Printer } from './log/source.ts';
import { names } from './result.ts';

export interface LogsOptions extends PlaceOptions, LogWanted {
  follow?: boolean;
}

const FOLLOW_MS = 250;

export async function logs(run: string, options: LogsOptions, io: Io): Promise<number> {
  const found = find(run, { root: options.root, env: io.env });
  if (found.type !== 'found') return failNotFound(io, found);
  const first = look(found.dir, io);
  if (first.type !== 'ok' && first.type !== 'unwritten') return failReading(first, io);
  const steps = first.type === 'ok' ? first.status.steps : [];
  const { step } = options;
  if (step !== undefined && first.type === 'ok' && !steps.some(({ id }) => id === step)) {
    return fail(io, EXIT.usage, `the run has no step '${step}'; it has: ${names(steps)}`);
  }
  const log = {
    sources: new LogSources(found.dir, options),
    printer: new Printer(io.out, step === undefined && steps.length !== 1),
  };
  if (options.follow === true) return follow(found.dir, log, io);
  if (first.type === 'ok') await pump(first.status, log);
  return EXIT.ok;
}

interface Log {
  sources: LogSources;
  printer: Printer;
}

/** True when there was something new. */
async function pump(status: Status, { sources, printer }: Log): Promise<boolean> {
  let moved = false;
  for (const source of sources.of(status)) moved = (await source.pump(printer)) || moved;
  return moved;
}

/** Until the run has ended and everything has been shown, or nobody reads any more. */
async function follow(dir: RunDir, log: Log, io: Io): Promise<number> {
  for (;;) {
    io.out.probe();
    const reading = look(dir, io);
    if (reading.type !== 'ok' && reading.type !== 'unwritten') return failReading(reading, io);
    const moved = reading.type === 'ok' && (await pump(reading.status, log));
    if (io.out.closed.aborted) return EXIT.ok;
    if (reading.owner === 'lost')
      return fail(io, EXIT.unreadable, `the runner of ${dir.id} is gone and the run has not ended`);
    if (reading.type === 'ok' && hasEnded(reading.status) && !moved) return EXIT.ok;
    if (!moved) await rest(io);
  }
}

async function rest(io: Io): Promise<void> {
  // Aborted when the reader goes: then there is nothing to wait for.
  await pause(FOLLOW_MS, undefined, { signal: io.out.closed }).catch(() => {});
}

function look(dir: RunDir, io: Io): StatusReading {
  return readStatus(dir.id, { root: dir.root, env: io.env });
}

function failReading(reading: Exclude<StatusReading, { type: 'ok' | 'unwritten' }>, io: Io): number {
  return reading.type === 'missing' || reading.type === 'ambiguous'
    ? failNotFound(io, reading)
    : failUnreadable(io, reading);
}
