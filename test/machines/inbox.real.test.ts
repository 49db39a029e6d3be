import { appendFileSync, mkdirSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { inboxMachine } from '../../machines/index.ts';
import type { InboxOptions, StartWatch } from '../../src/inbox/index.ts';
import type { RunDir } from '../../src/record/index.ts';
import { TransitionCoverage } from '../../src/testing/index.ts';
import { applied, drop, freshDir, openRig, stop } from '../inbox/rig.ts';
import { until } from '../record/support.ts';

/**
 * The inbox machine over real folders and files. What the system would have to refuse us, a watch, is refused by a stub;
 * everything else is brought about by what lies on the disk.
 */

const coverage = new TransitionCoverage(inboxMachine);

const quick: Partial<InboxOptions> = { pollMs: 15, safetyMs: 15, inspect: coverage.inspect };

/** Takes a folder away and puts it back; what is done in between is given. */
async function withoutFolder(path: string, meanwhile: () => Promise<void>): Promise<void> {
  renameSync(path, `${path}.away`);
  await meanwhile();
  renameSync(`${path}.away`, path);
}

/** Puts a file where a folder was, so that nothing can be written into it. */
function blockFolder({ path: run }: RunDir, path: string): () => void {
  const away = join(run, 'away');
  renameSync(path, away);
  writeFileSync(path, '');
  return () => {
    rmSync(path);
    renameSync(away, path);
  };
}

const deaf: StartWatch = () => ({ close: () => Promise.resolve() });
const refused: StartWatch = () => {
  throw new Error('no more watches');
};

describe('learning that something has come', () => {
  test.each([
    ['native', {}],
    ['polling', { poll: true }],
    ['polling', { watch: refused }],
  ] as const)('%s, and again when the folder was away', async (mode, options) => {
    const rig = openRig({ ...quick, ...options });
    drop(rig.dir, '1.json', stop('s1'));
    await until(() => rig.delivered.length === 1, 'the first');
    expect(rig.inbox.mode).toBe(mode);
    await withoutFolder(rig.dir.control, () =>
      until(() => rig.warnings.some(({ code }) => code === 'folder-missing'), 'missed'),
    );
    await until(() => rig.inbox.mode === mode, 'as before');
    drop(rig.dir, '2.json', stop('s2'));
    await until(() => rig.delivered.length === 2, 'the second');
  });

  test('another folder in the place of the first is watched from then on', async () => {
    const rig = openRig({ ...quick, safetyMs: 200 });
    drop(rig.dir, '1.json', stop('s1'));
    await until(() => rig.receipt('s1') !== null, 'the first');
    renameSync(rig.dir.control, join(rig.dir.path, 'old'));
    mkdirSync(rig.dir.control);
    drop(rig.dir, '2.json', stop('s2'));
    await until(() => rig.delivered.length === 2, 'the second');
    const changed = 'inbox.watching.source.native folder.changed #0';
    await until(() => !coverage.missing().includes(changed), 'it is seen that it is another one');
    drop(rig.dir, '3.json', stop('s3'));
    await until(() => rig.delivered.length === 3, 'the third');
    expect(rig.warnings).toEqual([]);
  });
});

describe('reading', () => {
  test.each(['a hint', 'its time'])('a file that is not finished is read again after %s', async (after) => {
    const options = after === 'a hint' ? { watch: deaf, safetyMs: 15 } : { watch: deaf, safetyMs: 60_000 };
    const dir = freshDir();
    writeFileSync(join(dir.control, 'slow.json'), '{"v":1,');
    const rig = openRig({ ...quick, ...options }, dir);
    await until(() => readdirSync(dir.claimed).length === 1, 'claimed');
    appendFileSync(join(dir.claimed, readdirSync(dir.claimed)[0] ?? ''), '"type":"stop"}');
    await until(() => rig.delivered.length === 1, 'delivered');
    expect(rig.delivered[0]?.id).toBe('slow');
  });
});

describe('receipts', () => {
  test('that cannot be written wait, and are tried again', async () => {
    const rig = openRig(quick);
    const unblock = blockFolder(rig.dir, rig.dir.receipts);
    drop(rig.dir, '1.json', stop('s1'));
    await until(() => rig.warnings.length === 1, 'it says so');
    unblock();
    await until(() => rig.receipt('s1') !== null, 'written');
    expect(rig.warnings.map(({ code }) => code)).toEqual(['receipt-unwritten']);
  });
});

describe('closing', () => {
  const closed = { type: 'closed', unwritten: 0 };

  async function closedAtLast(dir: RunDir, close: () => Promise<unknown>, repair: () => void): Promise<void> {
    expect(await close()).toMatchObject({ type: 'trouble' });
    repair();
    expect(await close()).toEqual(closed);
    expect(readdirSync(dir.control)).toContain('closed.json');
  }

  test('when it cannot be said that it is closed', async () => {
    const rig = openRig(quick);
    const close = () => rig.inbox.close({ state: 'failed' });
    await closedAtLast(rig.dir, close, blockFolder(rig.dir, rig.dir.control));
    expect(rig.refused).toEqual([]);
  });

  test('when what waits cannot be refused', async () => {
    let broken = true;
    const onRefused = (): void => {
      if (broken) throw new Error('a fault in whoever is told');
    };
    const rig = openRig({ ...quick, onRefused });
    drop(rig.dir, '1.json', stop('s1'));
    await until(() => rig.delivered.length === 1, 'delivered');
    await closedAtLast(
      rig.dir,
      () => rig.inbox.close({ state: 'failed' }),
      () => (broken = false),
    );
    expect(rig.receipt('s1')).toMatchObject({ reason: 'run-ended' });
  });

  test('when an answer cannot be written', async () => {
    const rig = openRig(quick);
    drop(rig.dir, '1.json', stop('s1'));
    await until(() => rig.receipt('s1') !== null, 'accepted');
    const unblock = blockFolder(rig.dir, rig.dir.receipts);
    rig.inbox.answer(applied('s1'));
    await closedAtLast(rig.dir, () => rig.inbox.close({ state: 'stopped' }), unblock);
    expect(rig.receipt('s1')).toMatchObject({ verdict: 'applied' });
  });

  test('is left to the next owner, before it has begun and when it does not get on', async () => {
    const first = openRig(quick);
    await first.inbox.abandon();
    const second = openRig(quick);
    const unblock = blockFolder(second.dir, second.dir.control);
    expect(await second.inbox.close({ state: 'failed' })).toMatchObject({ type: 'trouble' });
    await second.inbox.abandon();
    unblock();
    expect(readdirSync(second.dir.control)).not.toContain('closed.json');
  });
});

test('every transition was walked', () => {
  console.info(`on real files: ${coverage.toString()}`);
  expect(coverage.missing()).toEqual([]);
});
