import { expect, test } from 'vitest';
import type { AnyMachineSnapshot } from 'xstate';
import { fold, outranks, project, stable } from '../../machines/index.ts';
import type { Cause, JournalRecord } from '../../machines/protocol.ts';
import { actorAt } from '../../src/testing/index.ts';
import { RUN_INPUT } from './models.ts';
import { World } from './world.ts';

/**
 * The end of the child, a stop, the deadline of the run and the limit of the step at one moment, in every order: one
 * end, by the order of causes, and of the others it is on record that they came and what won.
 */

const WHAT = ['exit', 'stop', 'run-deadline', 'step-limit'] as const;
type What = (typeof WHAT)[number];

const orders = (rest: readonly What[]): What[][] =>
  rest.length === 0
    ? [[]]
    : rest.flatMap((one) => orders(rest.filter((other) => other !== one)).map((order) => [one, ...order]));

/** One step whose process runs. */
function begun(): World {
  const world = new World({ ...RUN_INPUT, steps: RUN_INPUT.steps.slice(0, 1) });
  for (const name of ['begin', 'a ready', 'a started']) go(world, name);
  return world;
}

function go(world: World, name: string): void {
  const move = world.moves().find((one) => one.name === name);
  if (move === undefined) throw new Error(`no move ${name}`);
  move.go();
}

const MOVES: Record<What, string[]> = {
  exit: ['a ended well', 'a exited', 'a drained'],
  stop: ['stop'],
  'run-deadline': ['run deadline'],
  'step-limit': ['a step limit'],
};

/** Everybody is gone, and the record of the end is made. */
function conclude(world: World, exited: boolean): void {
  if (!exited) for (const name of ['a exited', 'a drained']) go(world, name);
  while (actorAt(world.run, ['step:a']) !== undefined) {
    const [next] = world.moves().filter(({ name }) => name === 'a emptied' || name === 'a looked: nobody');
    if (next === undefined) throw new Error('it does not end');
    for (const name of ['a emptied', 'a looked: nobody'])
      world
        .moves()
        .find((one) => one.name === name)
        ?.go();
  }
  for (const line of ['trees', 'inbox', 'settle', 'result', 'status', 'announce', 'report', 'release'])
    go(world, `${line} done`);
}

const raised = (types: readonly What[]): Cause[] =>
  types.flatMap((type) => (type === 'exit' ? [] : [{ type, at: '', limitMs: 0, source: '' }]));
const strongest = (causes: readonly Cause[]): Cause | null =>
  causes.reduce<Cause | null>((best, one) => (outranks(one, best) ? one : best), null);
const of = <T extends JournalRecord['type']>(world: World, type: T) =>
  world.records.filter((one): one is JournalRecord & { type: T } => one.type === type);

const someOrders = WHAT.flatMap((left) => orders(WHAT.filter((one) => one !== left)));

test.each([...orders(WHAT), ...someOrders].map((order) => [order.join(', '), order] as const))('%s', (_name, order) => {
  const world = begun();
  for (const what of order) for (const name of MOVES[what]) go(world, name);
  const exitAt = order.indexOf('exit');
  conclude(world, exitAt >= 0);

  const beforeExit = raised(exitAt < 0 ? order : order.slice(0, exitAt));
  const [closed] = of(world, 'attempt.closed');
  const [settled, ...more] = of(world, 'run.settled');
  const ofRun = strongest(raised(order.filter((one) => one !== 'step-limit')));
  expect(more).toEqual([]);
  expect(closed?.cause.type).toBe(strongest(beforeExit)?.type ?? 'completed');
  expect(of(world, 'step.settled').map((one) => one.cause.type)).toEqual([closed?.cause.type]);
  expect(settled?.cause.type).toBe(ofRun?.type ?? closed?.cause.type);

  // What did not win is on record, with what did.
  const late = of(world, 'cause.late');
  const winners = new Set([closed?.cause.type, settled?.cause.type]);
  for (const { type } of raised(order)) {
    const known = late.filter((one) => one.cause.type === type);
    expect(winners.has(type) || known.length > 0, type).toBe(true);
    // By the order of causes, or because the exit had been seen.
    const committed = exitAt >= 0 && exitAt < order.indexOf(type as What);
    for (const { cause, won } of known) expect(committed || outranks(won, cause), type).toBe(true);
  }

  const snapshot = world.run.getSnapshot() as AnyMachineSnapshot;
  const status = stable(project(snapshot, { seq: world.records.length, updatedAt: '' }));
  expect(status).toMatchObject({ state: settled?.state, cause: settled?.cause });
  expect(fold(world.records)).toEqual(status);
  expect(world.answers.map((one) => one.verdict)).toEqual(order.includes('stop') ? ['applied'] : []);
});
