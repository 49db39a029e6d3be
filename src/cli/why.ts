import { type PathStep, why as readWhy } from '../client.ts';
import { EXIT } from './codes.ts';
import { eventLine } from './event-line.ts';
import { type PlaceOptions, failNotFound } from './finding.ts';
import { type Io, fail, printJson } from './io.ts';
import { table } from './words.ts';

export interface WhyOptions extends PlaceOptions {
  step?: string;
  json?: boolean;
}

export async function why(run: string, options: WhyOptions, io: Io): Promise<number> {
  const { step, json } = options;
  const place = { root: options.root, env: io.env };
  const reading = readWhy(run, step === undefined ? place : { ...place, step });
  if (reading.type !== 'ok') return failNotFound(io, reading);
  const { id, path } = reading;
  if (step !== undefined && path.length === 0) {
    return fail(io, EXIT.missing, `nothing has become of a step ${step} in run ${id}`);
  }
  if (json === true) await printJson(io, path);
  else for (const line of table(path.map(rowOf))) io.out.line(line);
  return EXIT.ok;
}

function rowOf({ seq, step, from, to, record }: PathStep): string[] {
  const change = from === to ? to : `${from ?? 'nothing'} -> ${to}`;
  return [String(seq), step ?? 'run', change, eventLine(record)];
}
