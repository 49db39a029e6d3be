export { runMachine } from './run.ts';
export { stepMachine } from './step.ts';
export { attemptMachine } from './attempt.ts';
export { activityMachine } from './activity.ts';
export { terminationMachine } from './termination.ts';
export { finalizeMachine } from './finalize.ts';
export { steeringMachine } from './steering.ts';
export { askMachine } from './ask.ts';
export { inboxMachine } from './inbox.ts';
export { fill, port } from './port.ts';
export type { Port } from './port.ts';
export { outcomeOf, outranks } from './policy/cause.ts';
export { can } from './policy/commands.ts';
export { why } from './why.ts';
export { fold, project, stable } from './projection.ts';
export type * from './protocol.ts';

import { activityMachine } from './activity.ts';
import { askMachine } from './ask.ts';
import { attemptMachine } from './attempt.ts';
import { finalizeMachine } from './finalize.ts';
import { inboxMachine } from './inbox.ts';
import { runMachine } from './run.ts';
import { steeringMachine } from './steering.ts';
import { stepMachine } from './step.ts';
import { terminationMachine } from './termination.ts';

/** Every machine of the house by its name: what the diagrams are made of. */
export const machines = {
  run: runMachine,
  step: stepMachine,
  attempt: attemptMachine,
  activity: activityMachine,
  termination: terminationMachine,
  finalize: finalizeMachine,
  steering: steeringMachine,
  ask: askMachine,
  inbox: inboxMachine,
};
