import type { Cause, CauseType, StepOutcome } from '../protocol.ts';

/**
 * The one order of causes, strongest first. A signal to the runner and its crash are equals: the first stands.
 * Two limits at one instant: the outer one, by its place here.
 */
const ORDER: readonly (readonly CauseType[])[] = [
  ['stop'],
  ['runner-signal', 'runner-crashed'],
  ['run-deadline'],
  ['step-limit'],
  ['attempt-limit'],
  ['first-output-limit'],
  ['stall-limit'],
  ['tool-limit'],
  ['budget'],
  ['protocol-error'],
  ['interrupt'],
  ['recovery'],
  ['superseded'],
  ['dependency'],
  ['failure'],
  ['completed'],
];

const RANK = new Map<CauseType, number>(ORDER.flatMap((types, rank) => types.map((type) => [type, rank] as const)));
const rank = (cause: Cause): number => RANK.get(cause.type) ?? ORDER.length;

/** True when `incoming` takes the place of what is latched. Equals do not. */
export const outranks = (incoming: Cause, latched: Cause | null): boolean =>
  latched === null || rank(incoming) < rank(latched);

/** What work that really ran comes to when it ends for this cause. */
export function outcomeOf(cause: Cause): 'completed' | 'failed' | 'stopped' | 'paused' {
  switch (cause.type) {
    case 'completed':
      return 'completed';
    case 'stop':
    case 'runner-signal':
    case 'superseded':
      return 'stopped';
    case 'interrupt':
    case 'recovery':
      return 'paused';
    case 'runner-crashed':
    case 'run-deadline':
    case 'step-limit':
    case 'attempt-limit':
    case 'first-output-limit':
    case 'stall-limit':
    case 'tool-limit':
    case 'budget':
    case 'protocol-error':
    case 'dependency':
    case 'failure':
      return 'failed';
    default:
      return unreachable(cause);
  }
}

/** What a step that was never started comes to: stopped by a person or a signal, paused by a person, else skipped. */
export function outcomeOfWaiting(cause: Cause): StepOutcome {
  const outcome = outcomeOf(cause);
  return outcome === 'stopped' || outcome === 'paused' ? outcome : 'skipped';
}

function unreachable(value: never): never {
  throw new Error(`unreachable: ${JSON.stringify(value)}`);
}
