import { join } from 'node:path';
import type { AskStatus } from '../../machines/protocol.ts';
import { askName } from '../ids.ts';
import { type RunDir, faultIn, readRecord, runDir, safeId } from '../record/light.ts';
import { hasEnded } from './owner.ts';
import { type Place } from './place.ts';
import { type StatusReading, status, statusIn } from './read.ts';

/** What a child has asked its supervisor. */
export interface Ask extends AskStatus {
  /** What it asks, while that is still in its file. */
  question: string | null;
  /** The run that holds it: the one that was asked about, or one below it. */
  run: string;
  /** The runs from the one that was asked about down to `run`. */
  path: string[];
}

export type AsksReading = { type: 'ok'; id: string; asks: Ask[] } | Exclude<StatusReading, { type: 'ok' }>;

/** No nest has more runs, whatever the records say. */
const MOST_RUNS = 257;

/** The asks of a run, the open ones last, then the open ones of the live runs below it. @throws CoxswainError `root-refused` */
export function asks(idOrPrefix: string, place: Place = {}): AsksReading {
  const reading = status(idOrPrefix, place);
  if (reading.type !== 'ok') return reading;
  const own = asksIn(reading, [reading.id]);
  return { type: 'ok', id: reading.id, asks: [...own, ...asksBelow(reading)] };
}

type Read = Extract<StatusReading, { type: 'ok' }>;

function asksBelow(top: Read): Ask[] {
  const found: Ask[] = [];
  const seen = new Set([top.id]);
  const open: { reading: Read; path: string[] }[] = [{ reading: top, path: [top.id] }];
  for (let next = open.shift(); next !== undefined; next = open.shift()) {
    const { reading, path } = next;
    for (const { id } of reading.status.nested?.runs ?? []) {
      if (seen.has(id) || seen.size >= MOST_RUNS) continue;
      seen.add(id);
      const below = statusIn(runDir(top.dir.root, id));
      if (below.type !== 'ok' || below.owner === 'lost' || hasEnded(below.status)) continue;
      // Both have to say so: a status cannot claim the asks of any other run.
      if (below.status.parent?.run !== reading.id) continue;
      const there = { reading: below, path: [...path, id] };
      found.push(...asksIn(below, there.path).filter(({ state }) => state === 'asked'));
      open.push(there);
    }
  }
  return found;
}

function asksIn({ id, dir, status: said }: Read, path: string[]): Ask[] {
  // A run of an earlier version has none.
  const { asks: all = [] } = said as Partial<typeof said>;
  return all.map((ask) => ({ ...ask, question: questionOf(dir, ask), run: id, path }));
}

/** The runs that an answer can be for. The run that was named comes before all below it. */
export function holdersOf(idOrPrefix: string, ask: string, place: Place): string[] {
  const reading = asks(idOrPrefix, place);
  if (reading.type !== 'ok') return [];
  const named = reading.asks.filter(({ id }) => id === ask);
  if (named.some(({ run }) => run === reading.id)) return [reading.id];
  return named.map(({ run }) => run);
}

/** In the folder of the attempt, where the child has put it. */
function questionOf(dir: RunDir, ask: AskStatus): string | null {
  const { step, attempt, state } = ask;
  if (state !== 'asked') return null;
  const path = join(dir.attempt(step, attempt).path, 'ask', 'requests', `${safeId(askName(ask))}.json`);
  const reading = readRecord<{ text: string }>(path, (json) => faultIn(json, { text: 'string' }));
  return reading.type === 'ok' ? reading.value.text : null;
}
