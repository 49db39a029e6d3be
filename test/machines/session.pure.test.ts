import { type EventObject, createActor, fromCallback } from 'xstate';
import { expect, test } from 'vitest';
import { type JournalBody, fill, stepMachine } from '../../machines/index.ts';
import type { LeasedSession, StepInput } from '../../machines/protocol.ts';
import { StepClock } from '../../src/testing/index.ts';
import { AT, LADDER, attemptOutput, proof, stepModel } from './models.ts';

/** When a step has the session of its agent: from its preparation until its attempt is proven gone. */
function begin(change: Partial<StepInput['plan']> = {}) {
  const happened: string[] = [];
  const asked: (string | null)[] = [];
  const inert = fill(fromCallback(() => {}) as never) as never;
  const clock = new StepClock();
  const input = stepModel.input as StepInput;
  const machine = stepMachine.provide({
    actors: {
      prepare: fill(
        fromCallback<EventObject, { n: number; session: string | null }>(
          ({ input: { session } }) => void asked.push(session),
        ) as never,
      ) as never,
      attempt: inert,
      deadline: inert,
    },
    actions: {
      record: (_: unknown, body: JournalBody) => void happened.push(body.type),
      release: (_: unknown, { n }: { n: number }) => void happened.push(`free ${n}`),
    },
  });
  const actor = createActor(machine, { input: { ...input, plan: { ...input.plan, ...change } }, clock }).start();
  const done = (id: string, output: object): void =>
    actor.send({ type: `xstate.done.actor.${id}`, actorId: id, output } as never);
  return {
    actor,
    clock,
    happened,
    asked,
    ready: (lease: LeasedSession | null) =>
      done('prepare', { type: 'ready', at: AT, token: 't', ladder: LADDER, resumes: true, listens: true, lease }),
    refused: () =>
      done('prepare', { type: 'refused', at: AT, failure: { code: 'session-busy', message: 'r1 has it' } }),
    ended: (...of: Parameters<typeof attemptOutput>) => done('attempt', attemptOutput(...of)),
    endedAs: (output: object) => done('attempt', { ...attemptOutput('completed'), ...output }),
  };
}
const LEASE: LeasedSession = { session: 'a.1.jsonl', from: null };

test('it is on record from the preparation to the proof, and free before the step has settled', () => {
  const step = begin();
  step.ready(LEASE);
  expect(step.actor.getSnapshot().context.lease).toEqual(LEASE);
  step.ended('completed');
  expect(step.happened).toEqual(['step.started', 'session.leased', 'free 1', 'session.released', 'step.settled']);
  expect(step.actor.getSnapshot().context.lease).toBe(null);
});

test.each([
  ['somebody is left', { proof: proof('survived') }],
  ['nobody can say', { proof: proof('unknown') }],
  ['it was looked at less well than the plan asks', { proof: { ...proof('gone'), level: 'group' } }],
])('it is kept when %s', (_, output) => {
  const step = begin();
  step.ready(LEASE);
  step.endedAs(output);
  expect(step.happened).toEqual(['step.started', 'session.leased', 'step.settled']);
  expect(step.actor.getSnapshot().context.lease).toEqual(LEASE);
});

test('nothing was started, nothing can be left', () => {
  const step = begin();
  step.ready(LEASE);
  step.endedAs({ outcome: 'failed', proof: null });
  expect(step.happened).toContain('free 1');
});

test('the next attempt takes its own', () => {
  const step = begin();
  step.ready(LEASE);
  step.ended('failed');
  step.clock.advance(10_000);
  step.ready({ ...LEASE, session: 'a.2.jsonl' });
  expect(step.happened).toEqual([
    'step.started',
    'session.leased',
    'free 1',
    'session.released',
    'step.backing-off',
    'session.leased',
  ]);
  expect(step.asked).toEqual([null, null]);
});

test('an agent without sessions has none; one that is busy ends the step, and nothing else', () => {
  const without = begin();
  without.ready(null);
  without.ended('completed');
  expect(without.happened).toEqual(['step.started', 'step.settled']);
  const busy = begin();
  busy.refused();
  expect(busy.actor.getSnapshot().output).toMatchObject({
    outcome: 'failed',
    cause: { type: 'failure', reason: 'session-busy' },
    attempts: [],
  });
});
