import type { AttemptOutput, Cause, Failure, FailureClass, FailureCode, FailureRule } from '../protocol.ts';

/**
 * What is done about each code, unless a rule of the plan says otherwise. From the agent's own structured error where
 * it gives one; the adapters turn text into codes as the last resort.
 */
const CLASSES: Record<FailureCode, FailureClass> = {
  'command-missing': 'never',
  'command-not-executable': 'never',
  'cwd-missing': 'never',
  'argument-list-too-long': 'never',
  'argument-invalid': 'never',
  'resources-exhausted': 'startup',
  'spawn-failed': 'never',
  'not-contained': 'never',
  'session-busy': 'never',
  'launch-changed': 'never',
  'exit-code': 'task',
  signal: 'task',
  'exited-mid-tool': 'task',
  'no-end-record': 'task',
  'empty-output': 'model',
  'schema-missing': 'task',
  'schema-invalid': 'task',
  'schema-ambiguous': 'task',
  'hidden-error': 'task',
  'missing-output': 'task',
  'no-changes': 'task',
  'model-error': 'task',
  'rate-limited': 'model',
  'model-unavailable': 'model',
  'tool-unavailable': 'never',
  auth: 'next-model',
  'context-overflow': 'never',
  'model-timeout': 'model',
  aborted: 'task',
  length: 'task',
  protocol: 'task',
  template: 'never',
  leftovers: 'task',
  unproven: 'never',
  'runner-start': 'never',
};

/** A start that took longer than this was no failed start (reference: 2,000 ms). */
const STARTUP_MS = 2_000;

/** The class of an attempt that failed, or null when its end leaves nothing to decide: it did well, or was ended. */
export function classOf(attempt: AttemptOutput, rules: readonly FailureRule[], ranMs: number): FailureClass | null {
  const { cause, failure } = attempt;
  switch (cause.type) {
    case 'failure':
    case 'protocol-error':
      return failure === null
        ? null
        : (ruled(failure, rules) ?? (diedAtStart(attempt, ranMs) ? 'startup' : CLASSES[failure.code]));
    case 'attempt-limit':
    case 'first-output-limit':
    case 'tool-limit':
    case 'stall-limit':
      return 'task';
    case 'completed':
    case 'stop':
    case 'runner-signal':
    case 'runner-crashed':
    case 'run-deadline':
    case 'step-limit':
    case 'budget':
    case 'interrupt':
    case 'recovery':
    case 'superseded':
    case 'dependency':
      return null;
  }
}

function ruled({ code, message }: Failure, rules: readonly FailureRule[]): FailureClass | undefined {
  const text = message.toLowerCase();
  return rules.find(
    (rule) =>
      (rule.code === undefined || rule.code === code) &&
      (rule.text === undefined || text.includes(rule.text.toLowerCase())),
  )?.as;
}

/**
 * It ended soon, without any sign of life: killed by somebody before it did anything (a scanner, the system), or an
 * agent that could not start. A command's own exit code is its answer and no failed start.
 */
function diedAtStart({ active, failure, exit, usage, model }: AttemptOutput, ranMs: number): boolean {
  if (active || exit === null || ranMs > STARTUP_MS || usage.turns > 0) return false;
  if (failure?.code === 'signal') return exit.signal === 'SIGKILL';
  return failure?.code === 'exit-code' && model !== null;
}

/** A retry that the cause itself asks for. */
export const asksForRetry = (cause: Cause): boolean => cause.type === 'stall-limit' && cause.action === 'retry';
