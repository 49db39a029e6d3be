import { appendFileSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Status } from '../../machines/protocol.ts';
import { find, follow, list, send, status, stop, wait } from '../../src/client.ts';
import { MAIN, openCli } from '../support/cli.ts';
import { deadOwner, makeRunDir, ownOwner, statusOf } from '../support/made-run.ts';

let root = '';
beforeEach(() => (root = mkdtempSync(join(tmpdir(), 'coxswain-client-'))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Replaces the status as its runner does. */
function write(path: string, record: Status | string): void {
  writeFileSync(`${path}.new`, typeof record === 'string' ? record : JSON.stringify(record));
  renameSync(`${path}.new`, path);
}

/** A line of a journal. */
function lineOf(seq: number, type: string): string {
  return `${JSON.stringify({ v: 1, seq, epoch: 1, ts: '2026-12-01T10:00:00.000Z', type })}\n`;
}

describe('wait', () => {
  test.each([
    { state: 'completed', exitCode: 0 },
    { state: 'failed', exitCode: 1 },
    { state: 'stopped', exitCode: 3 },
    { state: 'paused', exitCode: 4 },
  ] as const)('returns within a second of the end: $state', async ({ state, exitCode }) => {
    const dir = makeRunDir(root, 'r', statusOf('r'));
    const waiting = wait('r', { root });
    await Promise.resolve();
    const at = performance.now();
    write(dir.status, statusOf('r', { state }));
    expect(await waiting).toMatchObject({ type: 'ended', exitCode, status: { state } });
    expect(performance.now() - at).toBeLessThan(1000);
  });

  test('tells apart what else can come', async () => {
    const dir = makeRunDir(root, 'r', statusOf('r'));
    expect(await wait('r', { root, timeoutMs: 30 })).toMatchObject({ type: 'timed-out', status: { state: 'running' } });
    const abort = new AbortController();
    const aborted = wait('r', { root, signal: abort.signal });
    abort.abort();
    expect(await aborted).toMatchObject({ type: 'aborted' });
    const corrupt = wait('r', { root });
    write(dir.status, 'not json');
    expect(await corrupt).toMatchObject({ type: 'corrupt', path: dir.status });
    write(dir.status, '{"v":7}');
    expect(await wait('r', { root })).toMatchObject({ type: 'newer', version: 7 });
    expect(await wait('x', { root })).toMatchObject({ type: 'missing', id: 'x' });
  });

  test('S018: the run directory is removed', async () => {
    const dir = makeRunDir(root, 'r', statusOf('r'));
    const waiting = wait('r', { root });
    await Promise.resolve();
    const at = performance.now();
    rmSync(dir.path, { recursive: true });
    expect(await waiting).toEqual({ type: 'gone', id: 'r', directory: dir.path });
    expect(performance.now() - at).toBeLessThan(1000);
  });

  test('the owner is dead: on this machine, or before it was started anew; not when it is elsewhere', async () => {
    const dir = makeRunDir(root, 'r', statusOf('r', { owner: deadOwner() }));
    expect(await wait('r', { root })).toMatchObject({ type: 'owner-lost', owner: deadOwner() });
    write(dir.status, statusOf('r', { owner: { ...ownOwner(), bootId: 'of last week' } }));
    expect(await wait('r', { root })).toMatchObject({ type: 'owner-lost' });
    write(dir.status, statusOf('r', { owner: { ...deadOwner(), host: 'other.example' } }));
    expect(await wait('r', { root, timeoutMs: 20 })).toMatchObject({ type: 'timed-out' });
    expect(status('r', { root })).toMatchObject({ owner: 'elsewhere' });
    // Whoever has ended needs no owner.
    write(dir.status, statusOf('r', { owner: deadOwner(), state: 'completed' }));
    expect(await wait('r', { root })).toMatchObject({ type: 'ended' });
  });

  test('a run that has no status yet is waited for', async () => {
    const dir = makeRunDir(root, 'r', null);
    expect(status('r', { root })).toMatchObject({ type: 'unwritten', owner: 'alive' });
    const waiting = wait('r', { root });
    write(dir.status, statusOf('r', { state: 'completed' }));
    expect(await waiting).toMatchObject({ type: 'ended' });
  });
});

test('follow: what was, then what comes, until the announcement of the end', async () => {
  const dir = makeRunDir(root, 'r', statusOf('r'));
  writeFileSync(dir.journal, lineOf(1, 'run.started') + lineOf(2, 'run.finalizing'));
  const seen: number[] = [];
  for await (const { seq } of follow('r', { root, from: 2 })) {
    seen.push(seq);
    if (seq === 2) {
      appendFileSync(dir.journal, lineOf(3, 'run.settled').slice(0, 10));
      appendFileSync(dir.journal, lineOf(3, 'run.settled').slice(10));
      write(dir.status, statusOf('r', { state: 'completed' }));
    }
    if (seq === 3) appendFileSync(dir.journal, lineOf(4, 'run.completed'));
  }
  expect(seen).toEqual([2, 3, 4]);
  await expect(follow('x', { root }).next()).rejects.toMatchObject({ code: 'run-missing' });
});

test('a command that nobody would read is refused', async () => {
  makeRunDir(root, 'over', statusOf('over', { state: 'failed' }));
  makeRunDir(root, 'lost', statusOf('lost', { owner: deadOwner() }));
  makeRunDir(root, 'bare', statusOf('bare'));
  expect(await stop('over', { root })).toMatchObject({ type: 'refused', reason: 'ended' });
  expect(await stop('lost', { root })).toMatchObject({ type: 'refused', reason: 'owner-lost' });
  expect(await stop('bare', { root })).toMatchObject({ type: 'refused', reason: 'no-control' });
  expect(await send('none', { type: 'stop' }, { root })).toMatchObject({ type: 'missing' });
});

test('an exact id wins over the beginning of others; the root is not made by looking', () => {
  for (const id of ['a', 'ab', 'ac']) makeRunDir(root, id, statusOf(id, { state: 'completed' }));
  expect(find('a', { root })).toMatchObject({ type: 'found', id: 'a' });
  expect(find('', { root })).toMatchObject({ type: 'missing' });
  expect(find('ab', { root })).toMatchObject({ type: 'found', id: 'ab' });
  expect(list({ root }).runs.map(({ id }) => id)).toEqual(['a', 'ab', 'ac']);
  expect(list({ root: join(root, 'none') }).runs).toEqual([]);
});

test('the client loads none of the heavy libraries, whatever it is asked', async () => {
  await using cli = openCli();
  makeRunDir(cli.root, 'r', statusOf('r'));
  const client = pathToFileURL(join(MAIN, '..', '..', 'client.js')).href;
  const script = cli.file(
    'use.mjs',
    `const c = await import(${JSON.stringify(client)});
     const place = { root: ${JSON.stringify(cli.root)} };
     c.list(place); c.status('r', place); c.result('r', place); c.journal('r', place);
     await c.wait('r', { ...place, timeoutMs: 1 });
     console.log((await c.stop('r', { ...place, waitMs: 1 })).type);`,
  );
  const { stdout, stderr } = await cli.node(script, { env: cli.traced() });
  expect(stdout).toBe('refused\n');
  const loaded = stderr.split('\n').filter((line) => line.startsWith('loaded '));
  expect(loaded.some((line) => line.includes('/client/wait.js'))).toBe(true);
  expect(loaded.filter((line) => /node_modules\/(?!ulid\/)/.test(line))).toEqual([]);
});
