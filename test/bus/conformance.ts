import { describe, expect, test } from 'vitest';
import type { Answer, JournalRecord, Status } from '../../machines/protocol.ts';
import { type Bus, type CommandEnvelope, commandEnvelope } from '../../src/bus/index.ts';
import { at, body, statusOf } from '../record/support.ts';

/** A bus with whatever it needs, and the owner's side of its runs. */
export interface BusRig {
  bus: Bus;
  /** Makes this process the owner of a run whose log is empty. */
  open: (run: string) => Promise<OwnedRun>;
}

export interface OwnedRun {
  /** Publishes a status, as the projector does. */
  publish(status: Status): void;
  /** The run has ended. */
  end(): Promise<void>;
}

const stop = (run: string, id: string, reason?: string): CommandEnvelope =>
  commandEnvelope(run, { id, type: 'stop', source: 'test', ...(reason === undefined ? {} : { reason }) }, at);

const verdict = (id: string, over: Partial<Answer> = {}): Answer => ({
  id,
  command: 'stop',
  verdict: 'applied',
  at,
  ...over,
});

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

async function first<T>(items: AsyncIterable<T>, count: number): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) {
    list.push(item);
    if (list.length === count) break;
  }
  return list;
}

const seqs = (records: JournalRecord[]): number[] => records.map((record) => record.seq);
const numbers = (from: number, to: number): number[] => Array.from({ length: to - from + 1 }, (_, i) => from + i);

function appendAll(bus: Bus, run: string, from: number, to: number): void {
  for (let n = from; n <= to; n += 1) bus.append(run, n - 1, body(n));
}

/** What every bus guarantees. `factory` makes a fresh one and sees to its end. */
export function busConformance(name: string, factory: () => Promise<BusRig>): void {
  describe(`${name}: commands`, () => {
    test('reach the consumer in order, those sent before it came first', async () => {
      const { bus, open } = await factory();
      await open('r1');
      for (const id of ['a', 'b']) expect(await bus.send(stop('r1', id))).toEqual({ type: 'accepted', id });
      const got: string[] = [];
      bus.consume('r1', (envelope) => got.push(envelope.id));
      for (const id of ['c', 'd']) await bus.send(stop('r1', id));
      expect(got).toEqual(['a', 'b', 'c', 'd']);
    });

    test('one sent while another is handled comes after it', async () => {
      const { bus, open } = await factory();
      await open('r1');
      const got: string[] = [];
      bus.consume('r1', ({ id }) => {
        got.push(`${id} begins`);
        if (id === 'a') void bus.send(stop('r1', 'b'));
        got.push(`${id} ends`);
      });
      await bus.send(stop('r1', 'a'));
      expect(got).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
    });

    test('are delivered once an id; other content under it is a conflict', async () => {
      const { bus, open } = await factory();
      await open('r1');
      const got: string[] = [];
      bus.consume('r1', (envelope) => got.push(envelope.id));
      await bus.send(stop('r1', 'a'));
      expect(await bus.send(stop('r1', 'a'))).toEqual({ type: 'duplicate', id: 'a' });
      expect(await bus.send(stop('r1', 'a', 'changed'))).toEqual({ type: 'conflict', id: 'a' });
      expect(got).toEqual(['a']);
    });

    test('are not lost when a consumer stops and another begins', async () => {
      const { bus, open } = await factory();
      await open('r1');
      const one: string[] = [];
      const two: string[] = [];
      const end = bus.consume('r1', ({ id }) => one.push(id));
      await bus.send(stop('r1', 'a'));
      end();
      await bus.send(stop('r1', 'b'));
      bus.consume('r1', ({ id }) => two.push(id));
      await bus.send(stop('r1', 'c'));
      expect([one, two]).toEqual([['a'], ['b', 'c']]);
    });

    test('are refused where there is no run, when it has ended, and when too many wait', async () => {
      const { bus, open } = await factory();
      expect(await bus.send(stop('nobody', 'a'))).toMatchObject({ type: 'refused', reason: 'no-run' });
      const run = await open('r1');
      for (let n = 0; n < 256; n += 1) await bus.send(stop('r1', `c${n}`));
      expect(await bus.send(stop('r1', 'more'))).toMatchObject({ type: 'refused', reason: 'queue-full' });
      let got = 0;
      bus.consume('r1', () => (got += 1));
      expect(got).toBe(256);
      // Refused is not accepted: the same id may come again.
      expect(await bus.send(stop('r1', 'more'))).toMatchObject({ type: 'accepted' });
      await run.end();
      expect(await bus.send(stop('r1', 'late'))).toMatchObject({ type: 'refused', reason: 'run-ended' });
    });
  });

  describe(`${name}: the log`, () => {
    test('grows only from where the appender thinks it is', async () => {
      const { bus, open } = await factory();
      await open('r1');
      expect(bus.append('r1', 0, body(1))).toMatchObject({ type: 'appended', record: { seq: 1, step: 's1' } });
      expect(bus.append('r1', 0, body(9))).toEqual({ type: 'conflict', seq: 1 });
      expect(bus.append('r1', 5, body(9))).toEqual({ type: 'conflict', seq: 1 });
      expect(bus.append('r1', 1, body(2))).toMatchObject({ type: 'appended', record: { seq: 2 } });
      expect(bus.append('nobody', 0, body(1))).toEqual({ type: 'no-run' });
      expect(await bus.sync('r1')).toEqual({ type: 'ok' });
      expect(await bus.sync('nobody')).toEqual({ type: 'no-run' });
      expect(seqs(await first(bus.events('r1'), 2))).toEqual([1, 2]);
    });

    test('is followed without gap or repeat, from anywhere, while it grows', async () => {
      const { bus, open } = await factory();
      const run = await open('r1');
      appendAll(bus, 'r1', 1, 50);
      const early = all(bus.events('r1'));
      const middle = all(bus.events('r1', { from: 40 }));
      const ahead = all(bus.events('r1', { from: 140 }));
      for (let n = 51; n <= 150; n += 1) {
        appendAll(bus, 'r1', n, n);
        // Turns of the loop between them, so that readers catch up and wait.
        if (n % 7 === 0) await bus.sync('r1');
      }
      const late = all(bus.events('r1', { from: 1 }));
      await run.end();
      expect(seqs(await early)).toEqual(numbers(1, 150));
      expect(seqs(await middle)).toEqual(numbers(40, 150));
      expect(seqs(await ahead)).toEqual(numbers(140, 150));
      expect(seqs(await late)).toEqual(numbers(1, 150));
    });

    test('waits for a reader that is slow, however far behind', async () => {
      const { bus, open } = await factory();
      const run = await open('r1');
      const slow = bus.events('r1')[Symbol.asyncIterator]();
      appendAll(bus, 'r1', 1, 1);
      const got = [(await slow.next()).value as JournalRecord];
      appendAll(bus, 'r1', 2, 10_000);
      await bus.sync('r1');
      await run.end();
      for (let next = await slow.next(); next.done !== true; next = await slow.next()) got.push(next.value);
      expect(seqs(got)).toEqual(numbers(1, 10_000));
    });

    test('can be read after the run has ended, and nobody waits for more', async () => {
      const { bus, open } = await factory();
      const run = await open('r1');
      appendAll(bus, 'r1', 1, 5);
      await run.end();
      expect(seqs(await all(bus.events('r1', { from: 3 })))).toEqual([3, 4, 5]);
      expect(await all(bus.events('r1', { from: 6 }))).toEqual([]);
      expect(await all(bus.events('nobody'))).toEqual([]);
    });

    test('is let go of when the reader says so', async () => {
      const { bus, open } = await factory();
      await open('r1');
      appendAll(bus, 'r1', 1, 3);
      const abort = new AbortController();
      const got: number[] = [];
      const reading = (async () => {
        for await (const record of bus.events('r1', { signal: abort.signal })) {
          got.push(record.seq);
          if (record.seq === 3) setImmediate(() => abort.abort());
        }
      })();
      await reading;
      expect(got).toEqual([1, 2, 3]);
    });
  });

  describe(`${name}: verdicts`, () => {
    test('a conflict takes nothing from the command that had the id first', async () => {
      const { bus, open } = await factory();
      await open('r1');
      const conflict = verdict('a', { verdict: 'conflict', reason: 'id-reused' });
      expect(bus.answer('r1', conflict).type).toBe('recorded');
      expect(bus.answer('r1', verdict('a')).type).toBe('recorded');
      expect(bus.answer('r1', conflict).type).toBe('recorded');
      expect(bus.answer('r1', verdict('a'))).toEqual({ type: 'already' });
    });

    test('are final, one a command, and found in the log', async () => {
      const { bus, open } = await factory();
      const run = await open('r1');
      const watching = all(bus.answers('r1'));
      expect(bus.answer('r1', verdict('a'))).toMatchObject({ type: 'recorded', record: { seq: 1, id: 'a' } });
      expect(bus.answer('r1', verdict('a', { verdict: 'rejected', reason: 'run-ended' }))).toEqual({ type: 'already' });
      bus.answer('r1', verdict('b', { verdict: 'rejected', reason: 'already-ended' }));
      // One that the owner's machine has recorded itself is one too.
      bus.append('r1', 2, { type: 'command.answered', at, id: 'c', command: 'stop', verdict: 'applied' });
      expect(bus.answer('r1', verdict('c'))).toEqual({ type: 'already' });
      expect(bus.answer('nobody', verdict('a'))).toEqual({ type: 'no-run' });
      await run.end();
      const expected = [verdict('a'), verdict('b', { verdict: 'rejected', reason: 'already-ended' }), verdict('c')];
      expect(await watching).toEqual(expected);
      expect(await all(bus.answers('r1'))).toEqual(expected);
    });
  });

  describe(`${name}: the status`, () => {
    test('is the newest, now and for whoever watches', async () => {
      const { bus, open } = await factory();
      const run = await open('r1');
      expect(bus.status('r1')).toBeNull();
      expect(bus.status('nobody')).toBeNull();
      run.publish(statusOf('r1', 1));
      expect(bus.status('r1')?.seq).toBe(1);
      const watch = bus.watchStatus('r1')[Symbol.asyncIterator]();
      run.publish(statusOf('r1', 2));
      expect((await watch.next()).value).toMatchObject({ seq: 2 });
      for (const seq of [3, 4, 5]) run.publish(statusOf('r1', seq));
      expect((await watch.next()).value).toMatchObject({ seq: 5 });
      const waiting = watch.next();
      run.publish(statusOf('r1', 6));
      expect((await waiting).value).toMatchObject({ seq: 6 });
      run.publish(statusOf('r1', 7));
      await run.end();
      expect((await watch.next()).value).toMatchObject({ seq: 7 });
      expect((await watch.next()).done).toBe(true);
      expect(await all(bus.watchStatus('nobody'))).toEqual([]);
    });

    test('watching ends on request', async () => {
      const { bus, open } = await factory();
      const run = await open('r1');
      run.publish(statusOf('r1', 1));
      const abort = new AbortController();
      const seen: number[] = [];
      for await (const status of bus.watchStatus('r1', { signal: abort.signal })) {
        seen.push(status.seq);
        setImmediate(() => abort.abort());
      }
      expect(seen).toEqual([1]);
    });
  });

  test(`${name}: two runs do not mix`, async () => {
    const { bus, open } = await factory();
    const [one, two] = [await open('r1'), await open('r2')];
    const got: string[] = [];
    bus.consume('r1', ({ id }) => got.push(`r1 ${id}`));
    bus.consume('r2', ({ id }) => got.push(`r2 ${id}`));
    const events = [all(bus.events('r1')), all(bus.events('r2'))];
    // The same ids and numbers in both.
    for (const run of ['r1', 'r2']) {
      await bus.send(stop(run, 'a'));
      appendAll(bus, run, 1, run === 'r1' ? 2 : 3);
      bus.answer(run, verdict('a'));
    }
    one.publish(statusOf('r1', 3));
    two.publish(statusOf('r2', 4));
    expect(got).toEqual(['r1 a', 'r2 a']);
    expect([bus.status('r1')?.seq, bus.status('r2')?.seq]).toEqual([3, 4]);
    await one.end();
    expect(seqs((await events[0]) ?? [])).toEqual([1, 2, 3]);
    expect(bus.append('r2', 4, body(5))).toMatchObject({ type: 'appended' });
    await two.end();
    expect(seqs((await events[1]) ?? [])).toEqual([1, 2, 3, 4, 5]);
  });
}
