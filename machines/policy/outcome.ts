import type {
  AgentEnd,
  AttemptOutput,
  Cause,
  Failure,
  Proof,
  ProofLevel,
  RunOutcome,
  StepOutput,
  Usage,
} from '../protocol.ts';
import { outcomeOf } from './cause.ts';
import { isProven } from './proof.ts';

export const NO_USAGE: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, turns: 0, tools: 0 };

/** Sums usage. The cost is known only if every part that used a model says its cost. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum: Usage = {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
    turns: a.turns + b.turns,
    tools: a.tools + b.tools,
  };
  const unknown = [a, b].some((part) => part.costUsd === undefined && part.turns > 0);
  const cost = (a.costUsd ?? 0) + (b.costUsd ?? 0);
  return unknown || (a.costUsd === undefined && b.costUsd === undefined) ? sum : { ...sum, costUsd: cost };
}

/** The cause an attempt ends for when nobody ended it: its agent's own verdict. */
export const causeOfEnd = (end: AgentEnd, at: string): Cause =>
  end.type === 'success' ? { type: 'completed', at } : { type: 'failure', at, reason: end.failure.code };

/** A step settles as its last attempt did, unless nobody can say that the attempt's processes are gone. */
export function settleAttempt(
  attempt: AttemptOutput,
  asked: ProofLevel,
): Pick<StepOutput, 'outcome' | 'cause' | 'failure'> {
  const { proof, outcome, cause, failure, at } = attempt;
  if (proof === null || isProven(proof, asked)) return { outcome, cause, failure };
  return {
    outcome: 'failed',
    cause: { type: 'failure', at, reason: 'unproven' },
    failure: unproven(attempt, proof, asked),
  };
}

function unproven(attempt: AttemptOutput, { verdict, level, members, reason }: Proof, asked: ProofLevel): Failure {
  if (verdict === 'gone') {
    const message = `attempt ${attempt.n} is gone as far as "${level}" can tell, and the plan asks for "${asked}"`;
    return { code: 'unproven', message, detail: { verdict, level, asked, outcome: attempt.outcome } };
  }
  const who = members.map((member) => `${member.pid} (${member.command})`).join(', ');
  return {
    code: 'unproven',
    message:
      verdict === 'survived'
        ? `processes of attempt ${attempt.n} are still running: ${who}; end them by hand`
        : `nobody could tell whether attempt ${attempt.n} left processes: ${reason ?? 'no reason given'}`,
    detail: { verdict, outcome: attempt.outcome },
  };
}

/**
 * The outcome of a run: stopped if it was stopped; else failed if any step failed; else paused if something is
 * paused; else stopped if a step was stopped; else completed. Who was skipped says nothing of its own: there is another for
 * whose sake it was. `settled` is in the order of settling, so the first of its kind names the cause.
 */
export function outcomeOfRun(latched: Cause | null, settled: readonly StepOutput[], at: string): RunOutcome {
  const first = (outcome: StepOutput['outcome']): StepOutput | undefined =>
    settled.find((step) => step.outcome === outcome);
  const some = (outcome: StepOutput['outcome']): boolean => first(outcome) !== undefined;
  if (latched !== null) {
    const state = outcomeOf(latched);
    return { state, cause: latched, partial: state === 'failed' && some('completed') };
  }
  const failed = first('failed');
  if (failed !== undefined) return { state: 'failed', cause: failed.cause, partial: some('completed') };
  const paused = first('paused');
  if (paused !== undefined) return { state: 'paused', cause: paused.cause, partial: false };
  const stopped = first('stopped');
  if (stopped !== undefined) return { state: 'stopped', cause: stopped.cause, partial: false };
  return { state: 'completed', cause: { type: 'completed', at }, partial: false };
}
