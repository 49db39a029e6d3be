import { describe, expect, test } from 'vitest';
import type { AnyMachineSnapshot } from 'xstate';
import { fold, project, stable } from '../../machines/index.ts';
import type { Command, JournalRecord, Status, StepPlan } from '../../machines/protocol.ts';
import { actorAt } from '../../src/testing/index.ts';
import { NO_LIMITS, RUN_INPUT } from './models.ts';
import { World } from './world.ts';

/** A message of which nothing is heard: its step is interrupted and resumed for it, once in the run. */

const AFTER = RUN_INPUT.recoverAfterMs ?? 0;
const text = { chars: 4, sha256: '0123456789ab' };

/** Steps without needs, as many as are named, that run. `session`: the agents have said what theirs is. */
function running(
  names: string[],
  { session = 's1', ...more }: Partial<StepPlan> & { session?: string | null } = {},
): World {
  const [plan] = RUN_INPUT.steps;
  if (plan === undefined) throw new Error('bug: no step');
  const world = new World({ ...RUN_INPUT, steps: names.map((id) => ({ ...plan, ...more, id })) }, { deadlines: true });
  go(world, 'begin');
  for (const name of names) start(world, name, session);
  return world;
}

function start(world: World, step: string, session: string | null = 's1'): void {
  go(world, `${step} ready`, `${step} started`);
  if (session !== null) attemptOf(world, step)?.send({ type: 'child.session', at: world.at(), session });
}

function go(world: World, ...names: string[]): void {
  for (const name of names) {
    const move = world.moves().find((one) => one.name === name);
    if (move === undefined) throw new Error(`no move ${name}`);
    move.go();
  }
}

/** Its process exits, and its tree is looked for until nobody is found. */
function end(world: World, step: string): void {
  go(world, `${step} exited`, `${step} drained`);
  while (actorAt(world.run, [`step:${step}`, 'attempt', 'termination']) !== undefined) {
    go(world, `${step} emptied`);
    if (actorAt(world.run, [`step:${step}`, 'attempt', 'termination']) !== undefined)
      go(world, `${step} looked: nobody`);
  }
}

const attemptOf = (world: World, step: string) => actorAt(world.run, [`step:${step}`, 'attempt']);
const isAwaited = (world: World, step: string): boolean =>
  actorAt(world.run, [`step:${step}`, 'attempt', 'termination']) === undefined;
const steer = (world: World, more: Partial<Extract<Command, { type: 'steer' }>> = {}): string =>
  world.command({ type: 'steer', mode: 'auto', text, ...more });
const hear = (world: World, step: string, id: string, state: string, more: object = {}): void =>
  attemptOf(world, step)?.send({ type: 'child.steer', at: world.at(), id, state, ...more });
const verdictOn = (world: World, id: string): string | null => {
  const [answer, ...more] = world.answers.filter((one) => one.id === id);
  expect(more).toEqual([]);
  return answer === undefined ? null : [answer.verdict, answer.reason].filter(Boolean).join(' ');
};
const recordsOf = (world: World, id: string): string[] =>
  world.records.flatMap((one) => (one.type.startsWith('steer.') && 'id' in one && one.id === id ? [one.type] : []));
const statusOf = (world: World): Status =>
  project(world.run.getSnapshot() as AnyMachineSnapshot, { seq: world.records.length, updatedAt: '' });
const expectFold = (world: World): void => expect(fold(world.records)).toEqual(stable(statusOf(world)));
const closedOf = (world: World): (JournalRecord & { type: 'attempt.closed' })[] =>
  world.records.flatMap((one) => (one.type === 'attempt.closed' ? [one] : []));

describe('nothing is heard of a message', () => {
  test('its agent is interrupted and resumed in its session, and gets it again', () => {
    const world = running(['a']);
    const id = steer(world);
    world.clock.advance(AFTER - 1);
    expect(isAwaited(world, 'a')).toBe(true);
    world.clock.advance(1);
    expect(statusOf(world).steering).toMatchObject({
      counts: { requested: 1, recovering: 1 },
      recent: [{ state: 'recovering', recovered: true, targets: [{ step: 'a', state: 'recovering' }] }],
    });
    expectFold(world);
    // What is closed with the process says nothing of the message that is not known already.
    hear(world, 'a', id, 'undelivered', { reason: 'unconfirmed' });
    end(world, 'a');
    expect(closedOf(world)).toMatchObject([
      { attempt: 1, outcome: 'paused', cause: { type: 'recovery', request: id } },
    ]);
    expect(statusOf(world).steps[0]).toMatchObject({ state: 'backing-off', attempt: 1 });
    expectFold(world);
    start(world, 'a');
    expect(attemptOf(world, 'a')?.getSnapshot()).toMatchObject({ context: { n: 2, session: 's1' } });
    hear(world, 'a', id, 'delivered');
    expect(verdictOn(world, id)).toBe('delivered');
    expect(world.answers.at(-1)?.detail).toContain('resumed for it');
    expect(world.told.filter((one) => one === `a steer ${id}`)).toHaveLength(2);
    expect(recordsOf(world, id)).toEqual(
      ['scheduled', 'routed', 'recovering', 'routed', 'delivered'].map((state) => `steer.${state}`),
    );
    go(world, 'a ended well');
    end(world, 'a');
    expect(statusOf(world).steps[0]).toMatchObject({ state: 'completed', attempt: 2 });
    expectFold(world);
  });

  test('once in a run: the next one that is missed ends as it would have', () => {
    const world = running(['a', 'b']);
    const first = steer(world, { step: 'a' });
    world.clock.advance(AFTER);
    end(world, 'a');
    start(world, 'a');
    // Not even for the same message.
    world.clock.advance(AFTER);
    expect(isAwaited(world, 'a')).toBe(true);
    const second = steer(world, { step: 'b' });
    world.clock.advance(AFTER * 10);
    expect(isAwaited(world, 'b')).toBe(true);
    for (const step of ['a', 'b']) {
      go(world, `${step} ended well`);
      end(world, step);
    }
    expect([first, second].map((id) => verdictOn(world, id))).toEqual([
      'undelivered unconfirmed',
      'undelivered unconfirmed',
    ]);
    expect(world.records.filter(({ type }) => type === 'steer.recovering')).toHaveLength(1);
  });

  test('of two targets one is resumed, and the other may still say something', () => {
    const world = running(['a', 'b']);
    const id = steer(world);
    world.clock.advance(AFTER);
    expect([isAwaited(world, 'a'), isAwaited(world, 'b')]).toEqual([false, true]);
    hear(world, 'b', id, 'delivered');
    expect(statusOf(world).steering.recent[0]?.state).toBe('recovering');
    end(world, 'a');
    start(world, 'a');
    hear(world, 'a', id, 'delivered');
    expect(verdictOn(world, id)).toBe('delivered');
  });

  test.each([
    ['queued', 'queued'],
    ['taken', 'taken'],
  ])('what an agent has %s is not missed', (_, state) => {
    const world = running(['a']);
    const id = steer(world);
    hear(world, 'a', id, state);
    world.clock.advance(AFTER * 10);
    expect(isAwaited(world, 'a')).toBe(true);
  });

  test('one for after the answer is not missed before it', () => {
    const world = running(['a']);
    steer(world, { mode: 'next' });
    world.clock.advance(AFTER * 10);
    expect(isAwaited(world, 'a')).toBe(true);
  });

  test('an agent whose session nobody knows is left alone, and the next may be resumed', () => {
    const world = running(['a', 'b'], { session: null });
    const lost = steer(world, { step: 'a' });
    world.clock.advance(AFTER);
    expect(isAwaited(world, 'a')).toBe(true);
    attemptOf(world, 'b')?.send({ type: 'child.session', at: world.at(), session: 's1' });
    steer(world, { step: 'b' });
    world.clock.advance(AFTER);
    expect(isAwaited(world, 'b')).toBe(false);
    go(world, 'a ended well');
    end(world, 'a');
    expect(verdictOn(world, lost)).toBe('undelivered unconfirmed');
  });

  test('where little time is left for it, half of that is kept for the agent that is resumed', () => {
    const world = running(['a']);
    const id = steer(world, { expiresMs: 1_000 });
    world.clock.advance(499);
    expect(isAwaited(world, 'a')).toBe(true);
    world.clock.advance(2);
    expect(isAwaited(world, 'a')).toBe(false);
    world.clock.advance(600);
    expect(verdictOn(world, id)).toBe('undelivered expired');
    end(world, 'a');
    start(world, 'a');
    // It is over: nobody gets it any more.
    expect(world.told.filter((one) => one.startsWith('a steer'))).toHaveLength(1);
  });

  test('a plan that does not ask for it has nobody interrupted', () => {
    const world = new World({ ...RUN_INPUT, steps: RUN_INPUT.steps.slice(0, 1), recoverAfterMs: null });
    go(world, 'begin');
    start(world, 'a');
    steer(world);
    world.clock.advance(AFTER * 100);
    expect(isAwaited(world, 'a')).toBe(true);
  });
});

describe('what holds all the same', () => {
  test('no limit begins anew: the step has its own, the attempt what it had left', () => {
    const limits = { ...NO_LIMITS, attemptMs: 60_000 };
    const world = running(['a'], { timeoutMs: 100_000, limits });
    world.clock.advance(20_000);
    steer(world);
    world.clock.advance(AFTER);
    end(world, 'a');
    start(world, 'a');
    const { attemptMs = 0 } =
      (attemptOf(world, 'a')?.getSnapshot() as AnyMachineSnapshot | undefined)?.context.limits ?? {};
    expect(attemptMs).toBeGreaterThan(36_000);
    expect(attemptMs).toBeLessThan(38_000);
    world.clock.advance(attemptMs + 1);
    end(world, 'a');
    expect(closedOf(world).map(({ cause }) => cause.type)).toEqual(['recovery', 'attempt-limit']);
    expect(actorAt(world.run, ['step:a'])?.getSnapshot()).toMatchObject({ context: { limitMs: 100_000 } });
  });

  test('a stop is stronger, and so is a person who interrupts: then the message waits for the resume', () => {
    const world = running(['a', 'b']);
    const id = steer(world, { step: 'a' });
    world.clock.advance(AFTER);
    const interrupt = world.command({ type: 'interrupt', step: 'a' });
    end(world, 'a');
    expect(verdictOn(world, interrupt)).toBe('applied');
    expect(statusOf(world).steps[0]).toMatchObject({ state: 'paused', cause: { type: 'interrupt' } });
    expect(verdictOn(world, id)).toBe(null);
    expectFold(world);
    world.command({ type: 'resume', step: 'a' });
    start(world, 'a');
    expect(world.told.filter((one) => one === `a steer ${id}`)).toHaveLength(2);
    const stop = world.command({ type: 'stop', step: 'a' });
    end(world, 'a');
    expect(verdictOn(world, stop)).toBe('applied');
    expect(verdictOn(world, id)).toBe('undelivered unconfirmed');
  });

  test('stopped while it is ended for the message, it is stopped, and the message unconfirmed', () => {
    const world = running(['a']);
    const id = steer(world);
    world.clock.advance(AFTER);
    world.command({ type: 'stop' });
    end(world, 'a');
    expect(statusOf(world).steps[0]?.state).toBe('stopped');
    expect(verdictOn(world, id)).toBe('undelivered unconfirmed');
    expectFold(world);
  });

  test('never two writers: where nobody can say that it is gone there is no other attempt', () => {
    const world = running(['a']);
    const id = steer(world);
    world.clock.advance(AFTER);
    go(world, 'a exited', 'a drained', 'a emptied', 'a blind');
    expect(statusOf(world).steps[0]).toMatchObject({ state: 'failed', error: { code: 'unproven' } });
    expect(verdictOn(world, id)).toBe('undelivered unconfirmed');
  });

  test('what the first one took before it ended counts, and is not handed over again', () => {
    const world = running(['a']);
    const id = steer(world);
    world.clock.advance(AFTER);
    hear(world, 'a', id, 'delivered');
    expect(verdictOn(world, id)).toBe('delivered');
    end(world, 'a');
    start(world, 'a');
    expect(world.told.filter((one) => one === `a steer ${id}`)).toHaveLength(1);
  });
});
