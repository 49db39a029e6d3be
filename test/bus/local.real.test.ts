import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Status } from '../../machines/protocol.ts';
import { createLocalBus } from '../../src/bus/index.ts';
import { type JournalFiles, openJournal } from '../../src/record/index.ts';
import { journalFiles } from '../../src/record/journal.ts';
import { body, tempFolder } from '../record/support.ts';
import { busConformance, type BusRig } from './conformance.ts';

busConformance('the bus within a process', async (): Promise<BusRig> => {
  const bus = createLocalBus();
  const folder = tempFolder();
  return {
    bus,
    async open(run) {
      const journal = openJournal(join(folder, `${run}.jsonl`), { epoch: 1, firstSeq: 1 });
      onTestFinished(() => void journal.close());
      let current: Status | null = null;
      const attachment = bus.attach(run, { journal, currentStatus: () => current });
      return {
        publish(status) {
          current = status;
          bus.putStatus(run, status);
        },
        async end() {
          attachment.end();
        },
      };
    },
  };
});

test('attaching twice is a bug; detaching forgets', async () => {
  const bus = createLocalBus();
  const journal = openJournal(join(tempFolder(), 'x.jsonl'), { epoch: 1, firstSeq: 1 });
  const parts = { journal, currentStatus: () => null };
  const attachment = bus.attach('r1', parts);
  expect(() => bus.attach('r1', parts)).toThrow('attached already');
  attachment.detach();
  expect(bus.append('r1', 0, body(1))).toEqual({ type: 'no-run' });
  bus.attach('r1', parts).detach();
  journal.close();
});

test('a tail goes on while the disk is full, and over what was lost with it', async () => {
  let full = false;
  const files: JournalFiles = {
    ...journalFiles,
    write(...args) {
      if (full) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
      return journalFiles.write(...args);
    },
  };
  const journal = openJournal(join(tempFolder(), 'x.jsonl'), { epoch: 1, firstSeq: 1, files, maxWaitingBytes: 500 });
  const bus = createLocalBus();
  const attachment = bus.attach('r1', { journal, currentStatus: () => null });
  const tail = bus.events('r1')[Symbol.asyncIterator]();
  journal.append(body(1));
  expect(journal.flush()).toEqual({ type: 'ok' });
  expect((await tail.next()).value).toMatchObject({ seq: 1 });
  full = true;
  journal.append(body(2));
  expect(journal.flush().type).toBe('trouble');
  expect((await tail.next()).value).toMatchObject({ seq: 2 });
  for (let n = 3; n <= 100; n += 1) journal.append(body(n));
  full = false;
  journal.flush();
  for (let n = 101; n <= 5000; n += 1) {
    journal.append(body(n));
    if (n % 500 === 0) journal.flush();
  }
  attachment.end();
  const rest: number[] = [];
  for (let next = await tail.next(); next.done !== true; next = await tail.next()) rest.push(next.value.seq);
  expect(rest.at(-1)).toBe(5000);
  expect(rest).toEqual(rest.toSorted((a, b) => a - b));
  expect(rest.length).toBeLessThan(4998);
  journal.close();
});
