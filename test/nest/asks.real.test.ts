import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { answer, asks, wait } from '../../src/client.ts';
import { start } from '../../src/index.ts';
import { runDir } from '../../src/record/index.ts';
import { MAIN, until } from '../support/cli.ts';
import { ownOwner, statusOf } from '../support/made-run.ts';
import { addRun, makeNest } from './support.ts';

test('what a child of a nested run asks is listed and answered at the top', async () => {
  const root = mkdtempSync(join(tmpdir(), 'coxswain-asks-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true, maxRetries: 5 }));
  const asking = `cd "$COXSWAIN_ASK_DIR" && mkdir -p requests && printf '{"v":1,"id":"q","text":"Which?"}' > t && mv t requests/q.json
while ! [ -e answers/q.json ]; do sleep 0.05; done; cat answers/q.json`;
  const nested = [process.execPath, MAIN, 'run', '--id', 'below', '--', 'sh', '-c', asking];
  await using run = await start({ plan: { version: 1, steps: [{ id: 'a', run: nested }] } }, { root, id: 'top' });
  const open = () => {
    const reading = asks('top', { root });
    return reading.type === 'ok' ? reading.asks : [];
  };
  await until(() => open().length === 1, 'it is listed at the top');
  const [ask] = open();
  if (ask === undefined) throw new Error('no ask');
  expect(ask).toMatchObject({ question: 'Which?', state: 'asked', run: 'below', path: ['top', 'below'] });
  await until(() => run.status().nested?.asks === 1, 'the top says that somebody waits');
  expect(run.status().nested?.runs).toMatchObject([{ id: 'below', asks: 1 }]);
  expect(await answer('top', ask.id, 'The left one.', { root })).toMatchObject({ receipt: { verdict: 'applied' } });
  expect(await run.result()).toMatchObject({ state: 'completed' });
  expect(open()).toEqual([]);
  expect(run.status().nested).not.toHaveProperty('asks');
  expect(await wait('below', { root })).toMatchObject({ type: 'ended' });
  const { step, attempt } = ask;
  const { stdout, proof } = runDir(root, 'below').attempt(step, attempt);
  expect(existsSync(stdout) && readFileSync(stdout, 'utf8')).toContain('The left one.');
  expect(JSON.parse(readFileSync(proof, 'utf8'))).toMatchObject({ verdict: 'gone', leftovers: [] });
});

test('an ask that two runs below have is for neither; a run that does not say it is below is not read', async () => {
  const { root, top } = makeNest();
  const at = new Date(0).toISOString();
  const place = { step: 'a', attempt: 1, depth: 1 };
  const ask = { id: 'a.1.q', step: 'a', attempt: 1, text: { chars: 1, sha256: '0' }, at, state: 'asked' as const };
  const runs = ['one', 'two', 'other'].map((id) => {
    const parent = { run: id === 'other' ? 'elsewhere' : 'top', ...place };
    const status = statusOf(id, { owner: ownOwner(), asks: [ask], parent });
    writeFileSync(addRun(root, id).status, JSON.stringify(status));
    return { id, ...place, state: 'running' as const, name: '', counts: {}, updatedAt: at };
  });
  writeFileSync(top.status, JSON.stringify(statusOf('top', { owner: ownOwner(), nested: { total: 3, runs } })));
  const reading = asks('top', { root });
  expect(reading.type === 'ok' && reading.asks.map(({ run }) => run)).toEqual(['one', 'two']);
  const said = await answer('top', 'a.1.q', 'Yes.', { root, waitMs: 0 });
  expect(said).toMatchObject({
    type: 'refused',
    reason: 'ambiguous-ask',
    message: expect.stringContaining('one, two'),
  });
});
