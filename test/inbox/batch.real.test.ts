import { execFile } from 'node:child_process';
import { chmodSync, readFileSync, readdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Command, StepPlan } from '../../machines/protocol.ts';
import type { StartWatch } from '../../src/inbox/index.ts';
import type { Receipt, Written } from '../../src/record/index.ts';
import { until } from '../record/support.ts';
import { makeFifo } from '../support/kit.ts';
import { applied, at, drop, entries, freshDir, openRig, stop } from './rig.ts';

const deaf: StartWatch = () => ({ close: () => Promise.resolve() });
const command = (type: string, more: object = {}): object => ({ v: 1, type, ...more });
const step = { id: 'z' } as StepPlan;

describe('a batch', () => {
  test('is read whole, then acted on by kind, within a kind by name; receipts come after', async () => {
    const dir = freshDir();
    // Written in the order in which they must not be acted on.
    drop(dir, '01.json', command('steer', { text: 'hello' }));
    drop(dir, '02.json', command('append', { steps: [{ id: 'z', run: 'true' }] }));
    drop(dir, '03.json', command('answer', { ask: 'q', text: 'yes' }));
    drop(dir, '04.json', command('extend', { deadline: '1h' }));
    drop(dir, '05.json', command('resume'));
    drop(dir, '06.json', command('interrupt'));
    drop(dir, '07.json', stop());
    drop(dir, '08.json', command('dance'));
    drop(dir, '09.json', stop());
    drop(dir, '10.json', command('steer', { text: 'again' }));
    const said: string[] = [];
    const rig = openRig(
      {
        deliver: ({ id, type }) => said.push(`${id} ${type}`),
        resolve: () => ({ type: 'ok', steps: [step] }),
        onRefused: ({ id, verdict }) => said.push(`${id} ${verdict}`),
        write: ({ length }, { id, verdict }): Promise<Written> => {
          said.push(`receipt ${id} ${verdict}`);
          return Promise.resolve(length > 0 ? { type: 'ok' } : { type: 'trouble', code: '', message: '' });
        },
      },
      dir,
    );
    await until(() => said.filter((one) => one.startsWith('receipt')).length === 10, 'every receipt');
    expect(said.slice(0, 10)).toEqual([
      '07 stop',
      '09 stop',
      '06 interrupt',
      '05 resume',
      '04 extend',
      '03 answer',
      '02 append',
      '01 steer',
      '10 steer',
      '08 rejected',
    ]);
    expect(said.slice(10).every((one) => one.startsWith('receipt'))).toBe(true);
    expect(rig.refused).toEqual([]);
  });

  test('gives texts past the machines, and keeps them in the claimed file until they are answered', async () => {
    const rig = openRig();
    const secret = 'sentinel-text-of-a-message';
    drop(rig.dir, 's.json', command('steer', { text: secret, step: 'a', expires: '5m' }));
    await until(() => rig.receipt('s') !== null, 'accepted');
    expect(JSON.stringify(rig.delivered)).not.toContain(secret);
    expect(rig.delivered).toMatchObject([{ type: 'steer', step: 'a', mode: 'auto', expiresMs: 300_000 }]);
    expect(rig.origins).toMatchObject([{ file: 's.json', text: secret }]);
    const [claim = ''] = readdirSync(rig.dir.claimed);
    expect(readFileSync(join(rig.dir.claimed, claim), 'utf8')).toContain(secret);
    rig.inbox.progress({ id: 's', command: 'steer', verdict: 'queued', at });
    await until(() => rig.receipt('s')?.verdict === 'queued', 'queued');
    expect(readdirSync(rig.dir.claimed)).toHaveLength(1);
    rig.inbox.answer({ id: 's', command: 'steer', verdict: 'undelivered', reason: 'expired', at, partial: true });
    rig.inbox.progress({ id: 's', command: 'steer', verdict: 'queued', at });
    await until(() => readdirSync(rig.dir.claimed).length === 0, 'answered');
    expect(rig.receipt('s')).toMatchObject({ verdict: 'undelivered', reason: 'expired', final: true, partial: true });
    expect(JSON.stringify(rig.receipt('s'))).not.toContain(secret);
  });

  test('resolves what is appended after what came before it, and refuses it with the mistakes', async () => {
    const dir = freshDir();
    drop(dir, '1.json', command('append', { steps: [{ id: 'good' }] }));
    drop(dir, '2.json', command('append', { steps: [{ id: 'bad' }] }));
    const rig = openRig(
      {
        resolve: ([first]) =>
          (first as StepPlan).id === 'good'
            ? { type: 'ok', steps: [step] }
            : { type: 'invalid', detail: 'steps[0].needs[0]: there is no step "x".' },
      },
      dir,
    );
    await until(() => rig.receipt('2') !== null, 'refused');
    expect(rig.delivered).toEqual([{ id: '1', type: 'append', source: 'file', steps: [step] }]);
    expect(rig.receipt('2')).toMatchObject({
      verdict: 'rejected',
      reason: 'invalid',
      detail: 'steps[0].needs[0]: there is no step "x".',
      final: true,
    });
    expect(rig.refused).toMatchObject([{ id: '2', reason: 'invalid' }]);
  });

  test('has each id once, whatever the kinds: the first by name has it', async () => {
    const dir = freshDir();
    drop(dir, '1.json', command('steer', { id: 'x', text: 'hello' }));
    drop(dir, '2.json', command('stop', { id: 'x' }));
    drop(dir, '3.json', command('steer', { id: 'x', text: 'hello' }));
    const rig = openRig({}, dir);
    await until(() => rig.refused.length === 1, 'the stop');
    expect(rig.delivered).toMatchObject([{ id: 'x', type: 'steer' }]);
    expect(rig.refused).toMatchObject([{ id: 'x', verdict: 'conflict', command: 'stop' }]);
    rig.inbox.answer(applied('x', 'steer'));
    await until(() => readdirSync(dir.claimed).length === 0, 'all three are gone');
    // The same conflict again keeps its receipt: one that is final never changes.
    const conflict = join(dir.receipts, readdirSync(dir.receipts).find((name) => name.includes('conflict')) ?? '');
    const before = readFileSync(conflict, 'utf8');
    drop(dir, '4.json', command('stop', { id: 'x' }));
    drop(dir, '5.json', stop('y'));
    await until(() => rig.delivered.length === 2, 'the next');
    expect(readFileSync(conflict, 'utf8')).toBe(before);
    expect(rig.refused).toHaveLength(1);
  });
});

describe('names and files that are hard to take', () => {
  test('long names, odd names, and names that are no UTF-8', async () => {
    const dir = freshDir();
    const names = [`${'n'.repeat(250)}.json`, `${'\u20ac'.repeat(80)}.json`, ' ', '..json', '-rf.json', 'a\nb.json'];
    for (const name of names) drop(dir, name, stop());
    const raw = Buffer.concat([Buffer.from(`${dir.control}/`), Buffer.from([0x66, 0xff, 0xfe])]);
    writeFileSync(raw, '{}');
    const rig = openRig({}, dir);
    const hidden = names.filter((name) => name.startsWith('.')).length;
    await until(() => rig.delivered.length === names.length - hidden && rig.refused.length === 1, 'all of them');
    expect(new Set(rig.delivered.map(({ id }) => id)).size).toBe(names.length - hidden);
    expect(rig.refused).toMatchObject([{ reason: 'not-a-file' }]);
    expect(entries(dir)).toEqual(['..json']);
    // After a crash the same ids are answered.
    await rig.inbox.abandon();
    const next = openRig({}, dir);
    await until(() => next.delivered.length === rig.delivered.length, 'taken up again');
    expect(next.delivered.map(({ id }) => id).toSorted()).toEqual(rig.delivered.map(({ id }) => id).toSorted());
  });

  test.skipIf(process.getuid?.() === 0)('what cannot be read is put aside, not thrown away', async () => {
    const dir = freshDir();
    drop(dir, 'secret.json', stop());
    chmodSync(join(dir.control, 'secret.json'), 0);
    const rig = openRig({}, dir);
    await until(() => rig.receipt('secret') !== null, 'answered');
    expect(rig.receipt('secret')).toMatchObject({ reason: 'invalid', detail: 'it cannot be read (EACCES)' });
    expect(readdirSync(dir.rejected)).toHaveLength(1);
  });

  test('a pipe is not waited for', async () => {
    const dir = freshDir();
    makeFifo(join(dir.control, 'pipe.json'));
    drop(dir, 'z.json', stop('z'));
    const rig = openRig({}, dir);
    await until(() => rig.delivered.length === 1 && rig.refused.length === 1, 'both');
    expect(rig.refused).toMatchObject([{ id: 'pipe', reason: 'not-a-file', detail: 'it is a special file' }]);
  });

  test('a control folder that is a link to another one is none', async () => {
    const rig = openRig({ pollMs: 20, safetyMs: 20 });
    const elsewhere = join(rig.dir.path, 'elsewhere');
    renameSync(rig.dir.control, elsewhere);
    symlinkSync(elsewhere, rig.dir.control);
    await until(() => rig.warnings.length > 0, 'it says so');
    expect(rig.warnings[0]?.code).toBe('folder-missing');
  });
});

describe('a folder of which nothing is told', () => {
  test('S067: is looked at all the same: at its time each second, and by the clock on network disks', async () => {
    const silent = openRig({ watch: deaf });
    const remote = openRig({ watch: deaf, poll: true });
    await until(() => remote.inbox.mode === 'polling', 'polling');
    // Later than the first looks.
    await new Promise((resolve) => void setTimeout(resolve, 300));
    const begun = performance.now();
    drop(silent.dir, '1.json', stop());
    drop(remote.dir, '1.json', stop());
    await until(() => remote.delivered.length === 1, 'within a poll');
    expect(performance.now() - begun).toBeLessThan(1_000);
    await until(() => silent.delivered.length === 1, 'within a look at the time');
    expect(performance.now() - begun).toBeLessThan(2_000);
    expect([...silent.warnings, ...remote.warnings]).toEqual([]);
  });

  test('what comes in the same tick of its clock as a look is found by the next', async () => {
    const rig = openRig({ watch: deaf, safetyMs: 20 });
    const ids: string[] = [];
    for (let n = 0; n < 40; n += 1) {
      ids.push(`s${n}`);
      drop(rig.dir, `s${n}.json`, stop());
      await new Promise((resolve) => void setTimeout(resolve, 1 + (n % 7)));
    }
    await until(() => rig.delivered.length === ids.length, 'all');
    expect(rig.delivered.map(({ id }) => id).toSorted()).toEqual(ids.toSorted());
  });
});

test('several senders, one inbox: every command has one final receipt', async () => {
  const finals = new Map<string, number>();
  const dir = freshDir();
  const rig = openRig(
    {
      deliver: ({ id, type }: Command) => rig.inbox.answer(applied(id, type)),
      write: (_path: string, { id, final }: Receipt): Promise<Written> => {
        if (final) finals.set(id, (finals.get(id) ?? 0) + 1);
        return Promise.resolve({ type: 'ok' });
      },
    },
    dir,
  );
  const script = `
    const { writeFileSync, renameSync } = require('node:fs');
    const [temp, control, who] = process.argv.slice(1);
    for (let n = 0; n < 100; n += 1) {
      const name = who + '-' + n + '.json';
      writeFileSync(temp + '/' + name, JSON.stringify({ v: 1, type: n % 2 ? 'stop' : 'interrupt', source: who }));
      renameSync(temp + '/' + name, control + '/' + name);
    }`;
  const run = promisify(execFile);
  await Promise.all(
    ['a', 'b', 'c'].map((who) => run(process.execPath, ['-e', script, dir.controlTemp, dir.control, who])),
  );
  await until(() => finals.size === 300, 'every receipt');
  expect([...finals.values()].every((n) => n === 1)).toBe(true);
});
