import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Status } from '../../machines/protocol.ts';
import type { RunResult } from '../../src/record/index.ts';
import { expectTruth } from '../support/truth.ts';
import { definition, fakeAgents, startRun } from './rig.ts';

function recordsIn(path: string): [Status, RunResult] {
  const read = (name: string): unknown => JSON.parse(readFileSync(join(path, name), 'utf8'));
  return [read('status.json') as Status, read('result.json') as RunResult];
}

/** What attempts have used, summed over those that failed and those that were killed. */
async function begin(steps: Record<string, object>) {
  const agents = await fakeAgents();
  const rig = startRun({
    version: 1,
    agents: { fake: definition(agents.settings()) },
    steps: Object.entries(steps).map(([id, more]) => ({ id, agent: 'fake', task: `do ${id}`, ...more })),
  });
  return { rig, agents };
}

test('S075: 1,000 of an attempt that failed, 500 of the next, 50 of one that was killed are 1,550, and each has its own', async () => {
  const { rig, agents } = await begin({ a: { retry: { attempts: 3, backoff: '1ms' } } });
  await (await agents.next()).finish({ usage: { input: 1_000, costUsd: 1 }, errorMessage: 'no' });
  await (await agents.next()).finish({ usage: { input: 500, costUsd: 0.5 }, errorMessage: 'no' });
  const last = await agents.next();
  await last.usage({ input: 50, costUsd: 0.25 });
  await last.die('SIGKILL');
  expect((await rig.ended).outcome.state).toBe('failed');
  expectTruth(rig);
  const [status, result] = recordsIn(rig.dir.path);
  expect(result.steps[0]?.attempts.map(({ outcome, usage }) => [outcome, usage.input])).toEqual([
    ['failed', 1_000],
    ['failed', 500],
    ['failed', 50],
  ]);
  for (const usage of [status.usage, result.usage, status.steps[0]?.usage]) {
    expect(usage).toMatchObject({ input: 1_550, costUsd: 1.75 });
  }
});

test('S076: one answer without a cost, and the cost of all is unknown: not zero, and not the sum of the rest', async () => {
  const { rig, agents } = await begin({ a: {}, b: {} });
  await (await agents.next()).finish({ text: 'done', usage: { input: 10, costUsd: 0.25 } });
  await (await agents.next()).finish({ text: 'done', usage: { input: 10 } });
  expect((await rig.ended).outcome.state).toBe('completed');
  expectTruth(rig);
  const [status, result] = recordsIn(rig.dir.path);
  expect(status.steps.map(({ usage }) => usage?.costUsd)).toEqual([0.25, undefined]);
  for (const usage of [status.usage, result.usage]) {
    expect(usage).toMatchObject({ input: 20 });
    expect(usage).not.toHaveProperty('costUsd');
  }
});
