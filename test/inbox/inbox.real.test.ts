import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type StartWatch } from '../../src/inbox/index.ts';
import { type Receipt, type Written, writeDurable } from '../../src/record/index.ts';
import { everything, until } from '../record/support.ts';
import { applied, drop, entries, freshDir, openRig, stop } from './rig.ts';

/** Never tells anything: what is seen is seen by the slow look. */
const deaf: StartWatch = () => ({ close: () => Promise.resolve() });

describe('a stop', () => {
  test('is delivered, accepted, and answered when it is answered', async () => {
    const rig = openRig({ safetyMs: 60_000 });
    drop(rig.dir, '1.json', stop('s1'));
    await until(() => rig.receipt('s1') !== null, 'accepted');
    expect(rig.delivered).toEqual([{ id: 's1', type: 'stop', source: 'test' }]);
    expect(rig.receipt('s1')).toMatchObject({ v: 1, id: 's1', type: 'stop', verdict: 'accepted', final: false });
    expect(readdirSync(rig.dir.claimed)).toHaveLength(1);
    rig.inbox.answer(applied('s1'));
    rig.inbox.answer({ ...applied('s1'), verdict: 'rejected' });
    await until(() => rig.receipt('s1')?.final === true, 'answered');
    expect(rig.receipt('s1')).toMatchObject({ verdict: 'applied', final: true });
    await until(() => readdirSync(rig.dir.claimed).length === 0, 'the command is gone when it is answered');
    expect(rig.refused).toEqual([]);
    expect(entries(rig.dir)).toEqual([]);
  });

  test('that lies there before the inbox opens is taken too, and one that the events missed', async () => {
    const dir = freshDir();
    drop(dir, '1.json', stop('s1'));
    const rig = openRig({ watch: deaf, safetyMs: 20 }, dir);
    // Not from within the opening: its caller is not ready yet.
    expect(rig.delivered).toEqual([]);
    await until(() => rig.delivered.length === 1, 'the first');
    drop(dir, '2.json', stop('s2'));
    await until(() => rig.delivered.length === 2, 'the second');
    expect(rig.delivered.map((command) => command.id)).toEqual(['s1', 's2']);
  });

  test('answered at once has one receipt, the final one', async () => {
    const verdicts: string[] = [];
    const write = (path: string, receipt: Receipt): Promise<Written> => {
      verdicts.push(receipt.verdict);
      return writeDurable(path, receipt);
    };
    const rig = openRig({ write, deliver: ({ id }) => rig.inbox.answer(applied(id)) });
    drop(rig.dir, '1.json', stop('s1'));
    await until(() => rig.receipt('s1')?.final === true, 'answered');
    expect(verdicts).toEqual(['applied']);
  });

  test('written in place by hand, slowly, is not taken for a broken one', async () => {
    const rig = openRig();
    const path = join(rig.dir.control, 'slow.json');
    writeFileSync(path, '{"v":1,');
    await until(() => readdirSync(rig.dir.claimed).length === 1, 'claimed');
    appendFileSync(join(rig.dir.claimed, readdirSync(rig.dir.claimed)[0] ?? ''), '"type":"stop"}');
    await until(() => rig.delivered.length === 1, 'delivered');
    expect(rig.delivered[0]?.id).toBe('slow');
    expect(rig.refused).toEqual([]);
  });
});

describe('what is no command', () => {
  test('S046: is put aside with the reason, once, and does not hold up the stop behind it', async () => {
    const dir = freshDir();
    writeFileSync(join(dir.control, '1-bad.json'), '{bad');
    writeFileSync(join(dir.control, '2-big.json'), Buffer.alloc(5 * 1024 * 1024, ' '));
    drop(dir, '3-dance.json', { v: 1, type: 'dance', text: 'sentinel' });
    mkdirSync(join(dir.control, '4-folder.json'));
    symlinkSync('/etc/passwd', join(dir.control, '5-link.json'));
    drop(dir, '6-stop.json', stop());
    drop(dir, '7-steer.json', { v: 1, type: 'steer', text: 'sentinel-steering-text', step: 7 });
    const begun = performance.now();
    const rig = openRig({}, dir);
    await until(() => rig.delivered.length === 1, 'the stop');
    expect(performance.now() - begun).toBeLessThan(1000);
    await until(() => rig.refused.length === 6, 'the others');
    expect(Object.fromEntries(rig.refused.map((answer) => [answer.id, answer.reason]))).toEqual({
      '1-bad': 'invalid',
      '2-big': 'too-large',
      '3-dance': 'unknown-type',
      '4-folder': 'not-a-file',
      '5-link': 'not-a-file',
      '7-steer': 'invalid',
    });
    await until(() => rig.refused.every(({ id }) => rig.receipt(id)?.final === true), 'receipts');
    expect(rig.receipt('5-link')).toMatchObject({ verdict: 'rejected', reason: 'not-a-file', detail: 'it is a link' });
    expect(readdirSync(dir.rejected)).toHaveLength(6);
    expect(entries(dir)).toEqual([]);
    // Nothing of what was in them is kept, and the big one least of all.
    rig.inbox.answer(applied('6-stop'));
    await until(() => readdirSync(dir.claimed).length === 0, 'all done');
    for (const path of everything(dir.path)) {
      if (path.includes('link') || !path.endsWith('.json') || path.includes('folder')) continue;
      expect(readFileSync(path, 'utf8')).not.toContain('sentinel');
    }
    // Looking again finds nothing more to say.
    drop(dir, '8.json', stop());
    await until(() => rig.delivered.length === 2, 'another look');
    expect(rig.refused).toHaveLength(6);
  });

  test('is for nobody else once it is put aside; it is not opened, and no link is followed', async () => {
    const dir = freshDir();
    const outside = join(dir.path, 'outside.txt');
    writeFileSync(outside, 'not ours to change', { mode: 0o644 });
    const put = (name: string): string => join(dir.control, name);
    mkdirSync(put('1-folder.json'), { mode: 0o755 });
    writeFileSync(join(put('1-folder.json'), 'inside'), 'x', { mode: 0o644 });
    symlinkSync(outside, put('2-link.json'));
    // Whoever opened it would wait for ever.
    execFileSync('mkfifo', ['-m', '0644', put('3-pipe.json')]);
    writeFileSync(put('4-closed.json'), '{}', { mode: 0o644 });
    chmodSync(put('4-closed.json'), 0o055);
    const rig = openRig({}, dir);
    await until(() => rig.refused.length === 4, 'all are put aside');
    const modes = readdirSync(dir.rejected).map((name) => {
      const stat = lstatSync(join(dir.rejected, name));
      const kind = stat.isFIFO() ? 'pipe' : stat.isDirectory() ? 'folder' : stat.isSymbolicLink() ? 'link' : 'file';
      return kind === 'link' ? kind : `${kind} ${(stat.mode & 0o777).toString(8)}`;
    });
    // Root can read the closed one, and has a note of it.
    expect(modes.toSorted()).toEqual(['file 600', 'folder 700', 'link', 'pipe 600']);
    expect((lstatSync(outside).mode & 0o777).toString(8)).toBe('644');
  });

  test('hidden and temporary names are left alone', async () => {
    const rig = openRig();
    writeFileSync(join(rig.dir.control, '.stop.json.swp'), 'x');
    writeFileSync(join(rig.dir.control, 'stop.json.tmp'), 'x');
    drop(rig.dir, 'z.json', stop());
    await until(() => rig.delivered.length === 1, 'the stop');
    expect(rig.refused).toEqual([]);
    expect(entries(rig.dir).toSorted()).toEqual(['.stop.json.swp', 'stop.json.tmp']);
  });
});

describe('one id', () => {
  test('S047: is delivered once, however often it is sent, before and after its answer', async () => {
    const rig = openRig();
    for (const name of ['1.json', '2.json', '3.json']) drop(rig.dir, name, stop('s1'));
    await until(() => rig.receipt('s1') !== null, 'accepted');
    rig.inbox.answer(applied('s1'));
    await until(() => readdirSync(rig.dir.claimed).length === 0, 'answered, and all three are gone');
    drop(rig.dir, '4.json', stop('s1'));
    drop(rig.dir, '5.json', stop('s2'));
    await until(() => rig.delivered.length === 2, 'the other id');
    expect(rig.delivered.map((command) => command.id)).toEqual(['s1', 's2']);
    expect(rig.receipt('s1')).toMatchObject({ verdict: 'applied' });
    expect(rig.refused).toEqual([]);
  });

  test('S047: with other content is a conflict, and the first keeps its receipt', async () => {
    const rig = openRig();
    drop(rig.dir, '1.json', stop('s1'));
    await until(() => rig.delivered.length === 1, 'delivered');
    drop(rig.dir, '2.json', stop('s1', { reason: 'changed' }));
    await until(() => rig.refused.length === 1, 'refused while the first is open');
    rig.inbox.answer(applied('s1'));
    await until(() => rig.receipt('s1')?.final === true, 'answered');
    drop(rig.dir, '3.json', stop('s1', { reason: 'changed again' }));
    await until(() => rig.refused.length === 2, 'refused when it is answered');
    expect(rig.refused).toMatchObject([
      { id: 's1', verdict: 'conflict', reason: 'id-reused' },
      { id: 's1', verdict: 'conflict' },
    ]);
    expect(rig.delivered).toHaveLength(1);
    await until(
      () => readdirSync(rig.dir.receipts).filter((name) => name.endsWith('.json')).length === 3,
      'three receipts',
    );
    expect(rig.receipt('s1')).toMatchObject({ verdict: 'applied' });
  });
});

describe('a control folder that goes away', () => {
  test('S045: is taken up again when it is back, with what lies in it', async () => {
    const rig = openRig({ pollMs: 20, safetyMs: 20 });
    const away = join(rig.dir.path, 'away');
    renameSync(rig.dir.control, away);
    await until(() => rig.warnings.length === 1, 'it says so');
    expect(rig.warnings[0]?.code).toBe('folder-missing');
    writeFileSync(join(away, '1.json'), JSON.stringify(stop('s1')));
    renameSync(away, rig.dir.control);
    await until(() => rig.delivered.length === 1, 'the stop in it');
    rig.inbox.answer(applied('s1'));
    await until(() => rig.receipt('s1')?.final === true, 'its receipt');
    // Watched again, not only polled.
    expect(rig.inbox.mode).toBe('native');
    expect(rig.warnings).toHaveLength(1);
  });

  test('answers find their way when it is back', async () => {
    const rig = openRig({ pollMs: 20, safetyMs: 20 });
    drop(rig.dir, '1.json', stop('s1'));
    await until(() => rig.receipt('s1') !== null, 'accepted');
    const away = join(rig.dir.path, 'away');
    renameSync(rig.dir.control, away);
    rig.inbox.answer(applied('s1'));
    await until(() => rig.warnings.some((warning) => warning.code === 'receipt-unwritten'), 'it says so');
    renameSync(away, rig.dir.control);
    await until(() => existsSync(rig.dir.claimed) && readdirSync(rig.dir.claimed).length === 0, 'done with it');
    expect(rig.receipt('s1')).toMatchObject({ verdict: 'applied' });
  });
});

describe('a watcher that fails', () => {
  test.each(['at once', 'later'])('%s: it polls from then on and warns once', async (when) => {
    const failing: ((error: unknown) => void)[] = [];
    const watch: StartWatch = (_folder, { failed }) => {
      if (when === 'at once') throw new Error('EMFILE: too many');
      failing.push(failed);
      return { close: () => Promise.resolve() };
    };
    const rig = openRig({ watch, pollMs: 20, safetyMs: 60_000 });
    await until(() => failing.length === 1 || rig.inbox.mode === 'polling', 'it has begun to watch');
    for (const fail of failing) {
      fail(new Error('ENOSPC: no more watches'));
      fail(new Error('again'));
    }
    expect(rig.inbox.mode).toBe('polling');
    drop(rig.dir, '1.json', stop('s1'));
    await until(() => rig.delivered.length === 1, 'the stop');
    drop(rig.dir, '2.json', stop('s2'));
    await until(() => rig.delivered.length === 2, 'another');
    expect(rig.warnings.map((warning) => warning.code)).toEqual(['polling']);
  });
});

test('a thousand commands at once are all taken, each once', async () => {
  const dir = freshDir();
  for (let n = 0; n < 1000; n += 1)
    writeFileSync(join(dir.control, `${String(n).padStart(4, '0')}.json`), JSON.stringify(stop()));
  const rig = openRig({ write: () => Promise.resolve({ type: 'ok' }) }, dir);
  await until(() => rig.delivered.length === 1000, 'all');
  const ids = rig.delivered.map((command) => command.id);
  expect(ids).toEqual(ids.toSorted());
  expect(new Set(ids).size).toBe(1000);
  expect(existsSync(dir.closed)).toBe(false);
});
