import { type Honours, INHERITED, THINKING, adapterIds, adapterModes } from '../src/agents/index.ts';

const yes = (is: boolean): string => (is ? 'yes' : '');
const permissions = ({ each, others }: Honours['permissions']): string => {
  const named = each.length === 0 ? [] : [each.join(', ')];
  return [...named, ...(each.length === 0 && others.length > 0 ? [`only \`*: ${others.join(', ')}\``] : [])].join('');
};

/** What every adapter can honour of a definition, for people: a row for each field, a column for each wire mode. */
function honoursRows(columns: readonly { title: string; honours: Honours }[]): string[][] {
  const cell = (of: (honours: Honours) => string) => columns.map(({ honours }) => of(honours));
  return [
    ['', ...columns.map(({ title }) => title)],
    ['`task`', ...cell(({ task }) => yes(task))],
    ['`model`', ...cell(({ model }) => yes(model))],
    ['`thinking`', ...cell(({ thinking }) => levels(thinking))],
    ['`systemPrompt`', ...cell(({ systemPrompt }) => systemPrompt.join(', '))],
    ['`tools`', ...cell(({ tools }) => tools.join(', '))],
    ['`extensions`', ...cell(({ extensions }) => yes(extensions))],
    ['`skills`', ...cell(({ skills }) => yes(skills))],
    ['`mcp`', ...cell(({ mcp }) => mcp.map((type) => (type === 'stdio' ? 'command' : 'url')).join(', '))],
    ['`inherit`', ...cell(({ inherit }) => INHERITED.filter((what) => inherit.includes(what)).join(', '))],
    ['`permissions`', ...cell((honours) => permissions(honours.permissions))],
    ['`session`', ...cell(({ session }) => session.join(', '))],
  ];
}

/** `off` to `xhigh`: the levels lie beside each other. */
function levels(thinking: Honours['thinking']): string {
  const [first, last] = [thinking[0], thinking.at(-1)];
  if (first === undefined || last === undefined) return '';
  const whole = THINKING.indexOf(last) - THINKING.indexOf(first) === thinking.length - 1;
  return whole ? `${first} to ${last}` : thinking.join(', ');
}

/** A column for each adapter, or for each of its modes where they differ. */
export function honoursTable(): string {
  const columns = adapterIds()
    .toSorted()
    .flatMap((id) => {
      const modes = adapterModes(id);
      const [first] = modes;
      if (first === undefined) return [];
      const same = modes.every(({ honours }) => JSON.stringify(honours) === JSON.stringify(first.honours));
      if (same) return [{ title: `\`${id}\``, honours: first.honours }];
      return modes.map(({ name, honours }) => ({ title: `\`${id}\` (${name ?? ''})`, honours }));
    });
  const [head = [], ...rows] = honoursRows(columns);
  const widths = head.map((title, at) => Math.max(3, title.length, ...rows.map((row) => (row[at] ?? '').length)));
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((text, at) => text.padEnd(widths[at] ?? 0)).join(' | ')} |`;
  return `${[line(head), line(widths.map((width) => '-'.repeat(width))), ...rows.map(line)].join('\n')}\n`;
}
