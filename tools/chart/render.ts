import type { AnyStateMachine } from 'xstate';
import { chartOf } from './chart.ts';
import { configJson } from './config.ts';
import { mermaidOf } from './mermaid.ts';
import { pictureOf } from './picture.ts';
import { scxmlOf } from './scxml.ts';
import { drawSvg } from './svg.ts';

/** Endings of the files made for each machine. */
export const FORMATS = ['json', 'mmd', 'scxml', 'svg'] as const;

/**
 * Every file for these machines: `<name>.<format>` to its content, which is the same in each call.
 * Throws when a machine's config holds something that cannot be written (see `configJson`).
 */
export async function renderAll(machines: Readonly<Record<string, AnyStateMachine>>): Promise<Map<string, string>> {
  const entries = Object.entries(machines).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const files = await Promise.all(entries.map(([name, machine]) => render(name, machine)));
  return new Map(files.flat());
}

async function render(name: string, machine: AnyStateMachine): Promise<[string, string][]> {
  const chart = chartOf(machine);
  const about = `State machine ${chart.id}${chart.root.description === undefined ? '' : `: ${chart.root.description}`}`;
  return [
    [`${name}.json`, configJson(machine)],
    [`${name}.mmd`, mermaidOf(chart)],
    [`${name}.scxml`, scxmlOf(chart)],
    [`${name}.svg`, drawSvg(await pictureOf(chart), about)],
  ];
}
