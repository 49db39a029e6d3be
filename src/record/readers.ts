import { readdirSync, readFileSync, statSync } from 'node:fs';
import type { Instant, Owner, Proof, RunState, Status } from '../../machines/protocol.ts';
import { faultIn, type JsonObject, parseObject, readRecord, type Reading } from './json.ts';
import { isSafeId } from '../ids.ts';
import { activeDir, type RunDir, runDir, runsDir } from './paths.ts';
import type { RunResult } from './result.ts';

/**
 * Readers of the record for whoever only looks: synchronous, plain JSON, the fields everybody relies on are checked
 * and the rest is taken as the schema promises it. Nothing is repaired and nothing is thrown.
 */

const runStates: Record<RunState, true> = {
  queued: true,
  running: true,
  stopping: true,
  finalizing: true,
  completed: true,
  failed: true,
  stopped: true,
  paused: true,
};

export type RunReading =
  | { type: 'ok'; id: string; dir: RunDir; status: Status }
  | { type: 'missing'; id: string }
  /** The directory is there and the first status is not: the runner is about to write it, or died before. */
  | { type: 'unwritten'; id: string; dir: RunDir; since: Instant }
  | { type: 'corrupt'; id: string; dir: RunDir; path: string; reason: string }
  | { type: 'newer'; id: string; dir: RunDir; path: string; version: number };

/** The status of the run with exactly this id. */
export function readRun(root: string, id: string): RunReading {
  const dir = runDir(root, id);
  const reading = readStatus(dir);
  switch (reading.type) {
    case 'ok':
      return { type: 'ok', id, dir, status: reading.value };
    case 'missing': {
      const since = bornAt(dir.path);
      if (since === null) return { type: 'missing', id };
      return { type: 'unwritten', id, dir, since };
    }
    case 'corrupt':
    case 'newer':
      return { ...reading, id, dir };
  }
}

function bornAt(path: string): Instant | null {
  try {
    const stat = statSync(path);
    return stat.isDirectory() ? new Date(stat.mtimeMs).toISOString() : null;
  } catch {
    return null;
  }
}

export function readStatus(dir: RunDir): Reading<Status> {
  return readRecord<Status>(
    dir.status,
    (json) => idFault(json, dir) ?? stateFault(json) ?? faultIn(json, statusFields),
  );
}

const statusFields = {
  seq: 'number',
  epoch: 'number',
  name: 'string',
  startedAt: 'string',
  updatedAt: 'string',
  owner: 'object',
  limits: 'object',
  usage: 'object',
  steps: 'array',
  counts: 'object',
  labels: 'object',
} as const;

export function readResult(dir: RunDir): Reading<RunResult> {
  return readRecord<RunResult>(
    dir.result,
    (json) =>
      idFault(json, dir) ?? stateFault(json) ?? faultIn(json, { epoch: 'number', endedAt: 'string', steps: 'array' }),
  );
}

/** The proof of one attempt. */
export function readProof(path: string): Reading<Proof & { v: 1 }> {
  return readRecord(path, (json) =>
    faultIn(json, { verdict: 'string', level: 'string', members: 'array', kept: 'array', at: 'string' }),
  );
}

function idFault(json: JsonObject, dir: RunDir): string | null {
  return json['id'] === dir.id ? null : `'id' is not ${dir.id}`;
}

function stateFault(json: JsonObject): string | null {
  const state = json['state'];
  return typeof state === 'string' && Object.hasOwn(runStates, state) ? null : `'state' is not a state of a run`;
}

export interface RunList {
  /** Oldest first. */
  runs: { id: string; dir: RunDir; status: Status }[];
  unwritten: { id: string; dir: RunDir; since: Instant }[];
  /** Runs that cannot be read, with the file and what is wrong with it. */
  corrupt: { id: string; path: string; reason: string }[];
  /** Runs of a later version. */
  newer: { id: string; path: string; version: number }[];
}

/** Every run of a root. A root that does not exist has none; one that cannot be read is named as corrupt. */
export function listRuns(root: string): RunList {
  const list: RunList = { runs: [], unwritten: [], corrupt: [], newer: [] };
  const names = runNames(root);
  if (names === null) {
    list.corrupt.push({ id: '', path: runsDir(root), reason: 'the folder cannot be read' });
    return list;
  }
  for (const name of names) sortInto(list, readRun(root, name));
  list.runs.sort((a, b) => compare(a.status.startedAt, b.status.startedAt) || compare(a.id, b.id));
  return list;
}

function sortInto(list: RunList, reading: RunReading): void {
  switch (reading.type) {
    case 'ok':
      list.runs.push(reading);
      break;
    case 'unwritten':
      list.unwritten.push(reading);
      break;
    case 'corrupt':
      list.corrupt.push(reading);
      break;
    case 'newer':
      list.newer.push(reading);
      break;
    case 'missing':
      // Removed while we looked.
      break;
  }
}

export type FoundRun =
  { type: 'found'; id: string; dir: RunDir } | { type: 'none' } | { type: 'ambiguous'; ids: string[] };

/** The run a person means: an exact id wins over a prefix, and a prefix must be the beginning of one id only. */
export function findRun(root: string, idOrPrefix: string): FoundRun {
  if (idOrPrefix === '') return { type: 'none' };
  const ids = (runNames(root) ?? []).filter((id) => id.startsWith(idOrPrefix));
  const id = ids.includes(idOrPrefix) ? idOrPrefix : ids.length === 1 ? ids[0] : undefined;
  if (id !== undefined) return { type: 'found', id, dir: runDir(root, id) };
  return ids.length === 0 ? { type: 'none' } : { type: 'ambiguous', ids };
}

/** Runs with a marker: something of them may still be running. */
export function listActive(root: string): string[] {
  return (namesIn(activeDir(root)) ?? []).filter(isSafeId);
}

/** Who owns an epoch; null where the record is missing or unreadable. */
export function readOwner(dir: RunDir, epoch: number): Owner | null {
  try {
    const json = parseObject(readFileSync(dir.owner(epoch), 'utf8'));
    const fault = json && faultIn(json, { host: 'string', bootId: 'string', pid: 'number', instance: 'string' });
    return json !== null && fault === null ? (json as unknown as Owner) : null;
  } catch {
    return null;
  }
}

/** The last epoch somebody has claimed; 0 before the first. */
export function lastEpoch(dir: RunDir): number {
  let last = 0;
  for (const name of namesIn(dir.owners) ?? []) {
    const epoch = /^(\d+)\.json$/.exec(name)?.[1];
    if (epoch !== undefined) last = Math.max(last, Number(epoch));
  }
  return last;
}

function runNames(root: string): string[] | null {
  return namesIn(runsDir(root))?.filter(isSafeId) ?? null;
}

/** Sorted names; none where the folder is missing; null where it cannot be read. */
function namesIn(path: string): string[] | null {
  try {
    return readdirSync(path).toSorted(compare);
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ENOENT' ? [] : null;
  }
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
