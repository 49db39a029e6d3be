import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { type Rig, startRun } from './rig.ts';
import { expectTruth } from '../support/truth.ts';

/** The check that every run's record is held against: it finds each kind of lie. */

const edit = (path: string, change: (text: string) => string): void =>
  writeFileSync(path, change(readFileSync(path, 'utf8')));

const lastSeq = ({ records }: Rig): number => records.at(-1)?.seq ?? 0;

const lies: Record<string, (rig: Rig) => void> = {
  'another state': ({ dir }) => edit(dir.status, (text) => text.replace('"state":"completed"', '"state":"failed"')),
  'an early status': ({ dir }) => edit(dir.status, (text) => text.replace(/"seq":\d+/, '"seq":3')),
  'another result': ({ dir }) => edit(dir.result, (text) => text.replace('"completed"', '"stopped"')),
  'a second end': (rig) => {
    const settled = rig.records.find((one) => one.type === 'run.settled');
    appendFileSync(rig.dir.journal, `${JSON.stringify({ ...settled, seq: lastSeq(rig) + 1 })}\n`);
  },
  'a launch without an end': (rig) => {
    const launching = rig.records.find((one) => one.type === 'attempt.launching');
    const more = { ...launching, attempt: 2, seq: lastSeq(rig) + 1 };
    appendFileSync(rig.dir.journal, `${JSON.stringify(more)}\n`);
  },
  'a gap': (rig) => {
    const completed = rig.records.at(-1);
    appendFileSync(rig.dir.journal, `${JSON.stringify({ ...completed, seq: lastSeq(rig) + 2 })}\n`);
  },
  'a file that others can read': ({ dir }) => chmodSync(dir.report, 0o644),
  'a folder that others can enter': ({ dir }) => chmodSync(dir.attempts, 0o755),
  'still listed as active': ({ dir }) => writeFileSync(dir.activeMarker, '', { mode: 0o600 }),
  'a dead letter': ({ inspector }) => void inspector.deadLetters.push('attempt <- child.active'),
  'an event nobody handles': ({ inspector }) => void inspector.unhandled.push('attempt <- child.active'),
};

test.each(Object.entries(lies))('%s', async (_, lie) => {
  const rig = startRun({ version: 1, steps: [{ id: 'a', run: ['true'] }] });
  await rig.ended;
  expectTruth(rig);
  lie(rig);
  expect(() => expectTruth(rig)).toThrow(/expected/);
});

test('a process that is still there', async () => {
  const rig = startRun({ version: 1, steps: [{ id: 'a', run: ['true'] }] });
  await rig.ended;
  const token = rig.records.flatMap((one) => (one.type === 'attempt.launching' ? [one.token] : []))[0] ?? '';
  const left: ChildProcess = spawn('sleep', ['60'], { env: { ...process.env, COXSWAIN_TOKEN: `other,${token}` } });
  onTestFinished(async () => {
    left.kill('SIGKILL');
    await once(left, 'exit');
  });
  await once(left, 'spawn');
  expect(() => expectTruth(rig)).toThrow('processes with a token');
});
