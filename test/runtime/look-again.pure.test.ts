import { expect, test } from 'vitest';
import type { JournalRecord } from '../../machines/protocol.ts';
import { launchesIn } from '../../src/runtime/recorded.ts';

const head = (seq: number, epoch = 1) => ({ v: 1 as const, seq, epoch, ts: '2026-12-01T10:00:00.000Z' });
const launching = (seq: number, step: string, attempt: number, epoch = 1): JournalRecord => ({
  ...head(seq, epoch),
  type: 'attempt.launching',
  step,
  attempt,
  token: `${step}${attempt}`,
  agent: 'command',
});
const started = (seq: number, step: string, attempt: number, pid: number): JournalRecord => ({
  ...head(seq),
  type: 'attempt.started',
  step,
  attempt,
  pid,
  startTime: 7,
});

test('every launch of a journal is known, with the process it became, if that is on record', () => {
  const records = [
    launching(1, 'a', 1),
    launching(2, 'b', 1),
    started(3, 'b', 1, 20),
    started(4, 'a', 1, 10),
    launching(5, 'a', 2, 2),
    // Of a launch that is not on record: nothing is known of it but a number.
    started(6, 'c', 1, 30),
  ];
  expect(launchesIn(records)).toEqual([
    { step: 'a', attempt: 1, epoch: 1, token: 'a1', leader: { pid: 10, startTime: 7 } },
    { step: 'b', attempt: 1, epoch: 1, token: 'b1', leader: { pid: 20, startTime: 7 } },
    { step: 'a', attempt: 2, epoch: 2, token: 'a2', leader: null },
  ]);
});
