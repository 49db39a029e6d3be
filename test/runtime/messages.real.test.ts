import { expect, test } from 'vitest';
import type { Command } from '../../machines/protocol.ts';
import { expectTruth } from '../support/truth.ts';
import { type Rig, definition, fakeAgents, startRun } from './rig.ts';

/** Messages and asks over the whole actor system: no event without a listener, and an end for each, however the run ends. */

async function begin(): Promise<{ rig: Rig; agents: Awaited<ReturnType<typeof fakeAgents>> }> {
  const agents = await fakeAgents();
  const rig = startRun({
    version: 1,
    agents: { fake: definition(agents.settings()) },
    steps: ['a', 'b'].map((id) => ({ id, needs: [], agent: 'fake', task: `do ${id}` })),
  });
  return { rig, agents };
}

const steer = (rig: Rig, id: string, more: Partial<Extract<Command, { type: 'steer' }>> = {}): void => {
  rig.runtime.kit.texts.put(id, `the text of ${id}`);
  const text = { chars: 10, sha256: '0123456789ab' };
  rig.runtime.command({ type: 'steer', id, source: 'test', mode: 'auto', text, ...more });
};

test('a run with everything in it leaves no dead letter, and no event that nobody listens to', async () => {
  const { rig, agents } = await begin();
  const [first, second] = [await agents.next(), await agents.next()];
  const [a, b] = first.task === 'do a' ? [first, second] : [second, first];
  steer(rig, 'm1');
  for (const agent of [a, b]) {
    await agent.nextSteer();
    await agent.take();
    await agent.say('yes');
  }
  await rig.recorded('steer.delivered', ({ step }) => step === 'b');
  await b.ask({ id: 'q1', text: 'which?' });
  const { id: ask } = await rig.recorded('ask.asked');
  steer(rig, 'm2', { step: 'a' });
  await a.nextSteer();
  rig.runtime.command({ type: 'interrupt', id: 'i1', source: 'test', step: 'a' });
  await rig.recorded('step.settled', ({ step }) => step === 'a');
  rig.runtime.command({ type: 'resume', id: 'r1', source: 'test' });
  const again = await agents.next();
  rig.runtime.kit.texts.put('w1', 'that one');
  rig.runtime.command({ type: 'answer', id: 'w1', source: 'test', ask, text: { chars: 8, sha256: '' } });
  expect(await b.answered('q1')).toMatchObject({ text: 'that one' });
  steer(rig, 'm3', { step: 'b', expiresMs: 20 });
  await rig.recorded('steer.undelivered', ({ id }) => id === 'm3');
  // It lies in the agent's queue all the same.
  await b.nextSteer();
  await b.take();
  await b.say('too late');
  await rig.recorded('steer.late');
  await again.finish();
  await b.finish();
  await rig.ended;
  expectTruth(rig);
  const verdicts = Object.fromEntries(rig.answers.map(({ id, verdict }) => [id, verdict]));
  expect(verdicts).toMatchObject({ m1: 'delivered', i1: 'applied', r1: 'applied', w1: 'applied', m3: 'undelivered' });
  expect(verdicts['m2']).toBe('undelivered');
  // The text of a message is needed once.
  expect(rig.runtime.kit.texts.size).toBe(0);
});

test('a run that crashes over it answers every command, and ends what was open', async () => {
  const { rig, agents } = await begin();
  const a = await agents.next();
  await agents.next();
  await a.toolStart('bash');
  steer(rig, 'm1');
  await a.nextSteer();
  await a.ask({ id: 'q1', text: 'which?' });
  await rig.recorded('ask.asked');
  rig.runtime.crash(new Error('a bug'));
  await rig.ended;
  const { records, status } = expectTruth({ dir: rig.dir });
  expect(rig.answers).toMatchObject([{ id: 'm1', verdict: 'undelivered', reason: 'run-ended' }]);
  expect(status.steering.counts).toMatchObject({ requested: 1, undelivered: 1, scheduled: 0, routed: 0, queued: 0 });
  expect(status.asks).toMatchObject([{ state: 'run-ended' }]);
  expect(records.filter(({ type }) => type === 'ask.run-ended')).toHaveLength(1);
});
