import { dirname } from 'node:path';
import { fromPromise } from 'xstate';
import type { FinalizeLine, Instant, JournalBody, RunOutcome } from '../../machines/protocol.ts';
import {
  type Written,
  makeDir,
  removeActive,
  renderReport,
  writeDurable,
  writeDurableText,
  writeJson,
} from '../record/index.ts';
import { type Ending, proofOf, resultOf } from './ending.ts';
import type { Kit } from './kit.ts';
import type { Projector } from './projector.ts';

/** What the lines of the end need beside the kit. */
export interface Closing {
  projector: Projector;
  ending(outcome: RunOutcome): Ending;
  epoch: number;
  /** When `run.settled` and `run.completed` were journaled, where that was done before a crash. */
  before?: { settledAt: Instant | null; completedAt: Instant | null };
  /** Writes closed.json and answers every command that waits. */
  closeInbox(state: RunOutcome['state']): Promise<void>;
}

type Line = { at: Instant };

/**
 * The ports of the finalize machine, one a line of the terminal order. Each can be done again after a failure, and
 * a failure is a rejection with the reason in words.
 */
export function lines(kit: Kit, closing: Closing) {
  const line = (work: (of: FinalizeLine) => Promise<void> | void) =>
    fromPromise<Line, FinalizeLine>(async ({ input }) => {
      await work(input);
      return { at: kit.now() };
    });
  const { settledAt = null, completedAt = null } = closing.before ?? {};
  // What it says is not shown before there is a result to read: the line of the status lets go.
  const settle = once(kit, closing, settledAt, ({ state, cause, partial }) => ({
    type: 'run.settled',
    at: kit.now(),
    state,
    cause,
    partial,
  }));
  const announce = once(kit, closing, completedAt, () => ({ type: 'run.completed', at: kit.now() }));

  return {
    trees: line(async ({ outcome }) => {
      await kit.table.endAll();
      const proof = proofOf(kit, closing.ending(outcome).steps(), closing.epoch, kit.now());
      // Not flushed to disk, like those of the attempts: the journal carries the verdicts, and is, a line further down.
      must(await writeJson(kit.dir.proof, proof));
    }),
    inbox: line(({ outcome }) => closing.closeInbox(outcome.state)),
    settle: fromPromise<Line, FinalizeLine>(({ input }) => settle(input.outcome)),
    result: line(async ({ outcome, settledAt: at }) => {
      const result = resultOf(kit, closing.ending(outcome), at);
      makeDir(dirname(kit.dir.resultOf(closing.epoch)));
      must(await writeDurable(kit.dir.resultOf(closing.epoch), result));
      must(await writeDurable(kit.dir.result, result));
    }),
    status: line(async () => {
      closing.projector.release();
      must(await closing.projector.writeNow());
    }),
    announce: fromPromise<Line, FinalizeLine>(async ({ input }) => {
      const done = await announce(input.outcome);
      closing.projector.release();
      return done;
    }),
    report: line(async ({ outcome, settledAt: at }) => {
      const result = resultOf(kit, closing.ending(outcome), at);
      must(await writeDurableText(kit.dir.report, renderReport(result)));
    }),
    release: line(() => {
      // Without the proof the run stays listed: somebody has to look again.
      if (kit.table.watched().length === 0) must(removeActive(kit.dir));
    }),
  };
}

/** Appends a record once and makes it durable, however often it is tried. The status does not show it until somebody lets go. */
function once(kit: Kit, { projector }: Closing, before: Instant | null, body: (outcome: RunOutcome) => JournalBody) {
  let at = before;
  return async (outcome: RunOutcome): Promise<Line> => {
    if (at === null) {
      const record = body(outcome);
      at = record.at;
      projector.hold();
      kit.journal.append(record);
    }
    must(await kit.journal.sync());
    return { at };
  };
}

function must(written: Written): void {
  if (written.type === 'trouble') throw new Error(written.message);
}
