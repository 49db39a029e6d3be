import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { realMachines } from '../../src/runtime/wire.ts';
import { expectTruth } from '../support/truth.ts';
import { type Rig, type RigOptions, definition, fakeAgents, startRun } from './rig.ts';

/** A real child that says by its mailbox that it reviews. */
async function begin(options: RigOptions = {}) {
  const agents = await fakeAgents();
  const plan = {
    version: 1 as const,
    agents: { fake: definition(agents.settings()) },
    steps: [{ id: 'a', agent: 'fake', task: 'do a' }],
  };
  const rig = startRun(plan, options);
  return { rig, agent: await agents.next() };
}

/** As the child does it. */
function say(rig: Rig, seq: number, active: boolean): void {
  const path = join(rig.dir.attempt('a', 1).path, 'ask', 'review.json');
  writeFileSync(`${path}.half`, JSON.stringify({ v: 1, seq, active }));
  renameSync(`${path}.half`, path);
}

const reviewing = (rig: Rig) => rig.recorded('activity.changed', ({ state }) => state === 'reviewing');

test('said right before the end it is waited for, the status shows it, and its end is the end', async () => {
  const { rig, agent } = await begin();
  say(rig, 1, true);
  await agent.finish();
  await reviewing(rig);
  expect(rig.runtime.status().steps[0]).toMatchObject({ state: 'running', activity: 'reviewing' });
  say(rig, 2, false);
  expect((await rig.ended).outcome.state).toBe('completed');
  expect(rig.records.map(({ type }) => type)).not.toContain('review.overdue');
  expectTruth(rig);
});

test('one that is never over is left behind after its time, and the step has completed', async () => {
  const attempt = realMachines.attempt.provide({ delays: { reviewLimit: 150 } });
  const { rig, agent } = await begin({ machines: { ...realMachines, attempt } });
  say(rig, 1, true);
  await agent.finish();
  expect((await rig.ended).outcome.state).toBe('completed');
  const types = rig.records.map(({ type }) => type);
  expect(types.filter((type) => ['review.overdue', 'attempt.exited'].includes(type))).toEqual([
    'review.overdue',
    'attempt.exited',
  ]);
  expect(await rig.recorded('attempt.closed')).toMatchObject({ outcome: 'completed', proof: { verdict: 'gone' } });
  expectTruth(rig);
});
