import { assertEvent } from 'xstate';
import { seeNested } from './policy/nested.ts';
import { base } from './run-base.ts';
import type { RunOutcome } from './protocol.ts';

/** What a run does about the runs that its children have started: it knows them, and writes down where they begin and end. */

export const seeBelow = base.enqueueActions(({ context, event, enqueue }) => {
  assertEvent(event, 'nested.seen');
  const { at, runs } = event;
  const { known, started, ended } = seeNested(context.nested, runs);
  enqueue.assign({ nested: known });
  for (const { id: run, step, attempt, depth } of started) {
    enqueue({ type: 'record', params: { type: 'nested.started', at, run, step, attempt, depth } });
  }
  for (const { id: run, step, attempt, state, name, counts } of ended) {
    const outcome = state as RunOutcome['state'];
    enqueue({ type: 'record', params: { type: 'nested.ended', at, run, step, attempt, state: outcome, name, counts } });
  }
});
