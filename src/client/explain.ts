import type { PathStep, Possible, StepId } from '../../machines/protocol.ts';
import { can as canNow } from '../../machines/policy/commands.ts';
import { why as whyOf } from '../../machines/why.ts';
import type { NotFound, Place } from './place.ts';
import { type StatusReading, journal, status } from './read.ts';

export type CanReading =
  { type: 'ok'; id: string; state: string; possible: Possible[] } | Exclude<StatusReading, { type: 'ok' }>;

/**
 * The commands that a run would obey in the state that is on record. Nobody obeys where the owner is dead.
 * @throws CoxswainError `root-refused`
 */
export function can(idOrPrefix: string, place: Place = {}): CanReading {
  const reading = status(idOrPrefix, place);
  if (reading.type !== 'ok') return reading;
  const { id, owner } = reading;
  const isHeard = owner === 'alive' || owner === 'elsewhere';
  return { type: 'ok', id, state: reading.status.state, possible: isHeard ? canNow(reading.status) : [] };
}

export type WhyReading = { type: 'ok'; id: string; path: PathStep[] } | NotFound;

/** How a run came to where it is, or one of its steps. @throws CoxswainError `root-refused` */
export function why(idOrPrefix: string, { step, ...place }: Place & { step?: StepId } = {}): WhyReading {
  const reading = journal(idOrPrefix, place);
  if (reading.type !== 'ok') return reading;
  return { type: 'ok', id: reading.id, path: whyOf(reading.records, step === undefined ? {} : { step }) };
}
