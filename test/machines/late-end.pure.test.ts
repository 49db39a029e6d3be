import { expect, test } from 'vitest';
import { RUN_INPUT } from './models.ts';
import { World } from './world.ts';

/** An end that comes when the attempt has ended already, and failed so that it would be tried again. */

function worldAtTheEnd(): World {
  const [plan] = RUN_INPUT.steps;
  if (plan === undefined) throw new Error('no step');
  const world = new World({ ...RUN_INPUT, steps: [plan] });
  go(world, 'begin', 'a ready', 'a started', 'a active', 'a ended badly', 'a exited', 'a drained');
  return world;
}

function go(world: World, ...names: string[]): void {
  for (const name of names) {
    const move = world.moves().find((one) => one.name === name);
    if (move === undefined)
      throw new Error(
        `there is no "${name}" now: ${world
          .moves()
          .map((one) => one.name)
          .join(', ')}`,
      );
    move.go();
  }
}

const close = (world: World): void => go(world, 'a emptied', 'a looked: nobody');
const launches = (world: World): number => world.records.filter(({ type }) => type === 'attempt.launching').length;
const stateOf = (world: World) =>
  (world.run.getSnapshot() as unknown as { context: { settled: { outcome: string; cause: { type: string } }[] } })
    .context.settled[0];

test('left alone it is tried again', () => {
  const world = worldAtTheEnd();
  close(world);
  go(world, 'a back-off', 'a ready');
  expect(launches(world)).toBe(2);
});

test.each(['stop', 'signal'])('there is no other attempt after a %s of the run', (end) => {
  const world = worldAtTheEnd();
  go(world, end);
  close(world);
  expect(stateOf(world)).toMatchObject({ outcome: 'stopped' });
  expect(launches(world)).toBe(1);
});

test.each([
  ['stop', 'stopped'],
  ['interrupt', 'paused'],
] as const)('a %s of the step has its word when the attempt has closed: it did something', (type, outcome) => {
  const world = worldAtTheEnd();
  const id = world.command({ type, step: 'a' });
  expect(world.answers.some((answer) => answer.id === id)).toBe(false);
  close(world);
  expect(world.answers.find((answer) => answer.id === id)).toMatchObject({ verdict: 'applied' });
  expect(stateOf(world)).toMatchObject({ outcome, cause: { type } });
  expect(launches(world)).toBe(1);
});

test('or nothing, where the attempt has done well', () => {
  const [plan] = RUN_INPUT.steps;
  const world = new World({ ...RUN_INPUT, steps: plan === undefined ? [] : [plan] });
  go(world, 'begin', 'a ready', 'a started', 'a active', 'a ended well', 'a exited', 'a drained');
  const id = world.command({ type: 'stop', step: 'a' });
  close(world);
  expect(world.answers.find((answer) => answer.id === id)).toMatchObject({
    verdict: 'rejected',
    reason: 'already-ended',
  });
  expect(stateOf(world)).toMatchObject({ outcome: 'completed' });
});
