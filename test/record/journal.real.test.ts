import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type JournalFiles, openJournal, readJournal, type Trouble } from '../../src/record/index.ts';
import { journalFiles } from '../../src/record/journal.ts';
import { body, tempFolder, until } from './support.ts';

const path = (): string => join(tempFolder(), 'events.jsonl');
const seqs = (file: string): number[] => readJournal(file).records.map((record) => record.seq);

const fail = (code: string): never => {
  throw Object.assign(new Error(`${code}: no room`), { code });
};

/** Real files on a disk with so many bytes of room. */
function smallDisk(room: number) {
  const disk = { room, writes: 0, syncs: 0, failSync: false };
  const files: JournalFiles = {
    ...journalFiles,
    write(fd, data, offset, length) {
      disk.writes += 1;
      if (disk.room === 0) fail('ENOSPC');
      const n = journalFiles.write(fd, data, offset, Math.min(length, disk.room));
      disk.room -= n;
      return n;
    },
    sync(fd) {
      disk.syncs += 1;
      return disk.failSync ? Promise.reject(Object.assign(new Error('EIO'), { code: 'EIO' })) : journalFiles.sync(fd);
    },
  };
  return { disk, files };
}

describe('appending', () => {
  test('numbers records, writes at as ts, and one write takes a whole turn', async () => {
    const file = path();
    const { disk, files } = smallDisk(Infinity);
    const journal = openJournal(file, { epoch: 2, firstSeq: 7, files });
    expect(journal.append(body(1))).toEqual({
      v: 1,
      seq: 7,
      epoch: 2,
      ts: body(1).at,
      type: 'step.started',
      step: 's1',
    });
    for (let n = 2; n <= 100; n += 1) journal.append(body(n));
    expect(journal.seq).toBe(106);
    expect(disk.writes).toBe(0);
    await until(() => disk.writes === 1, 'written');
    expect(seqs(file)).toEqual(Array.from({ length: 100 }, (_, i) => i + 7));
    expect(statSync(file).mode & 0o777).toBe(0o600);
    journal.close();
  });

  test('flush writes now, sync reaches the disk', async () => {
    const file = path();
    const { disk, files } = smallDisk(Infinity);
    const journal = openJournal(file, { epoch: 1, firstSeq: 1, files });
    journal.append(body(1));
    expect(journal.flush()).toEqual({ type: 'ok' });
    expect(seqs(file)).toEqual([1]);
    journal.append(body(2));
    expect(await journal.sync()).toEqual({ type: 'ok' });
    expect(seqs(file)).toEqual([1, 2]);
    expect(disk.syncs).toBe(1);
    journal.close();
  });

  test('a failed flush to disk is reported, and the next one counts', async () => {
    const { disk, files } = smallDisk(Infinity);
    const journal = openJournal(path(), { epoch: 1, firstSeq: 1, files });
    journal.append(body(1));
    disk.failSync = true;
    expect(await journal.sync()).toMatchObject({ type: 'trouble', code: 'EIO' });
    disk.failSync = false;
    expect(await journal.sync()).toEqual({ type: 'ok' });
    journal.close();
  });

  test('a listener hears each record within the append', () => {
    const journal = openJournal(path(), { epoch: 1, firstSeq: 1 });
    const heard: number[] = [];
    const stop = journal.onAppend((record) => heard.push(record.seq));
    journal.append(body(1));
    expect(heard).toEqual([1]);
    stop();
    journal.append(body(2));
    expect(heard).toEqual([1]);
    journal.close();
  });

  test('what comes after close is dropped and told', () => {
    const file = path();
    const troubles: Trouble[] = [];
    const journal = openJournal(file, { epoch: 1, firstSeq: 1, onTrouble: (trouble) => troubles.push(trouble) });
    journal.append(body(1));
    expect(journal.close()).toEqual({ type: 'ok' });
    journal.append(body(2));
    expect(troubles.map((trouble) => trouble.code)).toEqual(['journal-closed']);
    expect(seqs(file)).toEqual([1]);
  });
});

describe('a disk that is full', () => {
  test('the caller never notices; a half-written line is completed when there is room again', async () => {
    const file = path();
    const { disk, files } = smallDisk(150);
    const troubles: string[] = [];
    let restored = 0;
    const journal = openJournal(file, {
      epoch: 1,
      firstSeq: 1,
      files,
      onTrouble: (trouble) => troubles.push(trouble.code),
      onRestored: () => (restored += 1),
    });
    for (let n = 1; n <= 5; n += 1) journal.append(body(n));
    expect(journal.flush()).toMatchObject({ type: 'trouble', code: 'ENOSPC' });
    expect(statSync(file).size).toBe(150);
    expect(readFileSync(file, 'utf8').endsWith('\n')).toBe(false);
    expect(await journal.sync()).toMatchObject({ type: 'trouble', code: 'ENOSPC' });
    journal.append(body(6));
    expect(troubles).toEqual(['ENOSPC']);

    disk.room = Infinity;
    // By itself: nobody appends or flushes any more.
    await until(() => restored === 1, 'the journal tries again');
    expect(seqs(file)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(readJournal(file).corrupt).toEqual([]);
    expect(await journal.sync()).toEqual({ type: 'ok' });
    journal.close();
  });

  test('a record about the trouble may be appended from within the report', () => {
    const file = path();
    const { disk, files } = smallDisk(0);
    const journal = openJournal(file, {
      epoch: 1,
      firstSeq: 1,
      files,
      onTrouble: ({ code }) =>
        void journal.append({ type: 'persistence.degraded', at: body(1).at, line: 'journal', message: code }),
      onRestored: () => void journal.append({ type: 'persistence.restored', at: body(1).at }),
    });
    journal.append(body(1));
    journal.flush();
    disk.room = Infinity;
    journal.flush();
    journal.close();
    expect(readJournal(file).records.map((record) => record.type)).toEqual([
      'step.started',
      'persistence.degraded',
      'persistence.restored',
    ]);
  });

  test('beyond the bound the newest are dropped, and such a journal never passes for complete', async () => {
    const file = path();
    const { disk, files } = smallDisk(0);
    const troubles: string[] = [];
    const journal = openJournal(file, {
      epoch: 1,
      firstSeq: 1,
      files,
      maxWaitingBytes: 300,
      onTrouble: (trouble) => troubles.push(trouble.code),
    });
    journal.append(body(1));
    journal.flush();
    for (let n = 2; n <= 20; n += 1) journal.append(body(n));
    expect(troubles).toEqual(['ENOSPC', 'journal-overflow']);
    disk.room = Infinity;
    expect(await journal.sync()).toMatchObject({ type: 'trouble', code: 'journal-overflow' });
    journal.append(body(21));
    expect(journal.close()).toMatchObject({ code: 'journal-overflow' });
    const kept = seqs(file);
    expect(kept.at(-1)).toBe(21);
    expect(kept.length).toBeLessThan(6);
  });

  test('a journal that cannot even be opened is trouble, not an exception', () => {
    const file = path();
    mkdirSync(file);
    const journal = openJournal(file, { epoch: 1, firstSeq: 1 });
    journal.append(body(1));
    expect(journal.flush()).toMatchObject({ type: 'trouble', code: 'EISDIR' });
    rmSync(file, { recursive: true });
    expect(journal.flush()).toEqual({ type: 'ok' });
    expect(seqs(file)).toEqual([1]);
    journal.close();
  });
});

describe('a second owner', () => {
  test('begins on a line of its own after a half-written one', () => {
    const file = path();
    writeFileSync(
      file,
      `${JSON.stringify({ v: 1, seq: 1, epoch: 1, ts: 't', type: 'run.completed' })}\n{"v":1,"seq":2`,
    );
    const journal = openJournal(file, { epoch: 2, firstSeq: 3 });
    journal.append(body(1));
    journal.close();
    const { records, corrupt } = readJournal(file);
    expect(records.map((record) => [record.seq, record.epoch])).toEqual([
      [1, 1],
      [3, 2],
    ]);
    expect(corrupt).toEqual([{ line: 2, message: 'not JSON' }]);
  });
});

describe('memory of recent records', () => {
  test('serves what is near and says when it has to come from the file', () => {
    const file = path();
    const journal = openJournal(file, { epoch: 1, firstSeq: 1 });
    for (let n = 1; n <= 5000; n += 1) journal.append(body(n));
    journal.flush();
    for (let n = 5001; n <= 10_000; n += 1) journal.append(body(n));
    journal.flush();
    expect(journal.recent(10_000)).toEqual([]);
    expect(journal.recent(9990)?.map((record) => record.seq)).toEqual([
      9991, 9992, 9993, 9994, 9995, 9996, 9997, 9998, 9999, 10_000,
    ]);
    expect(journal.recent(100)).toBeNull();
    expect(journal.page(0).records[0]?.seq).toBe(1);
    journal.close();
  });

  test('keeps everything the file does not have', () => {
    const { files } = smallDisk(0);
    const journal = openJournal(path(), { epoch: 1, firstSeq: 1, files });
    for (let n = 1; n <= 8000; n += 1) journal.append(body(n));
    journal.flush();
    for (let n = 8001; n <= 9000; n += 1) journal.append(body(n));
    expect(journal.recent(0)).toHaveLength(9000);
    journal.close();
  });
});

const line = (seq: number, fill = ''): string =>
  `${JSON.stringify({ v: 1, seq, epoch: 1, ts: 't', type: 'step.started', fill })}\n`;

describe('reading', () => {
  test('no journal has no records', () => {
    expect(readJournal(path())).toEqual({ records: [], nextOffset: 0, corrupt: [] });
  });

  test('from inside a 2 MiB line it goes on at the next newline', () => {
    const file = path();
    const big = line(2, 'ä'.repeat(1024 * 1024));
    writeFileSync(file, line(1) + big + line(3));
    const start = Buffer.byteLength(line(1));
    const inside = readJournal(file, { from: start + 1_000_001 });
    expect(inside.records.map((record) => record.seq)).toEqual([3]);
    expect(inside.corrupt).toEqual([]);
    expect(inside.nextOffset).toBe(statSync(file).size);
    expect(readJournal(file, { from: start }).records.map((record) => record.seq)).toEqual([2, 3]);
    // A line longer than what is read at once is still one line.
    expect(readJournal(file, { from: start, maxBytes: 4096 }).records.map((record) => record.seq)[0]).toBe(2);
  });

  test('a half-written last line is left for the next read', () => {
    const file = path();
    const half = line(2).slice(0, 20);
    writeFileSync(file, line(1) + half);
    const first = readJournal(file);
    expect(first.records.map((record) => record.seq)).toEqual([1]);
    expect(first.nextOffset).toBe(Buffer.byteLength(line(1)));
    appendFileSync(file, line(2).slice(20));
    const second = readJournal(file, { from: first.nextOffset });
    expect(second.records.map((record) => record.seq)).toEqual([2]);
    expect(readJournal(file, { from: second.nextOffset })).toEqual({
      records: [],
      nextOffset: second.nextOffset,
      corrupt: [],
    });
  });

  test('in pages of any size the same records, once each, and every offset is the start of a line', () => {
    const file = path();
    writeFileSync(file, Array.from({ length: 500 }, (_, i) => line(i + 1, 'x'.repeat((i * 37) % 900))).join(''));
    const text = readFileSync(file);
    const seen: number[] = [];
    for (let from = 0; ;) {
      const page = readJournal(file, { from, maxBytes: 3000 });
      if (page.records.length === 0) break;
      seen.push(...page.records.map((record) => record.seq));
      expect(text[page.nextOffset - 1]).toBe(10);
      from = page.nextOffset;
    }
    expect(seen).toEqual(Array.from({ length: 500 }, (_, i) => i + 1));
  });

  test('what is no record is named and never quoted', () => {
    const file = path();
    const bad = ['sentinel-secret', '[]', '{"v":2}', '{"v":1,"seq":"1"}', '{"v":1,"seq":1,"epoch":1}', ''];
    writeFileSync(file, `${bad.join('\n')}\n${line(9)}`);
    const { records, corrupt } = readJournal(file);
    expect(records.map((record) => record.seq)).toEqual([9]);
    expect(corrupt.map((fault) => fault.line)).toEqual([1, 2, 3, 4, 5]);
    expect(JSON.stringify(corrupt)).not.toContain('sentinel');
  });
});
