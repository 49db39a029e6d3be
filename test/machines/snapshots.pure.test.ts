import { type AnyStateMachine, type Snapshot, createActor } from 'xstate';
import { describe, expect, test } from 'vitest';
import { StepClock, edgePaths } from '../../src/testing/index.ts';
import { inert } from '../support/walk.ts';
import { models } from './models.ts';

/** S094: in every state a snapshot can be stored, and every actor in it has a name it can be made from again. */

interface Stored {
  children?: Record<string, { src: unknown; snapshot: Stored }>;
}

describe.each(Object.entries(models))('%s', (_, pathModels) => {
  test('a snapshot of every state names the source of each child', () => {
    let states = 0;
    for (const model of pathModels) {
      const machine: AnyStateMachine = inert(model.machine);
      for (const path of edgePaths(model)) {
        const actor = createActor(machine, { input: model.input, clock: new StepClock() } as never).start();
        for (const event of path.events) actor.send(event);
        const stored = actor.getPersistedSnapshot() as Snapshot<unknown> & Stored;
        const sources = Object.values(stored.children ?? {}).map((child) => child.src);
        expect(sources.filter((src) => typeof src !== 'string' || !(src in machine.implementations.actors))).toEqual(
          [],
        );
        expect(() => JSON.stringify(stored)).not.toThrow();
        actor.stop();
        states += 1;
      }
    }
    expect(states).toBeGreaterThan(5);
  });
});
