import type { Status, StepState, StepStatus } from '../../index.ts';
import { waitingWords, why } from '../describe.ts';
import { cut, oneLine, span, tokens } from '../words.ts';

/** How much room there is, and what time it is (milliseconds since 1970). */
export interface Room {
  columns: number;
  rows: number;
  now: number;
}

/** A line of the block, and the colour of its mark. */
export interface BlockLine {
  mark: string;
  colour: 'none' | 'dim' | 'green' | 'red' | 'yellow' | 'cyan';
  /** Fits beside the mark. */
  text: string;
}

const MARKS: Record<StepState, Pick<BlockLine, 'mark' | 'colour'>> = {
  pending: { mark: '·', colour: 'dim' },
  preparing: { mark: '▸', colour: 'cyan' },
  running: { mark: '▸', colour: 'cyan' },
  'backing-off': { mark: '◌', colour: 'yellow' },
  completed: { mark: '✓', colour: 'green' },
  failed: { mark: '✗', colour: 'red' },
  stopped: { mark: '■', colour: 'yellow' },
  paused: { mark: '‖', colour: 'yellow' },
  skipped: { mark: '–', colour: 'dim' },
};

/** Lines that the block leaves free: the prompt, and one to see that there is more. */
const ROWS_KEPT = 3;

/** The run as it is now: a headline and its steps, as many as fit. No line is wider than the room. */
export function block(status: Status, room: Room): BlockLine[] {
  const most = Math.max(1, room.rows - ROWS_KEPT);
  const { steps } = status;
  const shown = steps.length <= most ? steps : steps.filter(isRunning).slice(0, most - 1);
  const idWidth = Math.min(24, Math.max(0, ...shown.map(({ id }) => id.length)));
  const lines = [head(status, room), ...shown.map((step) => stepLine(step, idWidth, room))];
  if (shown.length < steps.length) lines.push({ mark: ' ', colour: 'none', text: rest(status) });
  return lines.map((line) => ({ ...line, text: cut(line.text, Math.max(10, room.columns - 4)) }));
}

function head(status: Status, { now }: Room): BlockLine {
  const { state, cause, counts, steps, startedAt, usage } = status;
  const ended = steps.length - counts.pending - counts.preparing - counts.running;
  const reason = cause === undefined ? '' : `: ${why(cause)}`;
  const parts = [
    `${oneLine(status.name)} ${state}${reason}`,
    span(startedAt, undefined, now),
    `${ended} of ${steps.length} done`,
    waitingWords(status) ?? '',
    tokens(usage),
    state === 'stopping' && cause?.type === 'runner-signal' ? 'again: kill at once' : '',
    status.persistence === undefined ? '' : 'the record cannot be written',
  ];
  return { mark: '●', colour: 'none', text: parts.filter((part) => part !== '').join('  ') };
}

function stepLine(step: StepStatus, idWidth: number, { now }: Room): BlockLine {
  const id = cut(oneLine(step.id), idWidth).padEnd(idWidth);
  const parts = [id, step.state, span(step.startedAt, step.endedAt, now), doing(step), tokens(step.usage)];
  return { ...MARKS[step.state], text: parts.filter((part) => part !== '').join('  ') };
}

function doing(step: StepStatus): string {
  if (step.waiting !== undefined) return 'waits for an answer';
  if (isRunning(step)) return step.tool === undefined ? '' : oneLine(step.tool.name);
  if (step.error !== undefined) return step.error.code;
  return step.cause === undefined || step.state === 'completed' ? '' : why(step.cause);
}

function isRunning({ state }: StepStatus): boolean {
  return state === 'running' || state === 'preparing';
}

function rest({ counts }: Status): string {
  const { pending, completed, failed, stopped, paused, skipped } = counts;
  return Object.entries({ pending, completed, failed, stopped, paused, skipped })
    .filter(([, n]) => n > 0)
    .map(([state, n]) => `${n} ${state}`)
    .join(', ');
}
