import { type JournalRecord, find, follow, journal, status } from '../client.ts';
import { EXIT } from './codes.ts';
import { eventLine } from './event-line.ts';
import { type PlaceOptions, failNotFound } from './finding.ts';
import { type Io, fail } from './io.ts';

export interface EventsOptions extends PlaceOptions {
  follow?: boolean;
  from?: string;
  json?: boolean;
}

/** A reader that has gone is noticed so soon when nothing happens. */
const PROBE_MS = 500;

export async function events(run: string, options: EventsOptions, io: Io): Promise<number> {
  const from = options.from === undefined ? 1 : Number(options.from);
  if (!Number.isSafeInteger(from) || from < 1)
    return fail(io, EXIT.usage, '--from must be the number of a record, from 1');
  const place = { root: options.root, env: io.env };
  const found = find(run, place);
  if (found.type !== 'found') return failNotFound(io, found);
  const line = options.json === true ? JSON.stringify : dated;
  if (options.follow === true) return followed(found.id, { ...place, from }, line, io);
  const reading = journal(found.id, { ...place, from });
  if (reading.type !== 'ok') return failNotFound(io, reading);
  for (const record of reading.records) await io.out.write(`${line(record)}\n`);
  const bad = reading.corrupt[0];
  if (bad === undefined) return EXIT.ok;
  return fail(io, EXIT.unreadable, `${found.dir.journal}:${bad.line}: ${bad.message}`);
}

async function followed(
  id: string,
  place: { root?: string | undefined; env: Io['env']; from: number },
  line: (record: JournalRecord) => string,
  io: Io,
): Promise<number> {
  io.out.probe();
  const probe = setInterval(() => io.out.probe(), PROBE_MS);
  try {
    for await (const record of follow(id, { ...place, signal: io.out.closed })) await io.out.write(`${line(record)}\n`);
  } finally {
    clearInterval(probe);
  }
  if (io.out.closed.aborted) return EXIT.ok;
  const last = status(id, place);
  if (last.type === 'missing') return fail(io, EXIT.missing, `the directory of run ${id} was removed`);
  const lost = (last.type === 'ok' || last.type === 'unwritten') && last.owner === 'lost';
  return lost ? fail(io, EXIT.unreadable, `the runner of ${id} is gone and the run has not ended`) : EXIT.ok;
}

function dated(record: JournalRecord): string {
  return `${String(record.seq).padStart(4)}  ${record.ts.slice(11, 23)}  ${eventLine(record)}`;
}
