import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type Snapshot,
  createActor,
  transition,
} from 'xstate';
import { beforeAll, describe, expect, test } from 'vitest';
import { machines } from '../../machines/index.ts';
import { type Path, type PathModel, StepClock, TransitionCoverage, edgePaths } from '../../src/testing/index.ts';
import { inert } from '../support/walk.ts';
import { models } from './models.ts';

/**
 * How many transitions each machine has. Who adds or takes one changes the number with it: one that is lost by mistake is
 * no longer there to be missed by the walks.
 */
const TRANSITIONS: Record<keyof typeof machines, number> = {
  run: 68,
  step: 32,
  attempt: 66,
  activity: 33,
  termination: 20,
  finalize: 18,
  steering: 27,
  ask: 5,
  inbox: 26,
};

describe.each(Object.keys(TRANSITIONS) as (keyof typeof machines)[])('%s', (name) => {
  const machine = machines[name] as AnyStateMachine;
  const coverage = new TransitionCoverage(machine);
  let walks: Walk[] = [];

  beforeAll(() => {
    walks = (models[name] ?? []).flatMap((model) => walkAll(model, coverage));
    console.info(`${coverage.toString()} on ${walks.length} paths`);
  });

  test('every transition is walked by generated paths, and none of them breaks the machine', () => {
    expect(coverage.missing()).toEqual([]);
    expect(coverage.total).toBe(TRANSITIONS[name]);
    expect(walks.filter(({ status }) => status === 'error')).toEqual([]);
  });

  test('a path ends in the same state on the actor as on the pure machine', () => {
    expect(walks.filter(({ value, pure }) => value !== pure)).toEqual([]);
  });

  test('S094: in every state a snapshot can be stored, and it names the source of each child', () => {
    expect(walks.filter(({ nameless }) => nameless.length > 0)).toEqual([]);
    const met = new Set(walks.flatMap(({ nodes }) => nodes));
    expect(resting(machine.root).filter((id) => !met.has(id))).toEqual([]);
  });
});

test('every machine is walked', () => {
  expect(Object.keys(machines).toSorted()).toEqual(Object.keys(TRANSITIONS).toSorted());
  expect(Object.keys(models).toSorted()).toEqual(Object.keys(TRANSITIONS).toSorted());
});

/** What there is to say of a path that has been walked. */
interface Walk {
  path: string;
  status: string;
  /** The state value at its end, and the one that the pure machine gives for the last event. */
  value: string;
  pure: string;
  /** Children in the stored snapshot that cannot be made from it again. */
  nameless: unknown[];
  /** The state nodes before and after the last event. */
  nodes: string[];
}

interface Stored {
  children?: Record<string, { src: unknown }>;
}

/** Every port is filled with an actor that does nothing: what happens is what the path sends. */
function walkAll(model: PathModel, { inspect }: TransitionCoverage): Walk[] {
  const machine = inert(model.machine);
  return edgePaths(model).map((path) => walk(machine, path, { input: model.input, clock: new StepClock(), inspect }));
}

function walk(machine: AnyStateMachine, path: Path, options: object): Walk {
  const actor = createActor(machine, options as never).start();
  for (const event of path.events.slice(0, -1)) actor.send(event);
  const before = actor.getSnapshot() as AnyMachineSnapshot;
  const [last] = path.events.slice(-1) as [Path['events'][number]];
  const [pure] = transition(machine, before as never, last as never) as unknown as [AnyMachineSnapshot];
  actor.send(last);
  const after = actor.getSnapshot() as AnyMachineSnapshot;
  const stored = actor.getPersistedSnapshot() as Snapshot<unknown> & Stored;
  JSON.stringify(stored);
  actor.stop();
  const sources = Object.values(stored.children ?? {}).map(({ src }) => src);
  return {
    path: path.events.map(({ type }) => type).join(', '),
    status: after.status,
    value: JSON.stringify(after.value),
    pure: JSON.stringify(pure.value),
    nameless: sources.filter((src) => typeof src !== 'string' || !(src in machine.implementations.actors)),
    nodes: [before, after].flatMap(({ _nodes }) => (_nodes as AnyStateNode[]).map(({ id }) => id)),
  };
}

/** The state nodes that a machine can be found in: all but those that it always leaves at once. */
function resting(node: AnyStateNode): string[] {
  const passes = node.type === 'history' || node.always?.some(({ guard }) => guard === undefined) === true;
  return [...(passes ? [] : [node.id]), ...Object.values(node.states).flatMap(resting)];
}
