import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { StartWatch } from '../../src/inbox/index.ts';
import { type Receipt, type Written, writeDurable } from '../../src/record/index.ts';
import { json, until } from '../record/support.ts';
import { applied, drop, entries, freshDir, openRig, stop } from './rig.ts';

const deaf: StartWatch = () => ({ close: () => Promise.resolve() });

describe('closing', () => {
  test('answers what was delivered and never answered, and what still lies there', async () => {
    const dir = freshDir();
    drop(dir, '0.json', stop('given'));
    // It looks once, at the opening: what comes later is found by the closing alone.
    const rig = openRig({ watch: deaf, safetyMs: 60_000 }, dir);
    await until(() => rig.receipt('given') !== null, 'delivered');
    drop(rig.dir, '1.json', stop('late'));
    writeFileSync(join(rig.dir.control, '2.json'), '{half');
    expect(await rig.inbox.close({ state: 'completed' })).toEqual({ type: 'closed', unwritten: 0 });
    expect(json(rig.dir.closed)).toMatchObject({ v: 1, state: 'completed' });
    expect(rig.receipt('given')).toMatchObject({ verdict: 'rejected', reason: 'run-ended', final: true });
    expect(rig.receipt('late')).toMatchObject({ verdict: 'rejected', reason: 'run-ended', final: true });
    expect(rig.receipt('2')).toMatchObject({ verdict: 'rejected', reason: 'invalid', final: true });
    expect(rig.refused.map((answer) => answer.id).toSorted()).toEqual(['2', 'given', 'late']);
    expect(entries(rig.dir)).toEqual(['closed.json']);
    expect(readdirSync(rig.dir.claimed)).toEqual([]);
    // Again is harmless.
    expect(await rig.inbox.close({ state: 'completed' })).toEqual({ type: 'closed', unwritten: 0 });
    expect(rig.refused).toHaveLength(3);
  });

  test('with receipts that cannot be written is trouble, and may be tried again', async () => {
    let full = true;
    const write = (path: string, receipt: Receipt): Promise<Written> =>
      full ? Promise.resolve({ type: 'trouble', code: 'ENOSPC', message: 'full' }) : writeDurable(path, receipt);
    const rig = openRig({ write });
    drop(rig.dir, '1.json', stop('s1'));
    await until(() => rig.delivered.length === 1, 'delivered');
    rig.inbox.answer(applied('s1'));
    expect(await rig.inbox.close({ state: 'stopped' })).toMatchObject({ type: 'trouble', code: 'ENOSPC' });
    full = false;
    expect(await rig.inbox.close({ state: 'stopped' })).toEqual({ type: 'closed', unwritten: 0 });
    expect(rig.receipt('s1')).toMatchObject({ verdict: 'applied' });
  });

  test('without a control folder ends all the same', async () => {
    const rig = openRig();
    drop(rig.dir, '1.json', stop('s1'));
    await until(() => rig.receipt('s1') !== null, 'accepted');
    rmSync(rig.dir.control, { recursive: true });
    expect(await rig.inbox.close({ state: 'failed' })).toEqual({ type: 'closed', unwritten: 1 });
    expect(rig.refused).toMatchObject([{ id: 's1', reason: 'run-ended' }]);
  });
});

describe('the next owner', () => {
  test('takes up what was claimed and not answered', async () => {
    const first = openRig();
    drop(first.dir, '1.json', stop('s1'));
    drop(first.dir, '2.json', stop('s2'));
    await until(() => first.receipt('s2') !== null && first.receipt('s1') !== null, 'accepted');
    first.inbox.answer(applied('s1'));
    await until(() => readdirSync(first.dir.claimed).length === 1, 'one answered');
    await first.inbox.abandon();
    const second = openRig({}, first.dir);
    await until(() => second.delivered.length === 1, 'the other');
    expect(second.delivered[0]?.id).toBe('s2');
    second.inbox.answer(applied('s2'));
    await until(() => second.receipt('s2')?.final === true, 'answered');
  });

  test('forgets a claim whose receipt was written just before the end', async () => {
    const dir = freshDir();
    await writeDurable(dir.receipt('s1'), { v: 1, id: 's1', type: 'stop', verdict: 'applied', at: 'x', final: true });
    writeFileSync(join(dir.claimed, 'x-1~1.json'), JSON.stringify(stop('s1')));
    const rig = openRig({}, dir);
    await until(() => readdirSync(dir.claimed).length === 0, 'removed');
    expect(rig.delivered).toEqual([]);
  });
});
