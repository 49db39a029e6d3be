import { statesOf, type Chart, type ChartState, type ChartTransition } from './chart.ts';
import { isInside, labelLines } from './content.ts';
import type { Line } from './text.ts';

/** Transitions with one source and one target share an arrow. */
export interface Bundle {
  id: string;
  source: string;
  target: string;
  transitions: ChartTransition[];
  /** One block of lines for each transition. One with many targets is written on each of its arrows. */
  blocks: Line[][];
}

/** Where the transitions of a box into itself start: a small node in it, so that no arrow crosses its own text. */
export const anyId = (state: string): string => `${state}:any`;

/** From this many siblings to one state outside, one arrow from the box around them says more than many. */
const FAN_IN = 4;

/** The arrows of a chart, with labels of at most `columns` characters a line. */
export function bundlesOf(chart: Chart, columns: number): Bundle[] {
  const states = statesOf(chart);
  const byId = new Map(states.map((state) => [state.id, state]));
  const parents = new Map(states.flatMap((state) => state.children.map((child) => [child.id, state] as const)));
  const links = chart.transitions.flatMap((transition) => {
    const state = byId.get(transition.source);
    return state === undefined || isInside(transition, state) ? [] : linksOf(transition, state, parents);
  });
  const bundles = new Map<string, Bundle>();
  for (const link of gatherFanIn(links)) {
    const id = `${link.source}>${link.target}`;
    const found = bundles.get(id) ?? { id, source: link.source, target: link.target, transitions: [], blocks: [] };
    bundles.set(id, found);
    found.transitions.push(link.transition);
    found.blocks.push(labelLines(link.transition, columns, link.within));
  }
  return [...bundles.values()];
}

/** One transition to one of its targets. */
interface Link {
  transition: ChartTransition;
  source: string;
  target: string;
  /** The box around the source, when the target is outside of it. */
  leaves: ChartState | null;
  /** Key of the real source, when the arrow starts at the box around it. */
  within: string | null;
}

function linksOf(transition: ChartTransition, state: ChartState, parents: Map<string, ChartState>): Link[] {
  const parent = parents.get(state.id);
  return transition.targets.map((target) => {
    const isOutside = parent !== undefined && parent.id !== target && !holds(parent, target);
    return {
      transition,
      source: holds(state, target) ? anyId(state.id) : state.id,
      target,
      leaves: isOutside ? parent : null,
      within: null,
    };
  });
}

function gatherFanIn(links: readonly Link[]): Link[] {
  const key = (link: Link): string => `${link.leaves?.id ?? ''}>${link.target}`;
  const sources = new Map<string, Set<string>>();
  for (const link of links) {
    if (link.leaves !== null) sources.set(key(link), (sources.get(key(link)) ?? new Set()).add(link.source));
  }
  return links.map((link) => {
    const isGathered = link.leaves !== null && (sources.get(key(link))?.size ?? 0) >= FAN_IN;
    if (!isGathered || link.leaves === null) return link;
    return { ...link, source: link.leaves.id, within: link.source.slice(link.leaves.id.length + 1) };
  });
}

function holds(state: ChartState, id: string): boolean {
  return state.children.some((child) => child.id === id || holds(child, id));
}
