import type { Chart, ChartState, ChartTransition } from './chart.ts';
import { invokeName, type Invoked } from './names.ts';
import { element, escapeXml } from './xml.ts';

/**
 * A chart as W3C SCXML, for tools that read it; not meant to be run.
 *
 * States, transitions, events, conditions and delays are SCXML's own. Actions, which SCXML cannot name, are
 * `<log label="action" expr="'name'"/>`; conditions are the names of guards. XState's event ids become SCXML's
 * (`done.state.x`, `done.invoke.x`, `error.invoke.x`); a delay is a `<send>` on entry and its event.
 */
export function scxmlOf(chart: Chart): string {
  const { root } = chart;
  const attributes = {
    xmlns: 'http://www.w3.org/2005/07/scxml',
    version: '1.0',
    datamodel: 'ecmascript',
    name: chart.id,
  };
  // <scxml> itself takes no transitions, entry or invoke: the machine is the one state inside it.
  const content = `\n${stateLines(root, chart, '  ').join('\n')}\n`;
  const document = element('scxml', { ...attributes, initial: root.id }, content);
  return `<?xml version="1.0" encoding="UTF-8"?>\n${document}\n`;
}

function stateLines(state: ChartState, chart: Chart, indent: string): string[] {
  const inner = `${indent}  `;
  const own = chart.transitions.filter((each) => each.source === state.id);
  const content = [
    ...(state.description === undefined ? [] : [`${inner}<!-- ${comment(state.description)} -->`]),
    ...block('onentry', [...state.entry.map(logged), ...sends(own)], inner),
    ...block('onexit', [...state.exit.map(logged), ...cancels(own)], inner),
    ...state.invokes.map((each) => inner + element('invoke', { id: each.id, src: each.src })),
    ...own.flatMap((each) => transitionLines(each, state, inner)),
    ...state.children.flatMap((child) => stateLines(child, chart, inner)),
  ];
  const { name, attributes } = tagOf(state);
  if (content.length === 0) return [indent + element(name, attributes)];
  return [indent + element(name, attributes, `\n${content.join('\n')}\n${indent}`)];
}

function tagOf(state: ChartState): { name: string; attributes: Record<string, string | undefined> } {
  switch (state.kind) {
    case 'atomic':
      return { name: 'state', attributes: { id: state.id } };
    case 'compound':
      return { name: 'state', attributes: { id: state.id, initial: state.initial } };
    case 'parallel':
    case 'final':
      return { name: state.kind, attributes: { id: state.id } };
    case 'history':
      return { name: 'history', attributes: { id: state.id, type: state.history } };
  }
}

function transitionLines(transition: ChartTransition, state: ChartState, indent: string): string[] {
  const { targets, guard, actions } = transition;
  const isHistory = state.kind === 'history';
  const attributes = {
    event: isHistory ? undefined : eventOf(transition, state.invokes),
    cond: guard,
    target: targets.length === 0 ? undefined : targets.join(' '),
    type: targets.length > 0 && !isHistory && isInternal(transition) ? 'internal' : undefined,
  };
  return actions.length === 0
    ? [indent + element('transition', attributes)]
    : block('transition', actions.map(logged), indent, attributes);
}

/** SCXML's internal transition: into a descendant of a source that is not left. */
function isInternal({ source, targets, reenter }: ChartTransition): boolean {
  return !reenter && targets.every((target) => target.startsWith(`${source}.`));
}

function eventOf(transition: ChartTransition, invokes: readonly Invoked[]): string | undefined {
  const { eventType, delay } = transition;
  if (eventType === '') return undefined;
  if (delay !== undefined) return delayEvent(transition);
  const actor = /^xstate\.(done|error)\.actor\.(.*)$/.exec(eventType);
  if (actor === null) return eventType.replace(/^xstate\.done\.state\./, 'done.state.');
  const id = actor[2] ?? '';
  const invoked = invokes.find((each) => each.id === id);
  return `${actor[1]}.invoke.${invoked === undefined ? id : invokeName(invoked)}`;
}

function delayEvent({ source, delay }: ChartTransition): string {
  return `after.${(delay ?? '').replaceAll(' ', '')}.${source}`;
}

function delayed(transitions: readonly ChartTransition[]): ChartTransition[] {
  const seen = new Set<string>();
  return transitions.filter((each) => each.delay !== undefined && !seen.has(each.delay) && seen.add(each.delay));
}

function sends(transitions: readonly ChartTransition[]): string[] {
  return delayed(transitions).map((each) => {
    const { delay = '' } = each;
    const event = delayEvent(each);
    const fixed = /^(\d+) ms$/.exec(delay);
    const time = fixed === null ? { delayexpr: delay } : { delay: `${fixed[1]}ms` };
    return element('send', { event, id: event, ...time });
  });
}

function cancels(transitions: readonly ChartTransition[]): string[] {
  return delayed(transitions).map((each) => element('cancel', { sendid: delayEvent(each) }));
}

function logged(action: string): string {
  return element('log', { label: 'action', expr: `'${action.replaceAll("'", "\\'")}'` });
}

function block(
  name: string,
  content: readonly string[],
  indent: string,
  attributes: Readonly<Record<string, string | undefined>> = {},
): string[] {
  if (content.length === 0) return [];
  return [indent + element(name, attributes, `\n${content.map((each) => `${indent}  ${each}\n`).join('')}${indent}`)];
}

function comment(text: string): string {
  return escapeXml(text).replaceAll('--', '- -').replace(/-$/, '- ');
}
