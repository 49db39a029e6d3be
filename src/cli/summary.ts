import type { Status } from '../client.ts';
import { headline, stepRow } from './describe.ts';
import { quoted, table } from './words.ts';

/** Steps shown; a longer plan has its report. */
const MOST_STEPS = 40;

/** What a person reads when a run has ended: what happened, where the files are, what to do next. */
export function summary(status: Status, where: { directory: string; rootFlag: string }): string[] {
  const { steps } = status;
  const shown =
    steps.length <= MOST_STEPS ? steps : steps.filter(({ state }) => state !== 'completed').slice(0, MOST_STEPS);
  const hidden = steps.length - shown.length;
  return [
    headline(status),
    ...table(shown.map((step) => stepRow(step))).map((row) => `  ${row}`),
    ...(hidden > 0 ? [`  and ${hidden} more: see report.md`] : []),
    `files: ${where.directory} (report.md, result.json, events.jsonl, status.json, attempts/)`,
    `next:  ${nextCommand(status, where.rootFlag)}`,
  ];
}

function nextCommand(status: Status, flag: string): string {
  const failed = status.steps.find(({ state, attempt }) => state === 'failed' && attempt > 0);
  if (failed === undefined) return `coxswain result ${status.id}${flag}`;
  const step = status.steps.length === 1 ? '' : ` --step ${quoted(failed.id)}`;
  const stderr = failed.agent === 'command' ? ' --stderr' : '';
  return `coxswain logs ${status.id}${step}${stderr}${flag}`;
}
