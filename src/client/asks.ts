import { join } from 'node:path';
import type { AskStatus } from '../../machines/protocol.ts';
import { askName } from '../ids.ts';
import { type RunDir, faultIn, readRecord, safeId } from '../record/light.ts';
import { type Place } from './place.ts';
import { type StatusReading, status } from './read.ts';

/** What a child has asked its supervisor. */
export interface Ask extends AskStatus {
  /** What it asks, while that is still in its file. */
  question: string | null;
}

export type AsksReading = { type: 'ok'; id: string; asks: Ask[] } | Exclude<StatusReading, { type: 'ok' }>;

/** The asks of a run, the open ones last. @throws CoxswainError `root-refused` */
export function asks(idOrPrefix: string, place: Place = {}): AsksReading {
  const reading = status(idOrPrefix, place);
  if (reading.type !== 'ok') return reading;
  const { id, dir } = reading;
  // A run of an earlier version has none.
  const { asks: all = [] } = reading.status as Partial<typeof reading.status>;
  return { type: 'ok', id, asks: all.map((ask) => ({ ...ask, question: questionOf(dir, ask) })) };
}

/** In the folder of the attempt, where the child has put it. */
function questionOf(dir: RunDir, ask: AskStatus): string | null {
  const { step, attempt, state } = ask;
  if (state !== 'asked') return null;
  const path = join(dir.attempt(step, attempt).path, 'ask', 'requests', `${safeId(askName(ask))}.json`);
  const reading = readRecord<{ text: string }>(path, (json) => faultIn(json, { text: 'string' }));
  return reading.type === 'ok' ? reading.value.text : null;
}
