import { BEHAVIOURS, type Behaviour, type Look } from './behaviours.ts';
import type { Subject } from './subject.ts';

/** One thing that was asked of an adapter, and what was found. */
export type Finding = { id: string; says: string } & Look;

/** Asks everything. Pure: starts nothing, waits for nothing. */
export function conform(subject: Subject): Finding[] {
  return BEHAVIOURS.map((behaviour) => ({ id: behaviour.id, says: behaviour.says, ...looked(behaviour, subject) }));
}

function looked(behaviour: Behaviour, subject: Subject): Look {
  try {
    return behaviour.look(subject);
  } catch (error) {
    return { outcome: 'fails', why: `threw ${error instanceof Error ? error.message : String(error)}` };
  }
}

/** A row for each behaviour, a column for each subject, as Markdown with even columns. */
export function conformanceTable(subjects: readonly Subject[]): string {
  const columns = subjects.map(conform);
  const rows = BEHAVIOURS.map(({ says }, index) => [says, ...columns.map((findings) => cell(findings[index]))]);
  const head = ['what is asked', ...subjects.map(({ name }) => name)];
  const widths = head.map((title, at) => Math.max(title.length, ...rows.map((row) => (row[at] ?? '').length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((text, at) => text.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  const rule = `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`;
  return `${[line(head), rule, ...rows.map(line)].join('\n')}\n`;
}

function cell(finding: Finding | undefined): string {
  if (finding === undefined) return '';
  switch (finding.outcome) {
    case 'holds':
      return 'yes';
    case 'lacking':
      return finding.why;
    case 'fails':
      return `FAILS: ${finding.why}`;
  }
}
