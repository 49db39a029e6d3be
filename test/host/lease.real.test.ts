import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { type LeaseRecord, takeLease } from '../../src/host/index.ts';
import { ownerOfThisProcess } from '../../src/runtime/run.ts';
import { bundle } from '../record/bundle.ts';

let program: string;
let built: string;
beforeAll(async () => {
  built = mkdtempSync(join(tmpdir(), 'coxswain-contender-'));
  program = await bundle(join(import.meta.dirname, 'contender.ts'), built);
});
afterAll(() => rmSync(built, { recursive: true, force: true }));

let root: string;
let session: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'coxswain-lease-'));
  mkdirSync(join(root, 'sessions'));
  session = join(root, 'sessions', 's.jsonl');
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(root, { recursive: true, force: true });
});

const us = ownerOfThisProcess();
let tokens = 0;
function record(change: Partial<LeaseRecord> = {}): LeaseRecord {
  tokens += 1;
  const token = `t${tokens}`;
  return { v: 1, session, owner: us, run: 'r', step: 's', attempt: 1, token, at: new Date().toISOString(), ...change };
}
const dead = { ...us, pid: 2 ** 22 - 1, startTime: 1 };

const take = (change: Partial<LeaseRecord> = {}, gone: boolean | (() => Promise<boolean>) = true) =>
  takeLease({ root, record: record(change), isGone: typeof gone === 'boolean' ? () => Promise.resolve(gone) : gone });
async function taken(change: Partial<LeaseRecord> = {}, gone = true) {
  const result = await take(change, gone);
  if (result.type !== 'ok') throw new Error(JSON.stringify(result));
  return result.lease;
}
const left = (): string[] => readdirSync(join(root, 'leases'), { recursive: true }).map(String);

test('what cannot be given back is left: a release never fails', async () => {
  const lease = await taken();
  const [folder = ''] = readdirSync(join(root, 'leases'));
  rmSync(join(root, 'leases'), { recursive: true });
  // A folder that cannot be listed, whoever asks.
  mkdirSync(join(root, 'leases'));
  writeFileSync(join(root, 'leases', folder), '');
  expect(() => lease.release()).not.toThrow();
});

test('one has it, the next is told who, and it is free when it is given back; nothing is left then', async () => {
  const lease = await taken({ run: 'first', step: 'a', attempt: 2 });
  expect(await take({ run: 'second' })).toMatchObject({
    type: 'busy',
    holder: { why: 'alive', record: { run: 'first', step: 'a', attempt: 2 } },
  });
  lease.release();
  expect(left()).toEqual([]);
  const again = await taken({ run: 'second' });
  expect(again.tookOver).toEqual([]);
  // Nothing comes of giving back what is somebody else's by now.
  lease.release();
  expect(await take()).toMatchObject({ holder: { record: { run: 'second' } } });
});

test('every name of a file is the same session, also of one that is not there yet', async () => {
  symlinkSync(join(root, 'sessions'), join(root, 'other'));
  const lease = await taken();
  expect(await take({ session: join(root, 'other', 's.jsonl') })).toMatchObject({ type: 'busy' });
  expect(await take({ session: join(root, 'sessions', 'another.jsonl') })).toMatchObject({ type: 'ok' });
  lease.release();
  writeFileSync(session, '');
  symlinkSync(session, join(root, 'link.jsonl'));
  await taken({ session: join(root, 'link.jsonl') });
  expect(await take()).toMatchObject({ type: 'busy' });
});

test('of a runner that died it is taken over once nothing is left of the attempt; after a restart at once', async () => {
  await taken({ owner: dead, run: 'dead' });
  expect(await take({}, false)).toMatchObject({ type: 'busy', holder: { why: 'unproven', record: { run: 'dead' } } });
  const lease = await taken({}, true);
  expect(lease.tookOver).toMatchObject([{ run: 'dead' }]);
  lease.release();
  await taken({ owner: { ...us, bootId: 'another' }, run: 'before' });
  const after = await take({}, () => Promise.reject(new Error('asked')));
  expect(after).toMatchObject({ type: 'ok', lease: { tookOver: [{ run: 'before' }] } });
});

test('the same number and another start is another process; another machine is believed', async () => {
  await taken({ owner: { ...us, startTime: (us.startTime ?? 0) - 1 }, run: 'reused' });
  const lease = await taken();
  expect(lease.tookOver).toMatchObject([{ run: 'reused' }]);
  lease.release();
  await taken({ session: `${session}.b`, owner: { ...us, host: 'elsewhere', bootId: 'x' } });
  expect(await take({ session: `${session}.b` })).toMatchObject({ type: 'busy', holder: { why: 'elsewhere' } });
});

test("a lease that is half there, or of a later version, is nobody's to take", async () => {
  await taken();
  const file = left().find((name) => name.endsWith('1.json')) ?? '';
  writeFileSync(join(root, 'leases', file), '{"v":1');
  expect(await take()).toMatchObject({ type: 'busy', holder: { why: 'unreadable', path: join(root, 'leases', file) } });
  writeFileSync(join(root, 'leases', file), '{"v":2}');
  expect(await take()).toMatchObject({ type: 'busy', holder: { why: 'unreadable' } });
});

test('who was overtaken while it judged takes its claim back', async () => {
  await taken({ owner: dead, run: 'dead' });
  const file = join(root, 'leases', left().find((name) => name.endsWith('1.json')) ?? '');
  // While the first asks whether anything is left, another takes it over, gives it back, and a third has it under a new number.
  const slow = take({ run: 'slow' }, async () => {
    if (!existsSync(file)) return true;
    (await taken({ run: 'quick' })).release();
    const third = await taken({ run: 'third' });
    expect(third.record.run).toBe('third');
    return true;
  });
  expect(await slow).toMatchObject({ type: 'busy', holder: { why: 'alive', record: { run: 'third' } } });
  expect(left().filter((name) => name.endsWith('.json'))).toHaveLength(1);
});

test('a claim beside one that came in between is taken back, with what lay there left alone', async () => {
  await taken({ owner: dead, run: 'dead' });
  const file = join(root, 'leases', left().find((name) => name.endsWith('1.json')) ?? '');
  let rounds = 0;
  const slow = take({ run: 'slow' }, async () => {
    rounds += 1;
    // Another contender's file under a number of its own: as one that judged something else has claimed it.
    if (rounds === 1) linkSync(file, file.replace('1.json', '3.json'));
    return Promise.resolve(true);
  });
  // The second look judges both, and takes both over.
  expect(await slow).toMatchObject({ type: 'ok', lease: { tookOver: [{ run: 'dead' }, { run: 'dead' }] } });
  expect(rounds).toBe(3);
});

/** Two real processes, each told line by line. */
function contender(name: string): { child: ChildProcess; say(line: string): Promise<string> } {
  const child = spawn(process.execPath, [program, root, session, join(root, 'guard'), name], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  children.push(child);
  if (child.stdin === null || child.stdout === null) throw new Error('no pipes');
  const { stdin, stdout } = child;
  const lines = createInterface({ input: stdout })[Symbol.asyncIterator]();
  return {
    child,
    async say(line) {
      stdin.write(`${line}\n`);
      const { value } = (await lines.next()) as { value: string };
      return value;
    },
  };
}

test('two processes, 50 rounds at once: never both, and every round somebody', async () => {
  const [a, b] = [contender('a'), contender('b')];
  const seen: Record<string, number> = {};
  for (let round = 1; round <= 50; round += 1) {
    const said = await Promise.all([a.say(String(round)), b.say(String(round))]);
    expect(said).toContain('had');
    for (const word of said) seen[word] = (seen[word] ?? 0) + 1;
  }
  expect(seen['BOTH'] ?? 0).toBe(0);
  expect(left()).toEqual([]);
});

test('kill -9 of who has it: until then the other is told who, and has it afterwards', async () => {
  const [a, b] = [contender('a'), contender('b')];
  expect(await a.say('hold')).toBe('held');
  expect(await b.say('1')).toBe('busy a');
  a.child.kill('SIGKILL');
  await once(a.child, 'exit');
  expect(await b.say('2')).toBe('had');
  expect(left()).toEqual([]);
});
