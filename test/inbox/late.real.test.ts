import { execFileSync } from 'node:child_process';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import { can, journal, result, send, status, wait, why } from '../../src/client.ts';
import type { Owner, Status } from '../../machines/protocol.ts';
import { leftoversPerRead } from '../../src/inbox/bounds.ts';
import { answerLeftovers } from '../../src/inbox/late/index.ts';
import { readReceipt } from '../../src/inbox/light.ts';
import { type RunDir, runDir } from '../../src/record/index.ts';
import { json, tempFolder } from '../record/support.ts';
import { openCli } from '../support/cli.ts';
import { deadOwner, makeRunDir, ownOwner, statusOf } from '../support/made-run.ts';
import { drop, entries, stop } from './rig.ts';

const at = '2026-12-01T10:00:05.000Z';

/** A run that has ended, as its runner left it. */
function endedRun(changes: Partial<Status> = {}, owner: Owner | null = deadOwner()): RunDir {
  const root = tempFolder();
  const more = owner === null ? {} : { owner };
  const dir = makeRunDir(root, 'r', statusOf('r', { state: 'completed', endedAt: at, ...more, ...changes }));
  for (const path of [dir.control, dir.controlTemp, dir.claimed, dir.receipts, dir.rejected, dir.owners])
    mkdirSync(path, { mode: 0o700 });
  if (owner !== null) writeFileSync(dir.owner(1), JSON.stringify({ v: 1, ...owner }));
  writeFileSync(dir.closed, JSON.stringify({ v: 1, state: 'completed', at }));
  writeFileSync(dir.journal, '');
  return dir;
}

const tooLate = { verdict: 'rejected', reason: 'run-ended', final: true };

test.concurrent('what is dropped after the end is answered by whoever reads the run next', async () => {
  await using cli = openCli();
  expect((await cli.run(['run', '--id', 'r', '--', 'true'])).code).toBe(0);
  const dir = runDir(cli.root, 'r');
  const outside = cli.file('outside.json', JSON.stringify(stop('outside')));
  const before = { journal: readFileSync(dir.journal), outside: statSync(outside), closed: readFileSync(dir.closed) };
  drop(dir, '1.json', stop('given'));
  drop(dir, '2.json', stop());
  drop(dir, '3.json', stop('given'));
  drop(dir, '4.json', stop('given', { reason: 'another' }));
  drop(dir, 'steer.json', { v: 1, type: 'steer', text: 'the secret sentence' });
  drop(dir, 'half.json', '{"v":1,');
  drop(dir, 'large.json', JSON.stringify({ ...stop(), reason: 'x'.repeat(300 * 1024) }));
  drop(dir, 'odd.json', { v: 1, type: 'launch' });
  drop(dir, 'young.json', { v: 2, type: 'stop' });
  drop(dir, 'empty.json', { v: 1, type: 'extend' });
  symlinkSync(outside, join(dir.control, 'link.json'));
  mkdirSync(join(dir.control, 'folder.json'));
  writeFileSync(join(dir.control, 'folder.json', 'inner.json'), JSON.stringify(stop('inner')));
  execFileSync('mkfifo', [join(dir.control, 'pipe.json')]);

  const read = await cli.run(['status', 'r']);
  expect(read).toMatchObject({ code: 0, stderr: '' });
  const receipt = (id: string): unknown => readReceipt(dir, id);
  for (const id of ['given', '2', 'steer']) expect(receipt(id), id).toMatchObject({ ...tooLate, id });
  const conflict = readdirSync(dir.receipts).filter((name) => name.startsWith('given.conflict-'));
  expect(conflict).toHaveLength(1);
  const rejected = {
    half: 'invalid',
    large: 'too-large',
    odd: 'unknown-type',
    young: 'newer-version',
    empty: 'invalid',
    link: 'not-a-file',
    folder: 'not-a-file',
    pipe: 'not-a-file',
  };
  for (const [id, reason] of Object.entries(rejected)) {
    expect(receipt(id), id).toMatchObject({ verdict: 'rejected', reason, final: true });
  }
  // Six notes of what was wrong, and three entries as they were; none of what came too late and was right.
  const aside = readdirSync(dir.rejected).map((name) => name.slice(name.indexOf('~') + 1));
  expect(aside.toSorted()).toEqual(
    Object.keys(rejected)
      .map((id) => `${id}.json`)
      .toSorted(),
  );
  expect(
    lstatSync(
      join(dir.rejected, readdirSync(dir.rejected).find((name) => name.endsWith('~link.json')) ?? ''),
    ).isSymbolicLink(),
  ).toBe(true);
  expect(readFileSync(outside, 'utf8')).toBe(JSON.stringify(stop('outside')));
  expect(statSync(outside)).toMatchObject({ mode: before.outside.mode, mtimeMs: before.outside.mtimeMs });
  expect(existsSync(dir.receipt('inner'))).toBe(false);
  expect(entries(dir)).toEqual(['closed.json']);
  expect(readdirSync(dir.claimed)).toEqual([]);
  expect(readdirSync(dir.controlTemp)).toEqual([]);
  for (const name of readdirSync(dir.receipts)) {
    const path = join(dir.receipts, name);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(readFileSync(path, 'utf8')).not.toContain('secret');
  }
  // The journal of a run that has ended stays what it is, and so does a receipt.
  const first = readdirSync(dir.receipts).map((name) => readFileSync(join(dir.receipts, name), 'utf8'));
  await cli.run(['why', 'r']);
  expect(readdirSync(dir.receipts).map((name) => readFileSync(join(dir.receipts, name), 'utf8'))).toEqual(first);
  expect(readFileSync(dir.journal)).toEqual(before.journal);
  expect(readFileSync(dir.closed)).toEqual(before.closed);
});

const built = (path: string): string => pathToFileURL(join(import.meta.dirname, '../../dist/src', path)).href;
const READERS = 4;
const FILES = leftoversPerRead * 2;

test.concurrent(`${READERS} readers at once give one answer to each`, async () => {
  await using cli = openCli();
  const dir = endedRun();
  // Each command twice, so that two readers can have the same one, too.
  const names = Array.from({ length: FILES }, (_, n) => `${String(n).padStart(3, '0')}.json`);
  for (const [n, name] of names.entries()) drop(dir, name, stop(`s${n >> 1}`));
  // What a reader has left that was killed while it answered.
  writeFileSync(join(dir.claimed, 'dead-1~left.json'), JSON.stringify(stop('left')));
  const script = cli.file(
    'reader.mjs',
    `import { existsSync, writeFileSync } from 'node:fs';
     import { answerLeftovers } from '${built('inbox/late/index.js')}';
     import { runDir } from '${built('record/light.js')}';
     const dir = runDir(${JSON.stringify(dir.root)}, 'r');
     const [number] = process.argv.slice(2);
     writeFileSync('ready-' + number, '');
     const all = Array.from({ length: ${READERS} }, (_, n) => 'ready-' + n);
     while (!all.every((name) => existsSync(name)));
     let answered = 0;
     for (let more = 1; more > 0; answered += more) more = answerLeftovers(dir, () => true).answered;
     console.log(answered);`,
  );
  const readers = await Promise.all(
    Array.from({ length: READERS }, (_, n) => cli.launch([process.execPath, script, String(n)]).ended),
  );
  expect(readers.map(({ code, stderr }) => ({ code, stderr }))).toEqual(
    Array.from({ length: READERS }, () => ({ code: 0, stderr: '' })),
  );
  // Who may end early is a reader to whom the others left nothing: the next one finds nothing.
  status('r', { root: dir.root });
  expect(readers.reduce((sum, { stdout }) => sum + Number(stdout), 0)).toBe(FILES / 2 + 1);
  expect(readdirSync(dir.receipts)).toHaveLength(FILES / 2 + 1);
  for (let n = 0; n < FILES / 2; n += 1) expect(readReceipt(dir, `s${n}`)).toMatchObject(tooLate);
  expect(readReceipt(dir, 'left')).toMatchObject(tooLate);
  expect(entries(dir)).toEqual(['closed.json']);
  expect(readdirSync(dir.claimed)).toEqual([]);
  expect(readdirSync(dir.rejected)).toEqual([]);
});

describe('is answered', () => {
  test.each([
    ['status', (place: { root: string }) => status('r', place)],
    ['wait', (place: { root: string }) => wait('r', place)],
    ['result', (place: { root: string }) => result('r', place)],
    ['journal', (place: { root: string }) => journal('r', place)],
    ['why', (place: { root: string }) => why('r', place)],
    ['can', (place: { root: string }) => can('r', place)],
    ['send', (place: { root: string }) => send('r', { type: 'stop' }, place)],
  ] as const)('by %s', async (_, read) => {
    const dir = endedRun();
    drop(dir, '1.json', stop('s1'));
    await read({ root: dir.root });
    expect(readReceipt(dir, 's1')).toMatchObject(tooLate);
    expect(entries(dir)).toEqual(['closed.json']);
  });

  test('also where the run rests, and where its process is still there', () => {
    for (const dir of [endedRun({ state: 'paused' }), endedRun({}, ownOwner())]) {
      drop(dir, '1.json', stop('s1'));
      status('r', { root: dir.root });
      expect(readReceipt(dir, 's1')).toMatchObject(tooLate);
    }
  });

  test('so many at a reading, however fast, and the others by the next', () => {
    const dir = endedRun();
    for (let n = 0; n < leftoversPerRead * 2 + 1; n += 1) drop(dir, `${n}.json`, stop());
    const read = (): number => answerLeftovers(dir, () => true, Number.POSITIVE_INFINITY).answered;
    expect([read(), read(), read(), read()]).toEqual([leftoversPerRead, leftoversPerRead, 1, 0]);
  });

  test('one at a reading, however slow, and no more than so many are taken', () => {
    const dir = endedRun();
    for (let n = 0; n < leftoversPerRead + 2; n += 1) drop(dir, `${n}.json`, stop());
    const read = (): number => answerLeftovers(dir, () => true, 0).answered;
    expect([read(), read(), read()]).toEqual([1, 1, 1]);
    expect(readdirSync(dir.receipts)).toHaveLength(3);
    expect(readdirSync(dir.claimed).length + entries(dir).length).toBe(leftoversPerRead);
    expect(readdirSync(dir.claimed).length).toBeLessThanOrEqual(leftoversPerRead);
  });

  test('and only then: a receipt that has no place leaves the command to the next', () => {
    const dir = endedRun();
    drop(dir, '1.json', stop('s1'));
    rmSync(dir.receipts, { recursive: true });
    writeFileSync(dir.receipts, 'not a folder');
    status('r', { root: dir.root });
    expect(entries(dir)).toEqual(['1.json', 'closed.json']);
    rmSync(dir.receipts);
    status('r', { root: dir.root });
    expect(json(dir.receipt('s1'))).toMatchObject(tooLate);
  });

  test('in place of an acceptance that nothing came of', () => {
    const dir = endedRun();
    drop(dir, '1.json', stop('s1'));
    writeFileSync(
      dir.receipt('s1'),
      JSON.stringify({ v: 1, id: 's1', type: 'stop', verdict: 'accepted', at, final: false }),
    );
    status('r', { root: dir.root });
    expect(json(dir.receipt('s1'))).toMatchObject(tooLate);
    expect(readdirSync(dir.receipts)).toEqual(['s1.json']);
  });
});

describe('is left alone', () => {
  const cases: Record<string, () => RunDir> = {
    'in a run that goes on': () => endedRun({ state: 'running' }, ownOwner()),
    'in one that is about to end': () => endedRun({ state: 'finalizing' }, ownOwner()),
    'in one whose runner is lost': () => endedRun({ state: 'running' }),
    'in one of another machine': () => endedRun({}, { ...ownOwner(), host: 'another' }),
    'where nobody knows whose it is': () => endedRun({}, null),
    'when somebody has taken the run up again'() {
      const dir = endedRun();
      writeFileSync(dir.owner(2), JSON.stringify({ v: 1, ...ownOwner() }));
      return dir;
    },
    'while the inbox is open'() {
      const dir = endedRun();
      rmSync(dir.closed);
      return dir;
    },
    'where the status cannot be read'() {
      const dir = endedRun();
      writeFileSync(dir.status, '{');
      return dir;
    },
  };
  test.each(Object.entries(cases))('%s', (_, make) => {
    const dir = make();
    drop(dir, '1.json', stop('s1'));
    status('r', { root: dir.root });
    result('r', { root: dir.root });
    expect(entries(dir)).toContain('1.json');
    expect(readdirSync(dir.claimed)).toEqual([]);
    expect(existsSync(dir.receipt('s1'))).toBe(false);
  });

  test.each(['control', 'claimed', 'receipts', 'rejected'] as const)('behind a link in the place of %s', (part) => {
    const dir = endedRun();
    const elsewhere = tempFolder();
    if (part === 'control') {
      for (const name of ['claimed', 'receipts', 'rejected']) mkdirSync(join(elsewhere, name));
      writeFileSync(join(elsewhere, 'closed.json'), readFileSync(dir.closed));
    }
    rmSync(dir[part], { recursive: true });
    symlinkSync(elsewhere, dir[part]);
    drop(dir, '1.json', stop('s1'));
    drop(dir, '2.json', '{');
    const before = readdirSync(elsewhere, { recursive: true });
    status('r', { root: dir.root });
    expect(readdirSync(elsewhere, { recursive: true })).toEqual(before);
    expect(entries(dir)).toContain('1.json');
  });

  test('when the run is taken up again meanwhile: what was claimed is put back', () => {
    const dir = endedRun();
    drop(dir, '1.json', stop('s1'));
    let looks = 0;
    const isOver = (): boolean => (looks += 1) === 1;
    expect(answerLeftovers(dir, isOver)).toEqual({ answered: 0 });
    expect(json(join(dir.control, '1.json'))).toEqual(stop('s1'));
    expect(readdirSync(dir.claimed)).toEqual([]);
    expect(existsSync(dir.receipt('s1'))).toBe(false);
  });
});
