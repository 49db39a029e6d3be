import { describe, expect, test } from 'vitest';
import type { AnyMachineSnapshot } from 'xstate';
import { can, fold, project, why } from '../../machines/index.ts';
import type { Command, JournalRecord, Possible, Status } from '../../machines/protocol.ts';
import { actorAt } from '../../src/testing/index.ts';
import { RETRY, RUN_INPUT } from './models.ts';
import { World } from './world.ts';

/** Commands, messages and asks over the wired machines: what becomes of them when steps come and go. */

const TEXT = { chars: 4, sha256: '0123456789ab' };

function begun(steps = 1, more: object = {}): World {
  const world = new World({
    ...RUN_INPUT,
    steps: RUN_INPUT.steps.slice(0, steps).map((step) => ({ ...step, ...more })),
  });
  go(world, 'begin');
  return world;
}

function go(world: World, ...names: string[]): void {
  for (const name of names) {
    const move = world.moves().find((one) => one.name === name);
    if (move === undefined)
      throw new Error(
        `no move ${name} among ${world
          .moves()
          .map((one) => one.name)
          .join(', ')}`,
      );
    move.go();
  }
}

/** The tree of its attempt is looked for until nobody is found. */
function close(world: World, step: string): void {
  for (let looks = 0; actorAt(world.run, [`step:${step}`, 'attempt', 'termination']) !== undefined; looks += 1) {
    if (looks > 9) throw new Error('it does not end');
    go(world, `${step} emptied`);
    if (actorAt(world.run, [`step:${step}`, 'attempt', 'termination']) !== undefined)
      go(world, `${step} looked: nobody`);
  }
}

const running = (world: World, step = 'a'): void => go(world, `${step} ready`, `${step} started`);
const finished = (world: World, step = 'a'): void => {
  go(world, `${step} ended well`, `${step} exited`, `${step} drained`);
  close(world, step);
};
const ended = (world: World, step = 'a'): void => {
  go(world, `${step} exited`, `${step} drained`);
  close(world, step);
};

const statusOf = (world: World): Status =>
  project(world.run.getSnapshot() as AnyMachineSnapshot, { seq: world.records.length, updatedAt: '' });
const answerTo = (world: World, id: string): string | null => {
  const answers = world.answers.filter((one) => one.id === id);
  expect(answers.length).toBeLessThanOrEqual(1);
  const [answer] = answers;
  if (answer === undefined) return null;
  return answer.reason === undefined ? answer.verdict : `${answer.verdict} ${answer.reason}`;
};
const steerEvents = (world: World): string[] =>
  world.records.flatMap((one) => (one.type.startsWith('steer.') ? [one.type.replace('steer.', '')] : []));
const steer = (world: World, more: Partial<Extract<Command, { type: 'steer' }>> = {}): string =>
  world.command({ type: 'steer', mode: 'auto', text: TEXT, ...more });

describe('a message', () => {
  test('is taken, and then the work goes on with it', () => {
    const world = begun();
    running(world);
    const id = steer(world);
    expect(world.told).toContain(`a steer ${id}`);
    go(world, 'a queues');
    expect(world.progress).toMatchObject([{ id, verdict: 'queued' }]);
    go(world, 'a takes');
    expect(answerTo(world, id)).toBe(null);
    go(world, 'a took');
    expect(answerTo(world, id)).toBe('delivered');
    expect(steerEvents(world)).toEqual(['scheduled', 'routed', 'queued', 'delivered']);
  });

  test('taken into a turn that is dropped is undelivered, and somebody is told', () => {
    const world = begun();
    running(world);
    const id = steer(world);
    go(world, 'a takes', 'a drops');
    expect(answerTo(world, id)).toBe('undelivered aborted');
    expect(world.records.at(-1)).toMatchObject({ type: 'notice', id, state: 'undelivered', reason: 'aborted' });
  });

  test('for an attempt that closes without a word is unconfirmed; one in its queue was not taken', () => {
    const world = begun();
    running(world);
    const [silent, queued] = [steer(world), steer(world)];
    actorAt(world.run, ['step:a', 'attempt'])?.send({
      type: 'child.steer',
      at: world.at(),
      id: queued,
      state: 'queued',
    });
    finished(world);
    expect(answerTo(world, silent)).toBe('undelivered unconfirmed');
    expect(answerTo(world, queued)).toBe('undelivered step-ended');
  });

  test('waits while the step is prepared, and between two attempts', () => {
    const world = begun();
    const early = steer(world, { step: 'a' });
    expect(steerEvents(world)).toEqual(['scheduled']);
    running(world);
    go(world, 'a took');
    expect(answerTo(world, early)).toBe('delivered');
    go(world, 'a ended badly', 'a exited', 'a drained');
    close(world, 'a');
    const later = steer(world, { step: 'a' });
    expect(statusOf(world).steps[0]?.state).toBe('backing-off');
    expect(statusOf(world).steering.counts).toMatchObject({ scheduled: 1, delivered: 1 });
    go(world, 'a back-off');
    running(world);
    expect(world.told.filter((one) => one === `a steer ${later}`)).toHaveLength(1);
  });

  test('for a step that is paused is handed over when it goes on', () => {
    const world = begun(3);
    running(world, 'a');
    running(world, 'c');
    world.command({ type: 'interrupt', step: 'a' });
    ended(world, 'a');
    const id = steer(world, { step: 'a' });
    world.command({ type: 'resume', step: 'a' });
    running(world, 'a');
    expect(world.told).toContain(`a steer ${id}`);
  });

  test('that nobody can take any more ends with the run', () => {
    const world = begun(2);
    running(world);
    const id = steer(world, { step: 'b' });
    world.command({ type: 'stop' });
    expect(answerTo(world, id)).toBe('undelivered run-ended');
    const late = steer(world);
    expect(answerTo(world, late)).toBe('undelivered run-ended');
    ended(world);
  });

  test('expires with its agent, and what is heard after that is late', () => {
    const world = begun();
    running(world);
    const id = steer(world, { expiresMs: 500 });
    world.clock.advance(500);
    expect(answerTo(world, id)).toBe('undelivered expired');
    go(world, 'a took');
    expect(steerEvents(world)).toEqual(['scheduled', 'routed', 'undelivered', 'late']);
    go(world, 'a took');
    expect(statusOf(world).steering.counts).toMatchObject({ requested: 1, undelivered: 1, late: 1 });
    expect(fold(world.records)?.steering).toEqual(statusOf(world).steering);
  });

  test('under the id of another that is open is a conflict, and the first one has its own end', () => {
    const world = begun();
    running(world);
    const id = steer(world);
    world.run.send({
      type: 'run.command',
      at: world.at(),
      command: { type: 'steer', id, source: 's', mode: 'now', text: TEXT },
    });
    expect(world.answers.map(({ verdict, reason }) => [verdict, reason])).toEqual([['conflict', 'id-reused']]);
    go(world, 'a took');
    expect(world.answers.at(-1)).toMatchObject({ id, verdict: 'delivered' });
  });
});

describe('stop and interrupt of a step', () => {
  test('are refused when the attempt has committed to its end', () => {
    const world = begun();
    running(world);
    go(world, 'a ended well', 'a exited');
    const stop = world.command({ type: 'stop', step: 'a' });
    const interrupt = world.command({ type: 'interrupt', step: 'a' });
    expect([answerTo(world, stop), answerTo(world, interrupt)]).toEqual([
      'rejected already-ended',
      'rejected already-ended',
    ]);
    go(world, 'a drained');
    close(world, 'a');
    expect(statusOf(world).steps[0]?.state).toBe('completed');
  });

  test('a stop takes the place of an interrupt, and not the other way round', () => {
    const world = begun();
    running(world);
    const first = world.command({ type: 'interrupt', step: 'a' });
    const again = world.command({ type: 'interrupt', step: 'a' });
    const stop = world.command({ type: 'stop', step: 'a' });
    const late = world.command({ type: 'interrupt', step: 'a' });
    expect([first, again, stop, late].map((id) => answerTo(world, id))).toEqual([
      'applied',
      'applied',
      'applied',
      'rejected already-ended',
    ]);
    ended(world);
    expect(statusOf(world).steps[0]).toMatchObject({ state: 'stopped', cause: { type: 'stop' } });
  });

  test('a pause between attempts is immediate, and keeps the tries, the session and what is left of the limit', () => {
    const world = begun(3, { timeoutMs: 60_000 });
    running(world, 'a');
    running(world, 'c');
    actorAt(world.run, ['step:a', 'attempt'])?.send({ type: 'child.session', at: world.at(), session: 's1' });
    world.clock.advance(10_000);
    world.command({ type: 'interrupt', step: 'a' });
    ended(world, 'a');
    expect(statusOf(world).steps[0]?.state).toBe('paused');
    world.clock.advance(100_000);
    world.command({ type: 'resume' });
    const step = (actorAt(world.run, ['step:a'])?.getSnapshot() as AnyMachineSnapshot).context;
    expect(step).toMatchObject({ session: 's1', n: 2 });
    expect(step.limitMs).toBeGreaterThan(45_000);
    expect(step.limitMs).toBeLessThan(51_000);
    expect(statusOf(world).steps[0]).toMatchObject({ state: 'preparing', attempt: 1 });
    running(world, 'a');
    const attempt = (actorAt(world.run, ['step:a', 'attempt'])?.getSnapshot() as AnyMachineSnapshot).context;
    expect(attempt).toMatchObject({ session: 's1', n: 2 });
  });

  test('a step that is paused before its first attempt begins afresh when it is resumed', () => {
    const world = begun(3);
    running(world, 'a');
    running(world, 'c');
    world.command({ type: 'interrupt', step: 'b' });
    expect(statusOf(world).steps[1]).toMatchObject({ state: 'paused', attempt: 0 });
    finished(world, 'a');
    expect(statusOf(world).steps[1]?.state).toBe('paused');
    world.command({ type: 'resume', step: 'b' });
    expect(statusOf(world).steps[1]).toMatchObject({ state: 'preparing', attempt: 0 });
  });
});

describe('an ask', () => {
  test('is answered once; the child gets that answer, and no other', () => {
    const world = begun();
    running(world);
    go(world, 'a asks');
    const [{ id: ask } = { id: '' }] = statusOf(world).asks;
    expect(statusOf(world).steps[0]?.waiting).toBe('person');
    const first = world.command({ type: 'answer', ask, text: TEXT });
    const second = world.command({ type: 'answer', ask, text: TEXT });
    expect([answerTo(world, first), answerTo(world, second)]).toEqual(['applied', 'rejected not-waiting']);
    expect(world.told.filter((one) => one.includes('answer'))).toEqual([`a answer ${ask} ${first}`]);
    expect(statusOf(world).steps[0]?.waiting).toBeUndefined();
  });

  test('does not let its step stall, and the time goes on', () => {
    const limits = {
      attemptMs: 500_000,
      firstOutputMs: null,
      stall: { afterMs: 90_000, action: 'stop' },
      toolMs: null,
    };
    const world = begun(1, { limits, retry: { ...RETRY, attempts: 1 } });
    running(world);
    go(world, 'a asks');
    world.clock.advance(400_000);
    expect(statusOf(world).steps[0]).toMatchObject({ state: 'running', activity: 'fresh', waiting: 'person' });
    world.clock.advance(100_000);
    ended(world);
    expect(statusOf(world).steps[0]?.cause?.type).toBe('attempt-limit');
    expect(statusOf(world).asks).toMatchObject([{ state: 'expired' }]);
  });
});

test('S050: in every state of random walks, what `can` names is obeyed, and what it does not name is refused', () => {
  let asked = 0;
  for (let seed = 1; seed <= 80; seed += 1) {
    const world = new World();
    let state = seed;
    const random = (): number => {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      return state / 2 ** 32;
    };
    const moves = 5 + Math.floor(random() * 60);
    for (let i = 0; i < moves; i += 1) {
      const choices = world
        .moves()
        .filter(({ name }) => name !== 'run refused' && (random() < 0.1 || !/stop|interrupt|deadline/.test(name)));
      choices[Math.floor(random() * choices.length)]?.go();
    }
    if (fold(world.records) === null || world.run.getSnapshot().status !== 'active') continue;
    const status = statusOf(world);
    const possible = can(status);
    const names = new Set(possible.map(nameOf));
    const all = everything(status);
    const one = all[Math.floor(random() * all.length)];
    if (one === undefined) continue;
    asked += 1;
    const id = world.command(commandFor(one));
    const verdict = answerTo(world, id);
    const isTakenOn = world.records.some((record) => record.type === 'steer.scheduled' && record.id === id);
    const isRefused = verdict !== null && verdict !== 'applied' && !isTakenOn;
    // An attempt that has committed to its end lets nothing in, which nobody sees before it is asked.
    if (verdict === 'rejected already-ended' && one.step !== undefined) continue;
    expect(isRefused, `seed ${seed}: ${nameOf(one)} in ${status.state} was ${verdict ?? 'taken'}`).toBe(
      !names.has(nameOf(one)),
    );
  }
  expect(asked).toBeGreaterThan(40);
});

const nameOf = ({ command, step, ask }: Possible): string => [command, step, ask].join(' ');

function everything({ steps, asks }: Status): Possible[] {
  const ofTarget = (step?: string): Possible[] =>
    (['stop', 'interrupt', 'resume', 'steer', 'extend'] as const).map((command) => ({
      command,
      ...(step === undefined ? {} : { step }),
    }));
  return [
    ...ofTarget(),
    { command: 'append' },
    ...steps.flatMap(({ id }) => ofTarget(id)),
    ...asks.map(({ id }) => ({ command: 'answer', ask: id }) as const),
  ];
}

function commandFor({ command, step, ask }: Possible): Parameters<World['command']>[0] {
  const target = step === undefined ? {} : { step };
  switch (command) {
    case 'stop':
    case 'interrupt':
    case 'resume':
      return { type: command, ...target };
    case 'steer':
      return { type: 'steer', mode: 'auto', text: TEXT, ...target };
    case 'extend':
      return { type: 'extend', deadlineAt: '2026-12-01T01:00:00.000Z', limitMs: 60_000, ...target };
    case 'append':
      return {
        type: 'append',
        steps: [{ ...(RUN_INPUT.steps[0] as (typeof RUN_INPUT.steps)[number]), id: 'new', needs: [] }],
      };
    case 'answer':
      return { type: 'answer', ask: ask ?? '', text: TEXT };
  }
}

test('why: the path of a step, state by state, with what led from one to the next', () => {
  const world = begun(3);
  running(world, 'a');
  running(world, 'c');
  world.command({ type: 'interrupt', step: 'a' });
  ended(world, 'a');
  world.command({ type: 'resume', step: 'a' });
  running(world, 'a');
  const path = why(world.records as JournalRecord[], { step: 'a' });
  expect(path.filter(({ from, to }) => from !== to).map(({ to, record }) => `${record.type}: ${to}`)).toEqual([
    'step.started: preparing',
    'attempt.launching: running',
    'step.settled: paused',
    'step.resumed: pending',
    'step.started: preparing',
    'attempt.launching: running',
  ]);
  const ofRun = why(world.records as JournalRecord[]);
  expect(ofRun[0]).toMatchObject({ from: null, to: 'running', record: { type: 'run.started' } });
});
