import { type Cause, type Status, type StepStatus, describeCause, describeProof } from '../client.ts';
import { count, cut, oneLine, span, tokens } from './words.ts';

/** Longest reason in a row. */
const REASON_CHARS = 160;

/** Why something ended, after its state: `failed: exit-code`. */
export function why(cause: Cause): string {
  // The library words it for Markdown.
  const words = cause.type === 'failure' ? cause.reason : describeCause(cause).replaceAll(/\\([\\`*_[\]<>#])/g, '$1');
  return oneLine(words);
}

/** A step in one row: id, state, time, what became of its processes, and why or what it does now. */
export function stepRow(step: StepStatus, now = Date.now()): string[] {
  return [oneLine(step.id), step.state, span(step.startedAt, step.endedAt, now), processes(step), detail(step)];
}

function processes(step: StepStatus): string {
  if (step.endedAt === undefined) return '';
  if (step.proof !== undefined) return describeProof(step.proof);
  return step.state === 'skipped' || step.attempt === 0 ? '' : describeProof(null);
}

function detail(step: StepStatus): string {
  const attempt = step.attempt > 1 ? `attempt ${step.attempt}` : '';
  return [attempt, reason(step), tokens(step.usage)].filter((part) => part !== '').join(', ');
}

function reason(step: StepStatus): string {
  const { state, error, cause, tool, waiting } = step;
  switch (state) {
    case 'pending':
    case 'completed':
      return '';
    case 'preparing':
    case 'running':
      if (waiting !== undefined) return 'waits for an answer';
      return tool === undefined ? '' : oneLine(tool.name);
    case 'backing-off':
      return cut(oneLine(step.attempts?.at(-1)?.note ?? 'waiting to try again'), REASON_CHARS);
    case 'failed':
    case 'stopped':
    case 'paused':
    case 'skipped': {
      if (error !== undefined) return cut(oneLine(`${error.code}: ${error.message}`), REASON_CHARS);
      return cause === undefined ? '' : cut(why(cause), REASON_CHARS);
    }
  }
}

/** `completed: the work was done (12 s, 4.2k tokens)`. */
export function headline(status: Status, now = Date.now()): string {
  const { state, cause, partial, usage, startedAt, endedAt } = status;
  const reasonWords = cause === undefined ? '' : `: ${why(cause)}`;
  const some = partial === true ? ', but something completed' : '';
  const numbers = [span(startedAt, endedAt, now), tokens(usage)].filter((part) => part !== '').join(', ');
  return `${state}${reasonWords}${some} (${numbers})`;
}

/** Who waits for a person, in this run and below it; null: nobody. */
export function waitingWords({ asks = [], nested }: Partial<Pick<Status, 'asks' | 'nested'>>): string | null {
  const own = asks.filter(({ state }) => state === 'asked').length;
  const below = nested?.asks ?? 0;
  if (own + below === 0) return null;
  const where = below === 0 ? '' : own === 0 ? ' in runs below' : `, ${below} of them in runs below`;
  return `${count(own + below, 'question')} ${own + below === 1 ? 'waits' : 'wait'} for an answer${where}`;
}
