import type { AnyMachineSnapshot } from 'xstate';
import { expect, test, vi } from 'vitest';
import { fold, project, stable } from '../../machines/index.ts';
import { expectSame } from '../support/same.ts';
import { World } from './world.ts';

/** A small seeded generator: a walk that fails is walked again by its seed. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const WALKS = Number(process.env['COXSWAIN_WALKS'] ?? 60);
const MOST_MOVES = 400;

test(`on ${WALKS} random walks the journal folds to what the snapshots project, after every move`, () => {
  // A message to an actor that has ended says that somebody does not know it.
  const warned = vi.spyOn(console, 'warn');
  const ends = new Map<string, number>();
  for (let seed = 1; seed <= WALKS; seed += 1) {
    const world = new World();
    const random = seeded(seed);
    const trail: string[] = [];
    for (let i = 0; i < MOST_MOVES; i += 1) {
      const moves = world.moves().filter((move) => rare(move.name, seed, random));
      if (moves.length === 0) {
        if (world.moves().length === 0) break;
        continue;
      }
      const move = moves[Math.floor(random() * moves.length)];
      if (move === undefined) break;
      trail.push(move.name);
      move.go();
      const snapshot = world.run.getSnapshot() as AnyMachineSnapshot;
      const where = () => `seed ${seed}: ${trail.slice(-12).join(' > ')}`;
      const shown = shownOf(world);
      const folded = fold(shown);
      if (folded === null) continue;
      const projected = stable(project(snapshot, { seq: shown.at(-1)?.seq ?? 0, updatedAt: world.at() }));
      expectSame(projected.endedAt !== undefined, trail.includes('result done'), where);
      expectSame(folded, projected, where);
      expectSame(stable(projected), projected, where);
    }
    const { state } = project(world.run.getSnapshot() as AnyMachineSnapshot, { seq: 0, updatedAt: '' });
    ends.set(state, (ends.get(state) ?? 0) + 1);
    expect(world.records.filter((record) => record.type === 'run.settled').length, `seed ${seed}`).toBeLessThanOrEqual(
      1,
    );
    oneEndEach(world, seed);
  }
  expect(warned.mock.calls).toEqual([]);
  // A walk that never gets anywhere would prove nothing.
  expect([...ends.keys()]).toEqual(expect.arrayContaining(['completed', 'failed', 'stopped', 'paused']));
});

/** That the run has settled is in the journal before there is a result, and shown when there is one. */
function shownOf({ records, context }: World): World['records'] {
  return context.endedAt === null ? records.filter(({ type }) => type !== 'run.settled') : records;
}

/** Ends of the whole run come seldom, so that walks get somewhere. */
function rare(name: string, seed: number, random: () => number): boolean {
  const ending =
    ['stop', 'signal', 'run deadline'].includes(name) || / (limit|broken|blind|refused|unstarted)$/.test(name);
  if (name.endsWith('failed')) return random() < 0.2;
  if (name.startsWith('command '))
    return random() < (name === 'command interrupt' || name.includes('stop') ? 0.01 : 0.05);
  if (name.startsWith('below ')) return random() < 0.1;
  if (/ (asks|queues|takes|took|drops|asks no more)$/.test(name)) return random() < 0.3;
  return !ending || (seed % 2 === 0 && random() < 0.05);
}

/** Every step that was started settles once; every launch closes once; every command has one final answer. */
function oneEndEach(world: World, seed: number): void {
  const { records } = world;
  const count = (type: string) => records.filter((record) => record.type === type).length;
  if (count('run.settled') === 0) return;
  expect(count('attempt.closed'), `seed ${seed}`).toBe(count('attempt.launching'));
  // Once, and once more for each time that it was resumed, or stopped while it was paused. Paused runs leave some open.
  const settled = records.flatMap((record) => (record.type === 'step.settled' ? [record.step] : []));
  const resumed = count('step.resumed');
  expect(settled.length, `seed ${seed}`).toBeGreaterThanOrEqual(new Set(settled).size + resumed - openSteps(world));
  const answered = world.answers.map(({ id }) => id);
  expect(new Set(answered).size, `seed ${seed}`).toBe(answered.length);
  expect(answered.length, `seed ${seed}`).toBe(count('command.accepted'));
  const { steering, asks } = project(world.run.getSnapshot() as AnyMachineSnapshot, { seq: 0, updatedAt: '' });
  const { requested, delivered, undelivered } = steering.counts;
  expect(delivered + undelivered, `seed ${seed}`).toBe(requested);
  expect(requested, `seed ${seed}`).toBe(count('steer.scheduled') + count('steer.refused'));
  expect(
    asks.filter(({ state }) => state === 'asked'),
    `seed ${seed}`,
  ).toEqual([]);
  expect(count('ask.asked'), `seed ${seed}`).toBe(
    count('ask.answered') + count('ask.declined') + count('ask.expired') + count('ask.run-ended'),
  );
}

const openSteps = (world: World): number =>
  project(world.run.getSnapshot() as AnyMachineSnapshot, { seq: 0, updatedAt: '' }).steps.filter(
    ({ state }) => state === 'pending',
  ).length;
