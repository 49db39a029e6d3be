import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type {
  AttemptOutput,
  Cause,
  Failure,
  Instant,
  ProofLevel,
  ProofSummary,
  RunOutcome,
  Status,
  StepId,
  StepOutcome,
  Usage,
} from '../../machines/protocol.ts';
import type { AttemptResult, RunProof, RunResult, StepResult } from '../record/index.ts';
import type { Kit } from './kit.ts';

/** A step as its end is recorded: from its machine, or from the journal when the machines are gone. */
export interface EndedStep {
  step: StepId;
  agent: string;
  outcome: StepOutcome;
  cause: Cause;
  failure: Failure | null;
  attempts: EndedAttempt[];
}

export interface EndedAttempt {
  n: number;
  token: string;
  model: string | null;
  outcome: AttemptOutput['outcome'];
  failure: Failure | null;
  usage: Usage;
  exit: { code: number | null; signal: string | null } | null;
  forcedExit: boolean;
  proof: ProofSummary | null;
  note: string | null;
  launch?: string;
  at: Instant;
}

/** Everything the record of the end is made of. */
export interface Ending {
  outcome: RunOutcome;
  /** The status at this moment; it names the end only when the result is there. */
  status(): Status;
  steps(): EndedStep[];
}

/** `settledAt`: when `run.settled` was journaled. */
export function resultOf(kit: Kit, ending: Ending, settledAt: Instant | null): RunResult {
  const status = ending.status();
  const { state, cause, partial } = ending.outcome;
  return {
    v: 1,
    id: status.id,
    name: status.name,
    epoch: status.epoch,
    state,
    cause,
    ...(partial ? { partial: true } : {}),
    startedAt: status.startedAt,
    endedAt: settledAt ?? status.updatedAt,
    usage: status.usage,
    steps: ending.steps().map((step) => stepResult(kit, step)),
    plan: { sha256: createHash('sha256').update(readFileSync(kit.dir.plan)).digest('hex') },
  };
}

function stepResult(kit: Kit, step: EndedStep): StepResult {
  const { output, state, truncated, files } = kit.outputs.get(step.step);
  return {
    id: step.step,
    agent: step.agent,
    state: step.outcome,
    cause: step.cause,
    ...(step.failure === null ? {} : { error: step.failure }),
    output,
    outputState: state,
    truncated,
    ...(files === undefined ? {} : { files }),
    attempts: step.attempts.map((attempt) => attemptResult(step.agent, attempt)),
  };
}

function attemptResult(agent: string, attempt: EndedAttempt): AttemptResult {
  const { n, token, model, outcome, failure, usage, exit, forcedExit, proof, note, launch, at } = attempt;
  return {
    n,
    instance: token,
    agent,
    model,
    outcome,
    class: failure?.code ?? null,
    usage,
    exit: exit?.code ?? null,
    signal: exit?.signal ?? null,
    forcedExit,
    closedAt: at,
    proof,
    ...(note === null ? {} : { note }),
    ...(launch === undefined ? {} : { launch }),
  };
}

const LEVELS: readonly ProofLevel[] = ['group', 'searched', 'contained'];

/** The run's proof: launches counted against closes; one that is missing makes it unknown. */
export function proofOf(kit: Kit, steps: readonly EndedStep[], epoch: number, at: Instant): RunProof {
  const attempts = steps.flatMap(({ step, attempts: all }) =>
    all.flatMap(({ n, proof }) => (proof === null ? [] : [{ step, attempt: n, ...proof }])),
  );
  const { launches } = kit.table;
  const closes = attempts.length;
  const levels = attempts.map((attempt) => LEVELS.indexOf(attempt.level));
  return {
    v: 1,
    run: kit.runId,
    epoch,
    verdict: verdictOf(launches, attempts),
    level: levels.length === 0 ? null : (LEVELS[Math.min(...levels)] ?? null),
    launches,
    closes,
    attempts,
    at,
  };
}

function verdictOf(launches: number, attempts: readonly ProofSummary[]): RunProof['verdict'] {
  if (launches === 0) return 'not-started';
  if (attempts.some((attempt) => attempt.verdict === 'survived')) return 'survived';
  const proven = attempts.every((attempt) => attempt.verdict === 'gone');
  return proven && attempts.length === launches ? 'gone' : 'unknown';
}
