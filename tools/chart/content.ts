import type { Chart, ChartState, ChartTransition } from './chart.ts';
import { invokeName } from './names.ts';
import { SIZE, wrap, type Line, type Span, type Tone } from './text.ts';

/** What is written in a state's box and on an arrow: text only, no geometry. */

/** Longest lines in characters. */
export interface Columns {
  /** In a state without children. */
  leaf: number;
  /** In a box around others. */
  group: number;
  label: number;
}

export interface StateText {
  head: Line;
  tags: string[];
  body: Line[];
}

/** Transitions that leave the box alone: no target, or a compound that re-enters itself. */
export function isInside(transition: ChartTransition, state: ChartState): boolean {
  const [target, ...more] = transition.targets;
  if (target === undefined) return true;
  return more.length === 0 && target === state.id && state.children.length > 0;
}

export function stateText(state: ChartState, chart: Chart, columns: Columns): StateText {
  const isRoot = state === chart.root;
  const head: Line = {
    spans: [{ text: isRoot ? chart.id : state.key, tone: isRoot ? 'title' : 'name' }],
    size: isRoot ? SIZE.title : SIZE.name,
  };
  const width = isRoot ? Math.max(72, columns.group) : state.children.length > 0 ? columns.group : columns.leaf;
  const own = chart.transitions.filter((each) => each.source === state.id && isInside(each, state));
  const about = state.description === undefined ? [] : wrap([span(state.description, 'muted')], width, SIZE.small, 0);
  const body = [
    ...listed('entry', state.entry, width),
    ...listed('exit', state.exit, width),
    ...state.invokes.flatMap((each) => {
      const name = invokeName(each);
      return listed('invoke', [name === each.src ? name : `${name} (${each.src})`], width);
    }),
    ...own.filter((each) => !isIgnored(each)).flatMap((each) => insideLines(each, width)),
    ...ignoredLines(own.filter(isIgnored), width),
  ];
  const [top] = body;
  if (about.length > 0 && top !== undefined) top.above = 5;
  return {
    head,
    tags: state.kind === 'parallel' ? ['parallel', ...state.tags] : state.tags,
    body: [...about, ...body],
  };
}

/** Listed in the config so that it is not an unhandled event, but nothing comes of it. */
export function isIgnored(transition: ChartTransition): boolean {
  return (
    transition.targets.length === 0 &&
    transition.actions.length === 0 &&
    transition.guard === undefined &&
    transition.index === 0
  );
}

function ignoredLines(transitions: readonly ChartTransition[], width: number): Line[] {
  if (transitions.length === 0) return [];
  const names = [...new Set(transitions.map((each) => each.event))].join(', ');
  return wrap([span('ignores ', 'muted'), span(names, 'muted')], width, SIZE.body);
}

function listed(word: string, names: readonly string[], width: number): Line[] {
  if (names.length === 0) return [];
  return wrap([span(`${word} / `, 'muted'), span(names.join(', '), 'action')], width, SIZE.body);
}

function insideLines(transition: ChartTransition, width: number): Line[] {
  const again = transition.targets.length === 0 ? '' : transition.reenter ? ' (enters again)' : ' (starts again)';
  return wrap([...spans(transition, ' '), ...(again === '' ? [] : [span(again, 'muted')])], width, SIZE.body);
}

/**
 * The text on an arrow: one line if it fits, else event, guard and actions each from a line of their own.
 * `within` names the source of a transition whose arrow starts at the box around it.
 */
export function labelLines(transition: ChartTransition, columns: number, within: string | null = null): Line[] {
  const lead = within === null ? [] : [span(`in ${within}: `, 'muted')];
  const flat = [...lead, ...spans(transition, ' ')];
  const length = flat.reduce((sum, part) => sum + part.text.length, 0);
  if (length <= columns || within !== null) return wrap(flat, Math.max(columns, within === null ? 0 : 44), SIZE.body);
  return spans(transition, '').flatMap((part) => wrap([part], columns, SIZE.body));
}

function spans(transition: ChartTransition, gap: string): Span[] {
  const parts = [span(transition.event, 'event')];
  const guard = transition.guard ?? (transition.index > 0 ? 'else' : null);
  if (guard !== null) parts.push(span(`${gap}[${guard}]`, 'guard'));
  if (transition.actions.length > 0) parts.push(span(`${gap}/ ${transition.actions.join(', ')}`, 'action'));
  return parts;
}

function span(text: string, tone: Tone): Span {
  return { text, tone };
}

/**
 * A transition in one line of plain text: `event [guard] / action, action`.
 * The guard `else` means: no guard of its own, and others are tried first.
 */
export function labelText(transition: ChartTransition): string {
  return spans(transition, ' ')
    .map((each) => each.text)
    .join('');
}
