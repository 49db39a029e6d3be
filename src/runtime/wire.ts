import {
  type JournalBody,
  type Proof,
  activityMachine,
  attemptMachine,
  fill,
  finalizeMachine,
  runMachine,
  stepMachine,
  terminationMachine,
} from '../../machines/index.ts';
import type { Answer } from '../../machines/protocol.ts';
import { child } from './child.ts';
import { deadline } from './deadline.ts';
import type { Kit } from './kit.ts';
import { type Closing, lines } from './lines.ts';
import { prepare } from './prepare.ts';
import { tree } from './tree.ts';

/** The machines as they come; tests hand in others, to see what a fault in one of them does. */
export const realMachines = {
  run: runMachine,
  step: stepMachine,
  attempt: attemptMachine,
  activity: activityMachine,
  termination: terminationMachine,
  finalize: finalizeMachine,
};
export type Machines = typeof realMachines;

/** Fills every port of every machine. The only place that wires machines to effects. */
export function wire(kit: Kit, closing: Closing, answer: (answer: Answer) => void, machines: Machines = realMachines) {
  const record = (_: unknown, body: JournalBody): void => kit.record(body);
  const keep = (_: unknown, kept: { step: string; n: number; proof: Proof }): void => kit.keepProof(kept);

  const termination = machines.termination.provide({ actors: { tree: fill(tree(kit)) } });
  const attempt = machines.attempt.provide({
    actors: { child: fill(child(kit)), activity: fill(machines.activity), termination: fill(termination) },
    actions: { record, keep },
  });
  const step = machines.step.provide({
    actors: { prepare: fill(prepare(kit)), attempt: fill(attempt), deadline: fill(deadline) },
    actions: { record },
  });
  const run = machines.run.provide({
    actors: { step: fill(step), deadline: fill(deadline), finalize: fill(wireFinalize(kit, closing, machines)) },
    actions: { record, answer: (_: unknown, params: Answer): void => answer(params) },
  });
  return run;
}

export function wireFinalize(kit: Kit, closing: Closing, { finalize }: Machines = realMachines) {
  const ports = lines(kit, closing);
  return finalize.provide({
    actors: {
      trees: fill(ports.trees),
      inbox: fill(ports.inbox),
      settle: fill(ports.settle),
      result: fill(ports.result),
      status: fill(ports.status),
      announce: fill(ports.announce),
      report: fill(ports.report),
      release: fill(ports.release),
    },
    actions: { record: (_: unknown, body: JournalBody): void => kit.record(body) },
  });
}
