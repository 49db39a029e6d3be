import type { PlanError } from './types.ts';

/** One mistake a line, `plan.yaml:12:5 steps[1].needs[0]: what is wrong and what to do`; no newline at the end. */
export function formatPlanErrors(errors: readonly PlanError[], more = 0): string {
  const lines = errors.map(({ file, line, column, field, message }) => {
    const place = [file, line, line === null ? null : column].filter((part) => part !== null).join(':');
    const subject = [place, field].filter((part) => part !== '').join(' ');
    return subject === '' ? message : `${subject}: ${message}`;
  });
  if (more > 0) lines.push(`… and ${more} more`);
  return lines.join('\n');
}
