import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test } from 'vitest';
import { sendCommand, waitReceipt } from '../../src/inbox/index.ts';
import { writeDurable } from '../../src/record/index.ts';
import { until } from '../record/support.ts';
import { bundle } from '../record/bundle.ts';
import { tempFolder } from '../record/support.ts';
import { applied, entries, freshDir, openRig } from './rig.ts';

describe('sending', () => {
  test('arrives whole, and the receipt comes back', async () => {
    const rig = openRig({ deliver: ({ id }) => rig.inbox.answer(applied(id)) });
    const sent = await sendCommand(rig.dir, { type: 'stop', source: 'cli' });
    expect(sent.type).toBe('sent');
    if (sent.type !== 'sent') return;
    const waited = await waitReceipt(rig.dir, sent.id, { sha256: sent.sha256 });
    expect(waited).toMatchObject({
      type: 'receipt',
      receipt: { id: sent.id, verdict: 'applied', sha256: sent.sha256 },
    });
    expect(readdirSync(rig.dir.controlTemp)).toEqual([]);
  });

  test('writes a file for us alone', async () => {
    const dir = freshDir();
    await sendCommand(dir, { type: 'stop', id: 's1', source: 'cli' });
    const [name = ''] = entries(dir);
    expect(name).toMatch(/^s1\..*\.json$/);
    const path = join(dir.control, name);
    expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ v: 1, type: 'stop', id: 's1', source: 'cli' });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('S047: of two senders with one id none takes the place of the other; whoever says something else is told so', async () => {
    const dir = freshDir();
    const said = ['1h', '1h', '2h'].map((deadline) => ({ type: 'extend', id: 'same', deadline }) as const);
    // Before anybody looks.
    const sent = await Promise.all(said.map((command) => sendCommand(dir, command)));
    expect(entries(dir)).toHaveLength(3);
    const rig = openRig({ deliver: ({ id }) => rig.inbox.answer(applied(id)) }, dir);
    const verdicts = await Promise.all(
      sent.map(async (one) => {
        if (one.type !== 'sent') throw new Error(one.message);
        const waited = await waitReceipt(dir, one.id, { sha256: one.sha256, timeoutMs: 5_000 });
        return waited.type === 'receipt' ? waited.receipt.verdict : waited.type;
      }),
    );
    expect([verdicts[0], verdicts[1]]).toEqual([verdicts[0], verdicts[0]]);
    expect(verdicts.toSorted()).toEqual(
      verdicts[0] === 'applied' ? ['applied', 'applied', 'conflict'] : ['applied', 'conflict', 'conflict'],
    );
  });

  test('is refused by a closed inbox and where there is none', async () => {
    const dir = freshDir();
    await writeDurable(dir.closed, { v: 1, state: 'completed', at: 'x' });
    expect(await sendCommand(dir, { type: 'stop' })).toMatchObject({ type: 'refused', reason: 'closed' });
    expect(entries(dir)).toEqual(['closed.json']);
    rmSync(dir.control, { recursive: true });
    const refused = await sendCommand(dir, { type: 'stop' });
    expect(refused).toMatchObject({ type: 'refused', reason: 'no-control' });
    expect(existsSync(dir.control)).toBe(false);
    expect(readdirSync(dir.controlTemp)).toEqual([]);
  });

  test('while the inbox closes: refused, or answered, never left lying', async () => {
    for (let round = 0; round < 10; round += 1) {
      const rig = openRig();
      const [closed, ...sent] = await Promise.all([
        rig.inbox.close({ state: 'completed' }),
        ...Array.from({ length: 5 }, () => sendCommand(rig.dir, { type: 'stop' })),
      ]);
      expect(closed.type).toBe('closed');
      const ids = sent.flatMap((one) => (one.type === 'sent' ? [one.id] : []));
      await until(() => ids.every((id) => rig.receipt(id)?.final === true), 'answered');
      expect(entries(rig.dir)).toEqual(['closed.json']);
    }
  });
});

describe('waiting for a receipt', () => {
  test('ends in time, with what there is so far', async () => {
    const rig = openRig();
    const sent = await sendCommand(rig.dir, { type: 'stop', id: 's1' });
    expect(sent.type).toBe('sent');
    const accepted = await waitReceipt(rig.dir, 's1', { until: 'any' });
    expect(accepted).toMatchObject({ type: 'receipt', receipt: { verdict: 'accepted', final: false } });
    expect(await waitReceipt(rig.dir, 's1', { timeoutMs: 30 })).toMatchObject({
      type: 'timed-out',
      last: { verdict: 'accepted' },
    });
    expect(await waitReceipt(rig.dir, 'other', { timeoutMs: 0 })).toEqual({ type: 'timed-out', last: null });
  });

  test('can be given up', async () => {
    const dir = freshDir();
    const abort = new AbortController();
    const waiting = waitReceipt(dir, 's1', { signal: abort.signal, timeoutMs: 60_000 });
    abort.abort();
    expect(await waiting).toEqual({ type: 'aborted', last: null });
  });

  test('works where nothing can be watched', async () => {
    const dir = freshDir();
    rmSync(dir.receipts, { recursive: true });
    expect(await waitReceipt(dir, 's1', { timeoutMs: 10, pollMs: 5 })).toEqual({ type: 'timed-out', last: null });
  });

  test('an id that another has used: each sender learns of its own command', async () => {
    const rig = openRig({ deliver: ({ id }) => rig.inbox.answer(applied(id)) });
    const first = await sendCommand(rig.dir, { type: 'stop', id: 's1', reason: 'one' });
    if (first.type !== 'sent') throw new Error('not sent');
    expect(await waitReceipt(rig.dir, 's1', { sha256: first.sha256 })).toMatchObject({
      receipt: { verdict: 'applied' },
    });
    const second = await sendCommand(rig.dir, { type: 'stop', id: 's1', reason: 'two' });
    if (second.type !== 'sent') throw new Error('not sent');
    expect(await waitReceipt(rig.dir, 's1', { sha256: second.sha256 })).toMatchObject({
      receipt: { verdict: 'conflict', reason: 'id-reused' },
    });
  });
});

test('the sender and the readers load nothing heavy', async () => {
  const script = await bundle(join(import.meta.dirname, 'light-probe.ts'), tempFolder());
  const { stdout } = await promisify(execFile)(process.execPath, [script]);
  expect(JSON.parse(stdout)).toEqual({ ok: true });
  const source = readFileSync(script, 'utf8');
  for (const heavy of ['ZodType', 'chokidar', 'execa', 'xstate', 'write-file-atomic', 'liquid']) {
    expect(source).not.toContain(heavy);
  }
});
