import { join } from 'node:path';
import type { Instant, Status, TextDigest } from '../../machines/protocol.ts';
import { askName } from '../ids.ts';
import { type RunDir, faultIn, readRecord, safeId } from '../record/light.ts';
import { type Place } from './place.ts';
import { type StatusReading, status } from './read.ts';

/** What a child has asked its supervisor. */
export interface Ask {
  id: string;
  step: string;
  attempt: number;
  /** `asked`: it waits for an answer. */
  state: string;
  at: Instant;
  expiresAt?: Instant;
  endedAt?: Instant;
  text: TextDigest;
  /** What it asks, while that is still in its file. */
  question: string | null;
}

export type AsksReading = { type: 'ok'; id: string; asks: Ask[] } | Exclude<StatusReading, { type: 'ok' }>;

/** The asks of a run, the open ones last. @throws CoxswainError `root-refused` */
export function asks(idOrPrefix: string, place: Place = {}): AsksReading {
  const reading = status(idOrPrefix, place);
  if (reading.type !== 'ok') return reading;
  const { id, dir } = reading;
  // Runs of an earlier version have none.
  const all = (reading.status as Status & { asks?: Omit<Ask, 'question'>[] }).asks ?? [];
  return { type: 'ok', id, asks: all.map((ask) => ({ ...ask, question: questionOf(dir, ask) })) };
}

/** In the folder of the attempt, where the child has put it. */
function questionOf(dir: RunDir, ask: Omit<Ask, 'question'>): string | null {
  const { step, attempt, state } = ask;
  if (state !== 'asked') return null;
  const path = join(dir.attempt(step, attempt).path, 'ask', 'requests', `${safeId(askName(ask))}.json`);
  const reading = readRecord<{ text: string }>(path, (json) => faultIn(json, { text: 'string' }));
  return reading.type === 'ok' ? reading.value.text : null;
}
