import { type JournalRecord, type StepOutcome, type StepState, fold } from '../../machines/index.ts';
import type { EndedAttempt, EndedStep } from './ending.ts';

const OUTCOMES: Record<StepOutcome, true> = {
  completed: true,
  failed: true,
  stopped: true,
  paused: true,
  skipped: true,
};
const isOutcome = (state: StepState): state is StepOutcome => Object.hasOwn(OUTCOMES, state);

/** The ends of the steps as the journal tells them. */
export function endedSteps(records: readonly JournalRecord[]): EndedStep[] {
  const attempts = attemptsIn(records);
  return (fold(records)?.steps ?? []).flatMap(({ id, agent, state, cause, error }) =>
    cause === undefined || !isOutcome(state)
      ? []
      : [{ step: id, agent, outcome: state, cause, failure: error ?? null, attempts: attempts.get(id) ?? [] }],
  );
}

function attemptsIn(records: readonly JournalRecord[]): Map<string, EndedAttempt[]> {
  const tokens = new Map<string, string>();
  const exits = new Map<string, EndedAttempt['exit']>();
  const attempts = new Map<string, EndedAttempt[]>();
  for (const record of records) {
    if (record.type === 'attempt.launching') tokens.set(keyOf(record), record.token);
    if (record.type === 'attempt.exited') exits.set(keyOf(record), { code: record.code, signal: record.signal });
    if (record.type === 'step.backing-off') {
      const last = attempts.get(record.step)?.at(-1);
      if (last !== undefined) last.note = record.note;
    }
    if (record.type === 'attempt.closed') {
      const { step, attempt: n, model, outcome, error, usage, forcedExit, proof, launch, ts: at } = record;
      const token = tokens.get(keyOf(record)) ?? '';
      const exit = exits.get(keyOf(record)) ?? null;
      const list = attempts.get(step) ?? [];
      const failure = error ?? null;
      const started = launch === undefined ? {} : { launch };
      list.push({ n, token, model, outcome, failure, usage, exit, forcedExit, proof, note: null, at, ...started });
      attempts.set(step, list);
    }
  }
  return attempts;
}

const keyOf = ({ step, attempt }: { step: string; attempt: number }): string => `${step}#${attempt}`;
