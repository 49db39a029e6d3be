import type { Instant, JournalRecord, Status } from '../../machines/protocol.ts';
import {
  type RunDir,
  type RunList,
  type RunProof,
  type RunReading,
  type RunResult,
  faultIn,
  listActive,
  listRuns,
  readJournal,
  readRecord,
  readResult,
  readRun,
} from '../record/light.ts';
import { answerLate } from './late.ts';
import { type OwnerState, ownerOf, ownerOfUnwritten } from './owner.ts';
import { type Found, type NotFound, type Place, find, rootOf } from './place.ts';

/** A file of the run that cannot be used. Nothing is repaired by reading. */
export type Unreadable =
  | { type: 'corrupt'; id: string; path: string; reason: string }
  /** Written by a later version of coxswain. */
  | { type: 'newer'; id: string; path: string; version: number };

export type StatusReading =
  | { type: 'ok'; id: string; dir: RunDir; status: Status; owner: OwnerState }
  /** Its directory is there and no status yet: it is just beginning, or its runner died before it began. */
  | { type: 'unwritten'; id: string; dir: RunDir; since: Instant; owner: OwnerState }
  | Unreadable
  | NotFound;

/** Finds a run to read it: whoever comes after its end answers what was sent too late. */
function open(idOrPrefix: string, place: Place): Found {
  const found = find(idOrPrefix, place);
  if (found.type === 'found') answerLate(found.dir);
  return found;
}

/** What is true of a run now, and who looks after it. @throws CoxswainError `root-refused` */
export function status(idOrPrefix: string, place: Place = {}): StatusReading {
  const found = open(idOrPrefix, place);
  return found.type === 'found' ? statusIn(found.dir) : found;
}

export function statusIn(dir: RunDir): StatusReading {
  const first = withOwner(readRun(dir.root, dir.id));
  // The owner may have written the end and gone between our two looks.
  const lost = (first.type === 'ok' || first.type === 'unwritten') && first.owner === 'lost';
  return lost ? withOwner(readRun(dir.root, dir.id)) : first;

  function withOwner(reading: RunReading): StatusReading {
    switch (reading.type) {
      case 'ok':
        return { ...reading, owner: ownerOf(reading.status) };
      case 'unwritten':
        return { ...reading, owner: ownerOfUnwritten(reading.dir, reading.since) };
      case 'missing':
        return { ...reading, root: dir.root };
      case 'corrupt':
      case 'newer':
        return reading;
    }
  }
}

export interface Listing extends Omit<RunList, 'runs'> {
  /** Oldest first. `active`: something of it may still be running. */
  runs: { id: string; dir: RunDir; status: Status; owner: OwnerState; active: boolean }[];
}

/** Every run of the state root; those that cannot be read are named beside the others. @throws CoxswainError `root-refused` */
export function list(place: Place = {}): Listing {
  const root = rootOf(place);
  const all = listRuns(root);
  const marked = new Set(listActive(root));
  const runs = all.runs.map((run) => {
    const owner = ownerOf(run.status);
    return { ...run, owner, active: owner !== 'released' || marked.has(run.id) };
  });
  return { ...all, runs };
}

export type ResultReading = { type: 'ok'; id: string; dir: RunDir; result: RunResult } | NotResult;
type NotResult = { type: 'not-ended'; id: string; dir: RunDir } | Unreadable | NotFound;

/** What came of a run that has ended. @throws CoxswainError `root-refused` */
export function result(idOrPrefix: string, place: Place = {}): ResultReading {
  const found = open(idOrPrefix, place);
  if (found.type !== 'found') return found;
  const { id, dir } = found;
  const reading = readResult(dir);
  switch (reading.type) {
    case 'ok':
      return { type: 'ok', id, dir, result: reading.value };
    case 'missing':
      return { type: 'not-ended', id, dir };
    case 'corrupt':
    case 'newer':
      return { ...reading, id };
  }
}

export type JournalReading =
  | {
      type: 'ok';
      id: string;
      records: JournalRecord[];
      /** Lines that are no records, which are left out. */
      corrupt: { line: number; message: string }[];
    }
  | NotFound;

/** What has happened so far, from record number `from` (default 1) on. @throws CoxswainError `root-refused` */
export function journal(idOrPrefix: string, { from = 1, ...place }: Place & { from?: number } = {}): JournalReading {
  const found = open(idOrPrefix, place);
  if (found.type !== 'found') return found;
  const { records, corrupt } = readJournal(found.dir.journal, { maxBytes: Number.MAX_SAFE_INTEGER });
  return { type: 'ok', id: found.id, records: records.filter(({ seq }) => seq >= from), corrupt };
}

/**
 * Whether everything a run started has ended, and how well that could be seen. Null while nothing readable is on record.
 * @throws CoxswainError `root-refused`
 */
export function proof(idOrPrefix: string, place: Place = {}): RunProof | null {
  const found = find(idOrPrefix, place);
  if (found.type !== 'found') return null;
  const reading = readRecord<RunProof>(found.dir.proof, (json) =>
    faultIn(json, { run: 'string', verdict: 'string', launches: 'number', closes: 'number', attempts: 'array' }),
  );
  return reading.type === 'ok' ? reading.value : null;
}
