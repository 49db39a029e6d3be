import { readFileSync, writeFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type LaunchRecord, type RunResult, launchSchema } from '../../src/record/index.ts';
import { expectTruth } from '../support/truth.ts';
import { type Rig, definition, fakeAgents, startRun } from './rig.ts';

const launchOf = (rig: Rig, step = 'a', n = 1): LaunchRecord =>
  JSON.parse(readFileSync(rig.dir.attempt(step, n).launch, 'utf8')) as LaunchRecord;

test('the digest of a launch is in its record, in the status and in the result, also of a plain command', async () => {
  const agents = await fakeAgents();
  const rig = startRun({
    version: 1,
    agents: { fake: { ...definition(agents.settings()), thinking: 'high', systemPrompt: { append: 'Be brief.' } } },
    steps: [
      { id: 'a', agent: 'fake', model: 'acme/one', task: 'The task.' },
      { id: 'b', run: ['true'] },
    ],
  });
  const agent = await agents.next();
  await agent.finish();
  await rig.ended;
  const { status } = expectTruth(rig);
  const result = JSON.parse(readFileSync(rig.dir.result, 'utf8')) as RunResult;
  const [a, b] = [launchOf(rig, 'a'), launchOf(rig, 'b')];
  for (const record of [a, b]) expect(launchSchema.parse(record)).toEqual(record);
  expect(a).toMatchObject({
    facts: {
      agent: 'fake',
      client: { adapter: 'pi', mode: 'rpc', version: null },
      model: 'acme/one',
      thinking: 'high',
      systemPrompt: { how: 'append', chars: 9 },
      task: { chars: 9 },
    },
  });
  expect(b.facts).toMatchObject({ agent: 'command', argv: ['true'], task: null, client: { version: null } });
  expect(JSON.stringify([a, b])).not.toContain('The task.');
  expect(JSON.stringify([a, b])).not.toContain('Be brief.');
  const digests = [a.digest, b.digest];
  expect(status.steps.map(({ attempts }) => attempts?.[0]?.launch)).toEqual(digests);
  expect(result.steps.map(({ attempts }) => attempts[0]?.launch)).toEqual(digests);
  expect(new Set(digests).size).toBe(2);
});

/** Interrupts the step when its agent has said something, changes what is known of its launch, and lets it go on. */
async function resumeAfter(change: (record: LaunchRecord) => void): Promise<Rig> {
  const agents = await fakeAgents();
  const rig = startRun({
    version: 1,
    agents: { fake: definition(agents.settings()) },
    steps: [
      { id: 'a', agent: 'fake', task: 'do a', retry: 'none' },
      { id: 'keeper', needs: [], run: ['sleep', '600'] },
    ],
  });
  const agent = await agents.next();
  await agent.toolStart('bash');
  rig.runtime.command({ type: 'interrupt', id: 'i1', source: 'test', step: 'a' });
  await rig.recorded('step.settled', ({ step }) => step === 'a');
  const record = launchOf(rig);
  change(record);
  writeFileSync(rig.dir.attempt('a', 1).launch, JSON.stringify(record));
  rig.runtime.command({ type: 'resume', id: 'r1', source: 'test' });
  if (record.facts?.tools.only === null) await (await agents.next()).finish();
  await rig.recorded('step.settled', ({ step, state }) => step === 'a' && state !== 'paused');
  rig.stop();
  await rig.ended;
  expectTruth(rig);
  return rig;
}

test('a session is not gone on with when the agent may do other things there than before, and the field is named', async () => {
  const rig = await resumeAfter(({ facts }) => {
    if (facts !== undefined) facts.tools.only = ['read'];
  });
  const [a] = rig.runtime.status().steps;
  expect(a).toMatchObject({ state: 'failed', error: { code: 'launch-changed', detail: { differs: 'tools' } } });
  expect(a?.error?.message).toContain('other settings (tools)');
  expect(launchOf(rig, 'a', 2)).toMatchObject({ differs: ['tools'] });
});

test('what may be otherwise is noted; and when all is as it was, nothing is', async () => {
  const rig = await resumeAfter(({ facts }) => {
    if (facts !== undefined) facts.client.version = '0.0.1';
  });
  expect(rig.runtime.status().steps[0]).toMatchObject({ state: 'completed', attempt: 2 });
  expect(launchOf(rig, 'a', 2)).toMatchObject({ differs: ['version'] });
  expect(readFileSync(rig.dir.attempt('a', 2).transcript, 'utf8')).toContain('not as before: version');
  const same = await resumeAfter(() => {});
  expect(launchOf(same, 'a', 2).differs).toBeUndefined();
  expect(launchOf(same, 'a', 2).digest).toBe(launchOf(same).digest);
});
