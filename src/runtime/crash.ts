import { createActor, toPromise } from 'xstate';
import {
  type Cause,
  type JournalRecord,
  type ProofSummary,
  type RunOutcome,
  type RunOutput,
  type Status,
  type StepStatus,
  fold,
} from '../../machines/index.ts';
import { type Journal, type StatusFile, readJournal } from '../record/index.ts';
import { endedSteps } from './journaled.ts';
import type { Kit } from './kit.ts';
import type { Closing } from './lines.ts';
import { createProjector } from './projector.ts';
import { wireFinalize } from './wire.ts';

/**
 * The end of a run whose machines have failed: every child is ended by the process table, the journal is folded in
 * place of the snapshot that is lost, and the record of the end is made in the same order as ever.
 */
export async function concludeCrash(
  kit: Kit,
  options: { file: StatusFile; epoch: number; closeInbox: Closing['closeInbox']; error: unknown },
): Promise<RunOutput> {
  await kit.table.endAll();
  const records = recordsOf(kit.journal, kit.dir.journal);
  const cause: Cause = { type: 'runner-crashed', at: kit.now(), message: messageOf(kit, options.error) };
  const known = settledOutcome(records);
  if (known === null) closeOpen(kit, records, cause);
  const outcome = known ?? outcomeAfter(records, cause);

  const projector = createProjector({
    journal: kit.journal,
    file: options.file,
    project: (seq) => statusAt(records, seq, kit.now()),
  });
  const closing: Closing = {
    projector,
    epoch: options.epoch,
    closeInbox: options.closeInbox,
    ending: () => ({ outcome, status: () => projector.current(), steps: () => endedSteps(records) }),
  };
  const actor = createActor(wireFinalize(kit, closing), { input: { outcome, at: kit.now() } });
  const done = toPromise(actor);
  actor.start();
  const { recorded } = await done;
  await projector.close();
  return { outcome, recorded };
}

/** Everything journaled so far; what comes later is added as it comes. */
function recordsOf(journal: Journal, path: string): JournalRecord[] {
  journal.flush();
  const records: JournalRecord[] = [];
  for (let offset = 0; ;) {
    const page = readJournal(path, { from: offset });
    records.push(...page.records);
    if (page.nextOffset === offset) break;
    offset = page.nextOffset;
  }
  journal.onAppend((record) => records.push(record));
  return records;
}

const messageOf = (kit: Kit, error: unknown): string =>
  kit.redact(error instanceof Error ? `${error.name}: ${error.message}` : String(error)).slice(0, 500);

function settledOutcome(records: readonly JournalRecord[]): RunOutcome | null {
  const settled = records.find((record) => record.type === 'run.settled');
  return settled?.type === 'run.settled'
    ? { state: settled.state, cause: settled.cause, partial: settled.partial }
    : null;
}

function outcomeAfter(records: readonly JournalRecord[], cause: Cause): RunOutcome {
  const partial = fold(records)?.steps.some((step) => step.state === 'completed') === true;
  return { state: 'failed', cause, partial };
}

/** Journals the end of everything that was open: attempts by what the last look found, then their steps. */
function closeOpen(kit: Kit, records: readonly JournalRecord[], cause: Cause): void {
  kit.record({ type: 'run.stopping', at: cause.at, cause });
  for (const step of fold(records)?.steps ?? []) {
    if (step.state === 'running') closeAttempt(kit, step, cause);
    if (isOpen(step)) {
      const state = step.state === 'pending' ? 'skipped' : 'failed';
      kit.record({ type: 'step.settled', at: kit.now(), step: step.id, state, cause });
    }
  }
  kit.record({ type: 'run.finalizing', at: kit.now() });
}

const isOpen = ({ state }: StepStatus): boolean =>
  state === 'running' || state === 'preparing' || state === 'backing-off' || state === 'pending';

function closeAttempt(kit: Kit, step: StepStatus, cause: Cause): void {
  const entry = kit.table.get(step.id, step.attempt);
  const survivors = entry?.verdict === 'survived' ? entry.strays.length : 0;
  const proof: ProofSummary = {
    verdict: entry?.verdict ?? 'unknown',
    level: 'searched',
    leftovers: 0,
    kept: 0,
    survivors,
  };
  kit.record({
    type: 'attempt.closed',
    at: kit.now(),
    step: step.id,
    attempt: step.attempt,
    outcome: 'failed',
    cause,
    forcedExit: false,
    model: step.model ?? null,
    session: null,
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, turns: 0, tools: 0 },
    proof: step.pid === undefined ? null : proof,
  });
}

function statusAt(records: readonly JournalRecord[], seq: number, updatedAt: string): Status {
  const status = fold(records.filter((record) => record.seq <= seq));
  if (status === null) throw new Error('the journal has no run.started');
  return { ...status, updatedAt };
}
