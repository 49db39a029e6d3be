import type { AnyMachineSnapshot } from 'xstate';
import { expect, test } from 'vitest';
import { fold, project, stable } from '../../machines/index.ts';
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
      const folded = fold(world.records);
      if (folded === null) continue;
      const snapshot = world.run.getSnapshot() as AnyMachineSnapshot;
      const projected = stable(project(snapshot, { seq: world.records.length, updatedAt: world.at() }));
      expect(folded, `seed ${seed}: ${trail.slice(-12).join(' > ')}`).toEqual(projected);
      expect(stable(projected)).toEqual(projected);
    }
    const { state } = project(world.run.getSnapshot() as AnyMachineSnapshot, { seq: 0, updatedAt: '' });
    ends.set(state, (ends.get(state) ?? 0) + 1);
    expect(world.records.filter((record) => record.type === 'run.settled').length, `seed ${seed}`).toBeLessThanOrEqual(
      1,
    );
    oneEndEach(world, seed);
  }
  // A walk that never gets anywhere would prove nothing.
  expect([...ends.keys()]).toEqual(expect.arrayContaining(['completed', 'failed', 'stopped']));
});

/** Ends of the whole run come seldom, so that walks get somewhere. */
function rare(name: string, seed: number, random: () => number): boolean {
  const ending =
    ['stop', 'signal', 'run deadline'].includes(name) || / (limit|broken|blind|refused|unstarted)$/.test(name);
  if (name.endsWith('failed')) return random() < 0.2;
  return !ending || (seed % 2 === 0 && random() < 0.05);
}

/** Every step that was started settles once; every launch closes once; every command has one final answer. */
function oneEndEach(world: World, seed: number): void {
  const { records } = world;
  const count = (type: string) => records.filter((record) => record.type === type).length;
  if (count('run.settled') === 0) return;
  expect(count('attempt.closed'), `seed ${seed}`).toBe(count('attempt.launching'));
  const settled = records.flatMap((record) => (record.type === 'step.settled' ? [record.step] : []));
  expect(settled.toSorted(), `seed ${seed}`).toEqual(['a', 'b', 'c']);
  expect(world.answers.length, `seed ${seed}`).toBe(count('command.accepted'));
}
