import type { JournalRecord } from '../../machines/protocol.ts';
import { CoxswainError } from '../errors.ts';
import { type RunDir, readJournal } from '../record/light.ts';
import { Bell } from './bell.ts';
import { type NotFound, type Place, find } from './place.ts';
import { lookAt } from './wait.ts';

export interface FollowOptions extends Place {
  /** Number of the first record. @default 1 */
  from?: number | undefined;
  signal?: AbortSignal | undefined;
}

const POLL_MS = 500;
/** Read at once; a longer line is read whole. */
const PAGE_BYTES = 1024 * 1024;
/** The announcement of the end follows the status that says so; a runner that died in between never writes it. */
const ANNOUNCEMENT_MS = 2000;

/**
 * The journal: what was, then what comes, until the run has ended, its owner is lost, its directory is removed, or
 * `signal` is aborted; `status()` then tells which. Lines that are no records are left out.
 *
 * @throws CoxswainError `root-refused`, `run-missing`, `run-ambiguous`
 */
export async function* follow(idOrPrefix: string, options: FollowOptions = {}): AsyncGenerator<JournalRecord, void> {
  const { from = 1, signal } = options;
  const { dir } = mustFind(idOrPrefix, options);
  const bell = new Bell(dir.path, (name) => name === 'events.jsonl' || name === 'status.json');
  let offset = 0;
  let announced = false;
  let endedAt: number | null = null;
  try {
    for (;;) {
      // Looked at before the journal is read: what is written until the end is then in what is read.
      const over = lookAt(dir).type !== 'goes-on';
      if (over) endedAt ??= performance.now();
      const read = readJournal(dir.journal, { from: offset, maxBytes: PAGE_BYTES });
      const moved = read.nextOffset > offset;
      offset = read.nextOffset;
      for (const record of read.records) {
        if (signal?.aborted === true) return;
        announced = record.type === 'run.completed';
        if (record.seq >= from) yield record;
      }
      if (signal?.aborted === true) return;
      if (moved) continue;
      if (over && (announced || isFinal(dir, endedAt ?? 0))) return;
      await bell.wait(over ? 20 : POLL_MS, signal);
    }
  } finally {
    bell.close();
  }
}

function isFinal(dir: RunDir, endedAt: number): boolean {
  return lookAt(dir).type !== 'ended' || performance.now() - endedAt > ANNOUNCEMENT_MS;
}

function mustFind(idOrPrefix: string, place: Place): { dir: RunDir } {
  const found = find(idOrPrefix, place);
  if (found.type === 'found') return found;
  throw new CoxswainError(found.type === 'missing' ? 'run-missing' : 'run-ambiguous', describeNotFound(found));
}

/** What to tell a person whose run was not found. */
export function describeNotFound(found: NotFound): string {
  switch (found.type) {
    case 'missing':
      return `there is no run '${found.id}' in ${found.root}`;
    case 'ambiguous': {
      const { id, ids } = found;
      const more = ids.length > 5 ? ` and ${ids.length - 5} more` : '';
      return `'${id}' could be ${ids.slice(0, 5).join(', ')}${more}: give more of the id`;
    }
  }
}
