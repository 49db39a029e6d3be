import type { Chart, ChartState, ChartTransition } from './chart.ts';
import { isIgnored, labelText } from './content.ts';
import { invokeName } from './names.ts';

/**
 * A chart as Mermaid `stateDiagram-v2` text.
 *
 * Mermaid draws no text in a box around others and no arrow from such a box into itself; what it cannot draw
 * stands in a note. Tags are left out.
 */
export function mermaidOf(chart: Chart): string {
  const names = namesOf(chart);
  // Regions side by side need a box around them; else the machine needs none.
  const body =
    chart.root.kind === 'parallel'
      ? [...declare(chart.root, chart, names, '  '), ...scoped(null, chart, names, '  ')]
      : [...region(chart.root, chart, names, '  '), ...rootNote(chart, names, '  ')];
  return ['---', `title: ${JSON.stringify(chart.id)}`, '---', 'stateDiagram-v2', ...body, ''].join('\n');
}

/** Mermaid's own ids: letters, digits and `_`, unique. */
function namesOf(chart: Chart): Map<string, string> {
  const names = new Map<string, string>();
  const taken = new Set<string>();
  const visit = (state: ChartState): void => {
    const base = state.id.replace(/[^A-Za-z0-9]+/g, '_');
    let name = base;
    for (let n = 2; taken.has(name); n += 1) name = `${base}_${n}`;
    taken.add(name);
    names.set(state.id, name);
    state.children.forEach(visit);
  };
  visit(chart.root);
  return names;
}

type Names = ReadonlyMap<string, string>;

function nameOf(id: string, names: Names): string {
  const name = names.get(id);
  if (name === undefined) throw new Error(`no state ${id}`);
  return name;
}

/** What stands between the braces of a state. */
function region(state: ChartState, chart: Chart, names: Names, indent: string): string[] {
  const isParallel = state.kind === 'parallel';
  const lines: string[] = [];
  for (const [index, child] of state.children.entries()) {
    if (index > 0 && isParallel) lines.push(`${indent}--`);
    lines.push(...declare(child, chart, names, indent));
  }
  if (state.initial !== undefined) lines.push(`${indent}[*] --> ${nameOf(state.initial, names)}`);
  for (const child of state.children) {
    if (child.kind === 'final') lines.push(`${indent}${nameOf(child.id, names)} --> [*]`);
  }
  return isParallel ? lines : [...lines, ...scoped(state, chart, names, indent)];
}

/** The arrows that belong between the braces of this state: the smallest one around both their ends. */
function scoped(scope: ChartState | null, chart: Chart, names: Names, indent: string): string[] {
  return chart.transitions
    .filter((each) => isArrow(each, chart) && scopeOf(each, chart) === scope)
    .flatMap((each) => arrows(each, names, indent));
}

/** Never a parallel state: there an arrow would fall into the last region. Null is outside the machine's box. */
function scopeOf({ source, targets }: ChartTransition, chart: Chart): ChartState | null {
  let scope: ChartState | null = null;
  for (let next: ChartState | undefined = chart.root; next !== undefined;) {
    if (next.kind !== 'parallel') scope = next;
    next = next.children.find((child) => [source, ...targets].every((id) => id.startsWith(`${child.id}.`)));
  }
  return scope;
}

function declare(state: ChartState, chart: Chart, names: Names, indent: string): string[] {
  const name = nameOf(state.id, names);
  const label = state.kind === 'history' ? (state.history === 'deep' ? 'H*' : 'H') : state.key;
  const lines = textLines(state, chart);
  if (state.children.length === 0) {
    return [`${indent}state "${escape(label)}" as ${name}`, ...lines.map((line) => `${indent}${name} : ${line}`)];
  }
  return [
    `${indent}state "${escape(label)}" as ${name} {`,
    ...region(state, chart, names, `${indent}  `),
    `${indent}}`,
    ...note(name, lines, indent),
  ];
}

function note(name: string, lines: readonly string[], indent: string): string[] {
  if (lines.length === 0) return [];
  return [`${indent}note right of ${name}`, ...lines.map((line) => `${indent}  ${line}`), `${indent}end note`];
}

/** The machine has no box of its own here: its text is a note beside its first state. */
function rootNote(chart: Chart, names: Names, indent: string): string[] {
  const beside = chart.root.initial ?? chart.root.children[0]?.id;
  return beside === undefined ? [] : note(nameOf(beside, names), textLines(chart.root, chart), indent);
}

function textLines(state: ChartState, chart: Chart): string[] {
  const own = chart.transitions.filter((each) => each.source === state.id && !isArrow(each, chart));
  const ignored = [...new Set(own.filter(isIgnored).map((each) => each.event))];
  return [
    ...(state.description === undefined ? [] : [state.description]),
    ...(state.entry.length === 0 ? [] : [`entry / ${state.entry.join(', ')}`]),
    ...(state.exit.length === 0 ? [] : [`exit / ${state.exit.join(', ')}`]),
    ...state.invokes.map((each) => `invoke / ${invokeName(each)}`),
    ...own
      .filter((each) => !isIgnored(each))
      .map((each) => labelText(each) + (each.targets.length === 0 ? '' : `, to ${each.targets.join(', ')}`)),
    ...(ignored.length === 0 ? [] : [`ignores ${ignored.join(', ')}`]),
  ].map(escape);
}

/** Mermaid loses arrows between a box and what is inside it, and those of the machine itself. */
function isArrow(transition: ChartTransition, chart: Chart): boolean {
  const { source, targets } = transition;
  if (targets.length === 0 || source === chart.root.id) return false;
  return targets.every(
    (target) => target !== chart.root.id && !target.startsWith(`${source}.`) && !source.startsWith(`${target}.`),
  );
}

function arrows(transition: ChartTransition, names: Names, indent: string): string[] {
  const from = nameOf(transition.source, names);
  return transition.targets.map((to) => `${indent}${from} --> ${nameOf(to, names)} : ${escape(labelText(transition))}`);
}

/** What would end a label or a name, or start an entity or a tag, as an entity. A colon before a space is safe. */
function escape(text: string): string {
  return text.replaceAll('\n', ' ').replace(/[#;"<>{}]|:(?! )/g, (char) => `#${char.charCodeAt(0)};`);
}
