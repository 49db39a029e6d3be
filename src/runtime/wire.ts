import {
  type JournalBody,
  type Proof,
  activityMachine,
  askMachine,
  attemptMachine,
  fill,
  finalizeMachine,
  runMachine,
  steeringMachine,
  stepMachine,
  terminationMachine,
} from '../../machines/index.ts';
import type { Answer, Progress } from '../../machines/protocol.ts';
import { check } from './check.ts';
import { child } from './child.ts';
import { deadline } from './deadline.ts';
import type { Kit } from './kit.ts';
import { type Closing, lines } from './lines.ts';
import { nest } from './nest.ts';
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
  steering: steeringMachine,
  ask: askMachine,
};
export type Machines = typeof realMachines;

/** Where what is said about commands goes. */
export interface Answering {
  answer(answer: Answer): void;
  progress(progress: Progress): void;
}

/** Fills every port of every machine. The only place that wires machines to effects. */
export function wire(kit: Kit, closing: Closing, answering: Answering, machines: Machines = realMachines) {
  const record = (_: unknown, body: JournalBody): void => kit.record(body);
  const keep = (_: unknown, kept: { step: string; n: number; proof: Proof }): void => kit.keepProof(kept);

  const termination = machines.termination.provide({ actors: { tree: fill(tree(kit)) } });
  const attempt = machines.attempt.provide({
    actors: {
      child: fill(child(kit)),
      activity: fill(machines.activity),
      termination: fill(termination),
      check: fill(check(kit)),
    },
    actions: { record, keep },
  });
  const step = machines.step.provide({
    actors: { prepare: fill(prepare(kit)), attempt: fill(attempt), deadline: fill(deadline) },
    actions: {
      record,
      release: (_: unknown, of: { step: string; n: number }): void => kit.leases.release(of.step, of.n),
    },
  });
  const run = machines.run.provide({
    actors: {
      step: fill(step),
      steering: fill(machines.steering.provide({ actions: { record } })),
      ask: fill(machines.ask.provide({ actions: { record } })),
      deadline: fill(deadline),
      nest: fill(nest(kit)),
      finalize: fill(wireFinalize(kit, closing, machines)),
    },
    actions: {
      record,
      answer: (_: unknown, params: Answer): void => answering.answer(params),
      progress: (_: unknown, params: Progress): void => answering.progress(params),
    },
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
