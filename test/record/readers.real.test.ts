import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createRunDir, findRun, listRuns, readResult, readRun, runDir, writeDurable } from '../../src/record/index.ts';
import { at, statusOf, tempFolder } from './support.ts';

async function withRuns(ids: string[]): Promise<string> {
  const root = tempFolder();
  for (const [n, id] of ids.entries()) {
    createRunDir(root, id, {});
    await writeDurable(runDir(root, id).status, { ...statusOf(id), startedAt: `2026-12-01T10:00:0${9 - n}.000Z` });
  }
  return root;
}

describe('one run', () => {
  test('read, missing, and not written yet', async () => {
    const root = await withRuns(['r1']);
    expect(readRun(root, 'r1')).toMatchObject({ type: 'ok', id: 'r1', status: { id: 'r1', state: 'running' } });
    expect(readRun(root, 'r2')).toEqual({ type: 'missing', id: 'r2' });
    expect(readRun(join(root, 'nowhere'), 'r1').type).toBe('missing');
    createRunDir(root, 'r2', {});
    expect(readRun(root, 'r2')).toMatchObject({ type: 'unwritten', since: expect.stringMatching(/^20/) as unknown });
  });

  test.each([
    ['', 'it is empty'],
    ['{"v":1', 'it is not a JSON object'],
    ['[]', 'it is not a JSON object'],
    ['{}', 'its version (v) is not 1'],
    [JSON.stringify({ ...statusOf('other') }), "'id' is not r1"],
    [JSON.stringify({ ...statusOf('r1'), state: 'toString' }), "'state' is not a state of a run"],
    [JSON.stringify({ ...statusOf('r1'), steps: {} }), "'steps' is not an array"],
  ])('%j is corrupt', async (text, reason) => {
    const root = await withRuns(['r1']);
    const path = runDir(root, 'r1').status;
    writeFileSync(path, text);
    expect(readRun(root, 'r1')).toMatchObject({ type: 'corrupt', path, reason });
  });

  test('a newer version is told apart from a broken file', async () => {
    const root = await withRuns(['r1']);
    writeFileSync(runDir(root, 'r1').status, '{"v":2,"anything":true}');
    expect(readRun(root, 'r1')).toMatchObject({ type: 'newer', version: 2 });
  });

  test('its result', async () => {
    const dir = runDir(await withRuns(['r1']), 'r1');
    expect(readResult(dir)).toEqual({ type: 'missing' });
    await writeDurable(dir.result, { v: 1, id: 'r1', state: 'failed', epoch: 1, endedAt: at, steps: [] });
    expect(readResult(dir)).toMatchObject({ type: 'ok', value: { state: 'failed' } });
  });
});

describe('all runs', () => {
  test('oldest first, the corrupt ones named beside the good', async () => {
    const root = await withRuns(['a', 'b', 'c', 'd']);
    writeFileSync(runDir(root, 'b').status, '{');
    writeFileSync(runDir(root, 'd').status, '{"v":3}');
    createRunDir(root, 'e', {});
    mkdirSync(join(root, 'runs', '.hidden'));
    writeFileSync(join(root, 'runs', 'stray-file'), '');
    const list = listRuns(root);
    expect(list.runs.map((run) => run.id)).toEqual(['c', 'a']);
    expect(list.corrupt).toMatchObject([{ id: 'b', path: runDir(root, 'b').status }]);
    expect(list.newer).toMatchObject([{ id: 'd', version: 3 }]);
    expect(list.unwritten.map((run) => run.id)).toEqual(['e']);
  });

  test('no root, no runs; an unreadable one is named', () => {
    const root = tempFolder();
    expect(listRuns(root)).toEqual({ runs: [], unwritten: [], corrupt: [], newer: [] });
    writeFileSync(join(root, 'runs'), '');
    expect(listRuns(root).corrupt).toMatchObject([{ path: join(root, 'runs') }]);
  });
});

describe('the run a person means', () => {
  test('exact before prefix, and a prefix only when it is one', async () => {
    const root = await withRuns(['build', 'build-2', 'check']);
    expect(findRun(root, 'build')).toMatchObject({ type: 'found', id: 'build' });
    expect(findRun(root, 'ch')).toMatchObject({ type: 'found', id: 'check' });
    expect(findRun(root, 'bu')).toEqual({ type: 'ambiguous', ids: ['build', 'build-2'] });
    for (const nothing of ['x', '', '..', '../runs/check', 'build/'])
      expect(findRun(root, nothing)).toEqual({ type: 'none' });
    // A run that cannot be read is still the one that was meant.
    rmSync(runDir(root, 'check').status);
    expect(findRun(root, 'check').type).toBe('found');
  });
});
