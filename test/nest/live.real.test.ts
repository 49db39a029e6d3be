import { mkdtempSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { Status } from '../../machines/protocol.ts';
import { start } from '../../src/index.ts';
import { enterNest } from '../../src/nest/index.ts';
import { runDir } from '../../src/record/index.ts';
import { proofOf, sleeper, startRun } from '../runtime/rig.ts';
import { MAIN, attempt, openCli, until } from '../support/cli.ts';
import { deadOwner, statusOf } from '../support/made-run.ts';
import { addRun, childOf, makeNest, tampered } from './support.ts';

/** What a runner shows of the runs below it, and how what happens to it reaches them. */

const statusAt = (root: string, id: string): Status =>
  JSON.parse(readFileSync(runDir(root, id).status, 'utf8')) as Status;

const timeOf = (seq: number): string => new Date(seq).toISOString();

const filesIn = (folder: string): number =>
  readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => !entry.isDirectory()).length;

test('S064: three thousand updates of a nested run leave one slot and two lines in its parent', async () => {
  const rig = startRun({ version: 1, steps: [sleeper('a')] });
  await rig.recorded('attempt.started');
  const { nest } = rig.runtime.kit;
  if (enterNest({ env: childOf(nest), run: 'below' }).type !== 'nested') throw new Error('not let in');
  const below = addRun(rig.root, 'below');
  const shown = () => rig.runtime.status().nested;
  const shows = (seq: number) => until(() => shown()?.runs[0]?.updatedAt === timeOf(seq), `update ${seq} is shown`);
  const says = (seq: number, changes: Partial<Status> = {}): void => {
    const status = statusOf('below', { seq, owner: deadOwner(), updatedAt: timeOf(seq), ...changes });
    writeFileSync(`${below.status}.1`, JSON.stringify(status));
    renameSync(`${below.status}.1`, below.status);
  };
  for (let seq = 1; seq <= 1_500; seq += 1) says(seq);
  await shows(1_500);
  for (let seq = 1_501; seq <= 3_000; seq += 1) says(seq);
  await shows(3_000);
  expect(shown()).toMatchObject({ total: 1, runs: [{ id: 'below', state: 'running', counts: { running: 1 } }] });
  await until(
    () => attempt(() => statusAt(rig.root, 'r1'))?.nested?.runs[0]?.updatedAt === timeOf(3_000),
    'it is in the file, too',
  );
  expect(filesIn(rig.dir.path)).toBeLessThan(50);
  expect(readdirSync(rig.dir.nest)).toEqual(['1.json']);

  // What has ended has ended, whatever the file says after that.
  says(3_001, { state: 'completed', name: 'done' });
  await rig.recorded('nested.ended');
  says(3_002, { state: 'running', name: 'undone' });
  rig.stop();
  await rig.ended;
  expect(statusAt(rig.root, 'r1').nested).toMatchObject({ total: 1, runs: [{ state: 'completed', name: 'done' }] });
  const told = rig.records.filter(({ type }) => type.startsWith('nested.'));
  expect(told.map(({ type }) => type)).toEqual(['nested.started', 'nested.ended']);
  // It says that it goes on, so it was told to stop; its process is gone, so nobody waited for it.
  expect(proofOf(rig).signals[0]).toMatchObject({ rung: 'stop-nested', targets: 1 });
  expect(readdirSync(below.control).filter((name) => name.endsWith('.json'))).toHaveLength(1);
});

test('a step that is interrupted pauses what it has started; the rest goes on', async () => {
  const root = mkdtempSync(join(tmpdir(), 'coxswain-live-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const nested = [process.execPath, MAIN, 'run', '--id', 'below', '--', 'sleep', '600'];
  const plan = { version: 1 as const, steps: [{ id: 'a', run: nested }, sleeper('b')] };
  await using run = await start({ plan }, { root, id: 'top' });
  await until(() => attempt(() => statusAt(root, 'below'))?.steps[0]?.pid, 'the nested run works');
  expect(await run.interrupt({ step: 'a' })).toMatchObject({ verdict: 'applied' });
  await until(() => run.status().steps[0]?.state === 'paused', 'the step is paused');
  const below = statusAt(root, 'below');
  expect(below).toMatchObject({ state: 'paused', cause: { type: 'interrupt', source: 'ancestor:top' } });
  expect(below.parent).toEqual({ run: 'top', step: 'a', attempt: 1, depth: 1 });
  expect(run.status()).toMatchObject({ state: 'running', steps: [{}, { state: 'running' }] });
  await run.stop();
  await run.ended();
  expect(run.status().nested).toMatchObject({ total: 1, runs: [{ id: 'below', state: 'paused' }] });
});

test('a start that is refused has made nothing, and says why with exit code 2', async () => {
  await using cli = openCli();
  for (const [env, words] of [
    [{ COXSWAIN_NEST: 'garbage' }, 'cannot be read'],
    [tampered(makeNest().nest, { token: 'another' }), 'another owner'],
  ] as const) {
    const ended = await cli.run(['run', '--', 'true'], { env });
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(words) });
    expect(cli.ids()).toEqual([]);
  }
  const { nest } = makeNest();
  const foreign = await cli.run(['run', '--root', join(cli.cwd, 'other'), '--', 'true'], { env: childOf(nest) });
  expect(foreign).toMatchObject({ code: 2, stderr: expect.stringContaining('leave --root out') });
});
