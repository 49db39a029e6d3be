import { basename } from 'node:path';
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
import type { Answer, Instant, JournalBody, JournalType, RunInput, StepId } from '../../machines/protocol.ts';
import { type Journal, type StatusFile, readJournal } from '../record/index.ts';
import { describeError } from './describe.ts';
import { endedSteps } from './journaled.ts';
import type { Kit } from './kit.ts';
import type { Closing } from './lines.ts';
import { createProjector } from './projector.ts';
import { wireFinalize } from './wire.ts';

interface CrashOptions {
  file: StatusFile;
  input: RunInput;
  closeInbox: Closing['closeInbox'];
  answer: (answer: Answer) => void;
  error: unknown;
}

/**
 * The end of a run whose machines have failed: every child is ended by the process table, the journal is folded in
 * place of the snapshot that is lost, and the record of the end is made in the same order as ever.
 * Never rejects: what cannot even be begun has ended unrecorded.
 */
export async function concludeCrash(kit: Kit, options: CrashOptions): Promise<RunOutput> {
  try {
    return await conclude(kit, options);
  } catch {
    // Not a word of the errors: what should have been redacted was not.
    const message = 'the runner failed, and so did the record of it';
    const cause: Cause = { type: 'runner-crashed', at: kit.now(), message };
    return { outcome: { state: 'failed', cause, partial: false }, recorded: false };
  }
}

async function conclude(kit: Kit, options: CrashOptions): Promise<RunOutput> {
  await kit.table.endAll();
  const records = recordsOf(kit.journal, kit.dir.journal);
  const cause: Cause = { type: 'runner-crashed', at: kit.now(), message: kit.redact(describeError(options.error)) };
  const known = settledOutcome(records);
  if (fold(records) === null) kit.record(begun(options.input, cause.at));
  if (known === null) closeOpen(kit, records, cause);
  endMessages(kit, records);
  answerOpen(kit, records, options.answer);
  const outcome = known ?? outcomeAfter(records, cause);

  const projector = createProjector({
    journal: kit.journal,
    file: options.file,
    project: (seq) => statusAt(records, seq, kit.now()),
  });
  const closing: Closing = {
    projector,
    epoch: options.input.epoch,
    before: { settledAt: timeOf(records, 'run.settled'), completedAt: timeOf(records, 'run.completed') },
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
  // What could not be written has happened all the same.
  records.push(...(journal.recent(records.at(-1)?.seq ?? 0) ?? []));
  journal.onAppend((record) => records.push(record));
  return records;
}

const timeOf = (records: readonly JournalRecord[], type: JournalType): Instant | null =>
  records.find((record) => record.type === type)?.ts ?? null;

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

/** The run crashed before it had journaled its start. */
const begun = ({ id: run, name, steps, limits, labels, owner, parent }: RunInput, at: Instant): JournalBody => ({
  type: 'run.started',
  at,
  run,
  name,
  steps,
  limits,
  labels,
  owner,
  deadlineAt: null,
  ...(parent === undefined ? {} : { parent }),
});

/** Journals the end of everything that was open: attempts by what the last look found, then their steps. */
function closeOpen(kit: Kit, records: readonly JournalRecord[], cause: Cause): void {
  kit.record({ type: 'run.stopping', at: cause.at, cause });
  const open = openAttempts(records);
  for (const step of fold(records)?.steps ?? []) {
    const attempt = open.get(step.id);
    if (attempt !== undefined) closeAttempt(kit, step, { ...attempt, cause });
    if (isOpen(step)) {
      const state = step.state === 'pending' ? 'skipped' : 'failed';
      kit.record({ type: 'step.settled', at: kit.now(), step: step.id, state, cause });
    }
  }
  freeSessions(kit);
  kit.record({ type: 'run.finalizing', at: kit.now() });
}

/** Of attempts of which nothing is left, or was ever started. The others stay taken for as long as this process lives. */
function freeSessions(kit: Kit): void {
  for (const { step, attempt, session } of kit.leases.held()) {
    const proof = proofOf(kit, step, { n: attempt, started: false });
    if (proof !== null && proof.verdict !== 'gone') continue;
    kit.leases.release(step, attempt);
    kit.record({ type: 'session.released', at: kit.now(), step, attempt, session: basename(session) });
  }
}

/** Nobody will take or answer anything any more. */
function endMessages(kit: Kit, records: readonly JournalRecord[]): void {
  const status = fold(records);
  if (status === null) return;
  for (const { id, targets } of openRequests(records)) {
    for (const step of targets) {
      kit.record({ type: 'steer.undelivered', at: kit.now(), id, step, reason: 'run-ended' });
    }
  }
  for (const { id, step, state } of status.asks) {
    if (state === 'asked') kit.record({ type: 'ask.run-ended', at: kit.now(), id, step });
  }
}

/** Requests, and for which of their steps it is not known what became of them. */
function openRequests(records: readonly JournalRecord[]): { id: string; targets: Set<StepId> }[] {
  const open = new Map<string, Set<StepId>>();
  for (const record of records) {
    if (record.type === 'steer.scheduled') open.set(record.id, new Set(record.targets));
    if (record.type === 'steer.delivered' || record.type === 'steer.undelivered')
      open.get(record.id)?.delete(record.step);
  }
  return [...open].map(([id, targets]) => ({ id, targets }));
}

/** Every command gets its one final verdict, also from a run that failed over it. */
function answerOpen(kit: Kit, records: readonly JournalRecord[], answer: (answer: Answer) => void): void {
  const open = new Map<string, string>();
  for (const record of records) {
    if (record.type === 'command.accepted') open.set(record.id, record.command);
    if (record.type === 'command.answered') open.delete(record.id);
  }
  for (const [id, command] of open) {
    const verdict = command === 'steer' ? 'undelivered' : 'rejected';
    answer({
      id,
      command,
      verdict,
      reason: 'run-ended',
      at: kit.now(),
      detail: 'the runner failed before it was done',
    });
  }
}

const isOpen = ({ state }: StepStatus): boolean =>
  state === 'running' || state === 'preparing' || state === 'backing-off' || state === 'pending';

interface OpenAttempt {
  n: number;
  /** Its process is known from the journal. */
  started: boolean;
}

/** By step: launched and not closed. */
function openAttempts(records: readonly JournalRecord[]): Map<StepId, OpenAttempt> {
  const open = new Map<StepId, OpenAttempt>();
  for (const record of records) {
    if (record.type === 'attempt.launching') open.set(record.step, { n: record.attempt, started: false });
    if (record.type === 'attempt.started') open.set(record.step, { n: record.attempt, started: true });
    if (record.type === 'attempt.closed') open.delete(record.step);
  }
  return open;
}

function closeAttempt(kit: Kit, step: StepStatus, { n, started, cause }: OpenAttempt & { cause: Cause }): void {
  kit.record({
    type: 'attempt.closed',
    at: kit.now(),
    step: step.id,
    attempt: n,
    outcome: 'failed',
    cause,
    forcedExit: false,
    model: step.model ?? null,
    session: null,
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, turns: 0, tools: 0 },
    proof: proofOf(kit, step.id, { n, started }),
  });
}

/** Null when no process was ever started. The table knows of one whose start did not get into the journal. */
function proofOf(kit: Kit, step: StepId, { n, started }: OpenAttempt): ProofSummary | null {
  const entry = kit.table.get(step, n);
  // The table lets go only of what is proven gone.
  if (entry === undefined)
    return started ? { verdict: 'gone', level: 'searched', leftovers: 0, kept: 0, survivors: 0 } : null;
  if (entry.target === null) return entry.child === null ? null : unseen;
  const verdict = entry.verdict ?? 'unknown';
  const survivors = verdict === 'survived' ? entry.members.length : 0;
  return { verdict, level: 'searched', leftovers: 0, kept: 0, survivors };
}

/** It was on its way when the nursery was lost: it may run, and nobody was told which process it is. */
const unseen: ProofSummary = {
  verdict: 'unknown',
  level: 'group',
  leftovers: 0,
  kept: 0,
  survivors: 0,
  reason: 'whether it was started was not seen',
};

function statusAt(records: readonly JournalRecord[], seq: number, updatedAt: string): Status {
  const status = fold(records.filter((record) => record.seq <= seq));
  if (status === null) throw new Error('the journal has no run.started');
  return { ...status, updatedAt };
}
