import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Command } from '../../machines/protocol.ts';
import type { Receipt, Written } from '../../src/record/index.ts';
import { until } from '../record/support.ts';
import { applied, entries, freshDir, openRig } from './rig.ts';

const COUNT = 10_000;
const BLOCKED_MS = 2_000;

/** Drops so many commands of every kind, the stop among the last of them, and then says that it has. */
const SENDER = `
  const { writeFileSync, renameSync } = require('node:fs');
  const [temp, control, count, done] = process.argv.slice(1);
  const kinds = ['interrupt', 'resume', 'extend', 'answer', 'steer'];
  const more = { extend: { deadline: '1h' }, answer: { ask: 'q', text: 'yes' }, steer: { text: 'hello' } };
  for (let n = 0; n < count; n += 1) {
    const type = n === count - 3 ? 'stop' : kinds[n % kinds.length];
    const name = String(n).padStart(6, '0') + '.json';
    writeFileSync(temp + '/' + name, JSON.stringify({ v: 1, type, ...more[type] }));
    renameSync(temp + '/' + name, control + '/' + name);
  }
  writeFileSync(done, '');`;

/** For how long this thread was ready to run and another had the processor, in milliseconds; 0 where nobody tells. */
function crowdedOutMs(): number {
  try {
    return Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[1]) / 1e6;
  } catch {
    return 0;
  }
}

test('10,000 files while the loop is blocked: none lost, none twice, the stop within a second of its return', async () => {
  const dir = freshDir();
  const delivered: string[] = [];
  const finals = new Map<string, number>();
  let stoppedAt = 0;
  let crowdedMs = 0;
  let crowdedBefore = 0;
  let receiptsBefore = -1;
  const rig = openRig(
    {
      deliver: ({ id, type }: Command) => {
        delivered.push(id);
        if (type === 'stop') {
          stoppedAt = performance.now();
          crowdedMs = crowdedOutMs() - crowdedBefore;
          receiptsBefore = finals.size;
        }
        rig.inbox.answer(applied(id, type));
      },
      // Where a receipt goes is another test's: ten thousand flushes to disk take longer than this one may.
      write: (_path: string, { id, final }: Receipt): Promise<Written> => {
        if (final) finals.set(id, (finals.get(id) ?? 0) + 1);
        return Promise.resolve({ type: 'ok' });
      },
    },
    dir,
  );
  await until(() => rig.inbox.mode === 'native', 'it watches');
  const done = join(dir.path, 'done');
  const sender = spawn(process.execPath, ['-e', SENDER, dir.controlTemp, dir.control, String(COUNT), done]);
  const ended = once(sender, 'exit');
  const until2s = performance.now() + BLOCKED_MS;
  // Blocked for two seconds, and on a slow machine until everything has been dropped.
  while (performance.now() < until2s || (!existsSync(done) && performance.now() < until2s + 20_000)) {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
  }
  crowdedBefore = crowdedOutMs();
  const back = performance.now();
  await until(() => delivered.length === COUNT && finals.size === COUNT, 'all of them', 30_000);
  await ended;
  const stopMs = stoppedAt - back;
  const allMs = performance.now() - back;
  console.info(
    `stop after ${stopMs.toFixed(0)} ms (${crowdedMs.toFixed(0)} of them others'), all after ${allMs.toFixed(0)} ms`,
  );
  // A machine that is busy with something else is no fault of ours.
  expect(stopMs - crowdedMs).toBeLessThan(1_000);
  expect(receiptsBefore).toBe(0);
  expect(new Set(delivered).size).toBe(COUNT);
  expect([...finals.values()].every((n) => n === 1)).toBe(true);
  await until(() => readdirSync(dir.claimed).length === 0, 'nothing is left');
  expect(entries(dir)).toEqual([]);
  expect(rig.refused).toEqual([]);
});
