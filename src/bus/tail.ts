import type { JournalBody, JournalRecord } from '../../machines/protocol.ts';
import type { Synced, TailOptions } from './bus.ts';
import { isAborted, type Signal } from './signal.ts';

/** The journal of a run, as far as the bus needs it. */
export interface EventLog {
  /** Number of the last record. */
  readonly seq: number;
  /** Number of the oldest record in memory; `seq + 1` when there is none. All that are not in the file are in memory. */
  readonly oldestInMemory: number;
  append(body: JournalBody): JournalRecord;
  /** Records after a number from memory, or null when some of them are only in the file. */
  recent(seq: number): JournalRecord[] | null;
  /** The next part of the file, from a byte offset. */
  page(offset: number): { records: JournalRecord[]; nextOffset: number };
  onAppend(listener: (record: JournalRecord) => void): () => void;
  sync(): Promise<Exclude<Synced, { type: 'no-run' }>>;
}

export interface TailSource {
  log: Pick<EventLog, 'seq' | 'oldestInMemory' | 'recent' | 'page'>;
  /** Wakes at each append and when the run ends. */
  changed: Signal;
  ended: () => boolean;
}

/**
 * Follows a log. The reader's only state is its place, so a slow one costs nothing: what it has missed is in memory
 * when it is near, and in the file when it is not.
 */
export async function* tail(source: TailSource, { from = 1, signal }: TailOptions): AsyncGenerator<JournalRecord> {
  const { log, changed, ended } = source;
  let last = from - 1;
  let offset = 0;
  while (!isAborted(signal)) {
    let found = log.recent(last);
    if (found === null) {
      const page = log.page(offset);
      found = page.records.filter((record) => record.seq > last);
      // What is neither in the file nor in memory was lost with a full disk: go on with what there is.
      if (page.nextOffset === offset) last = log.oldestInMemory - 1;
      offset = page.nextOffset;
    }
    for (const record of found) {
      last = record.seq;
      yield record;
      if (isAborted(signal)) return;
    }
    if (log.seq > last) continue;
    if (ended()) return;
    await changed.next(signal);
  }
}
