import { type AnyStateMachine, createActor, fromCallback, transition } from 'xstate';
import { describe, expect, test } from 'vitest';
import { machines } from '../../machines/index.ts';
import { StepClock, TransitionCoverage, edgePaths } from '../../src/testing/index.ts';
import { models } from './models.ts';

/** Every port is filled with an actor that does nothing: what happens is what the path sends. */
function inert(machine: AnyStateMachine): AnyStateMachine {
  const nothing = fromCallback(() => {});
  const names = Object.keys(machine.implementations.actors);
  return machine.provide({ actors: Object.fromEntries(names.map((name) => [name, nothing])) });
}

describe.each(Object.keys(machines))('%s', (name) => {
  const pathModels = models[name] ?? [];

  test('every transition is walked by generated paths', () => {
    const machine = machines[name as keyof typeof machines] as AnyStateMachine;
    const coverage = new TransitionCoverage(machine);
    let walked = 0;
    for (const model of pathModels) {
      const provided = inert(model.machine);
      for (const path of edgePaths(model)) {
        const actor = createActor(provided, {
          input: model.input,
          clock: new StepClock(),
          inspect: coverage.inspect,
        } as never);
        actor.start();
        for (const event of path.events) actor.send(event);
        expect(actor.getSnapshot().status, path.name).not.toBe('error');
        actor.stop();
        walked += 1;
      }
    }
    console.info(`${coverage.toString()} on ${walked} paths`);
    expect(coverage.missing()).toEqual([]);
    expect(coverage.total).toBeGreaterThanOrEqual(5);
  });

  test('a path ends in the same state on the actor as on the pure machine', () => {
    const model = pathModels[0];
    if (model === undefined) throw new Error(`no model for ${name}`);
    const provided = inert(model.machine);
    for (const path of edgePaths(model).filter((_, i) => i % 7 === 0)) {
      const actor = createActor(provided, { input: model.input, clock: new StepClock() } as never).start();
      for (const event of path.events.slice(0, -1)) actor.send(event);
      const last = path.events.at(-1);
      if (last === undefined) continue;
      const [pure] = transition(provided, actor.getSnapshot() as never, last as never);
      actor.send(last);
      expect(actor.getSnapshot().value, path.name).toEqual(pure.value);
      actor.stop();
    }
  });
});
