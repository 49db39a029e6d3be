import { didYouMean } from './suggest.ts';
import type { Finding } from './types.ts';
import type { StepView } from './view.ts';

/** Who waits for whom, by index. `entry` is the position in the step's `needs`; null: by default, the step before. */
export interface Edge {
  to: number;
  entry: number | null;
}

export interface Graph {
  /** Of each step, what it waits for. */
  edges: readonly (readonly Edge[])[];
  /** The first step of each id. */
  byId: ReadonlyMap<string, number>;
}

export function graphOf(steps: readonly StepView[]): { graph: Graph; findings: Finding[] } {
  const byId = new Map<string, number>();
  for (const { id, index } of steps) if (id !== null && !byId.has(id)) byId.set(id, index);
  const findings: Finding[] = [];
  const edges = steps.map((step): Edge[] => {
    if (step.needs === null) return step.index === 0 ? [] : [{ to: step.index - 1, entry: null }];
    return step.needs.flatMap((id, entry) => {
      if (id === null) return [];
      const path = ['steps', step.index, 'needs', entry];
      const to = byId.get(id);
      if (id === step.id) {
        findings.push({ path, code: 'self-need', message: 'a step cannot wait for itself: leave it out' });
      } else if (to === undefined) {
        findings.push({
          path,
          code: 'unknown-step',
          message: `there is no step "${id}".${didYouMean(id, byId.keys())}`,
        });
      } else return [{ to, entry }];
      return [];
    });
  });
  return { graph: { edges, byId }, findings };
}

/** One finding for each way back that a walk over the needs comes upon; empty means that there is no cycle. */
export function checkCycles(steps: readonly StepView[], graph: Graph): Finding[] {
  const done = new Uint8Array(steps.length);
  const findings: Finding[] = [];
  for (const start of steps.keys())
    if (done[start] === 0) walk(start, graph, done, (trail) => findings.push(cycle(steps, graph, trail)));
  return findings;
}

interface Visit {
  step: number;
  /** Edges that were taken already; the last one leads to the next visit. */
  taken: number;
}

/** Depth first and without recursion: a chain may be 10,000 steps long. */
function walk(start: number, graph: Graph, done: Uint8Array, found: (trail: Visit[]) => void): void {
  const onTrail = new Map<number, number>([[start, 0]]);
  const trail: Visit[] = [{ step: start, taken: 0 }];
  for (let visit = trail.at(-1); visit !== undefined; visit = trail.at(-1)) {
    const edge = graph.edges[visit.step]?.[visit.taken++];
    if (edge === undefined) {
      done[visit.step] = 1;
      onTrail.delete(visit.step);
      trail.pop();
      continue;
    }
    const back = onTrail.get(edge.to);
    if (back !== undefined) found(trail.slice(back));
    else if (done[edge.to] === 0) {
      onTrail.set(edge.to, trail.length);
      trail.push({ step: edge.to, taken: 0 });
    }
  }
}

const SHOWN = 10;

function cycle(steps: readonly StepView[], graph: Graph, trail: readonly Visit[]): Finding {
  const nameOf = (index: number): string => steps[index]?.id ?? `steps[${index}]`;
  const entryOf = ({ step, taken }: Visit): number | null => graph.edges[step]?.[taken - 1]?.entry ?? null;
  const names = trail.map(({ step }) => nameOf(step));
  const shown = names.length > SHOWN ? [...names.slice(0, SHOWN), `… (${names.length - SHOWN} more)`] : names;
  const loop = [...shown, names[0]].join(' -> ');
  // A default need is written nowhere, so point at one that is.
  const written = trail.find((visit) => entryOf(visit) !== null);
  const silent = trail.find((visit) => entryOf(visit) === null);
  const hint =
    silent === undefined ? '' : ` (${nameOf(silent.step)} names no needs, so it waits for the step before it)`;
  const path = written === undefined ? [] : ['steps', written.step, 'needs', entryOf(written) ?? 0];
  return { path, code: 'cycle', message: `these steps wait for each other: ${loop}${hint}. Remove one of the needs.` };
}

/** Tells whether one step has completed, for certain, before another starts. Only for a graph without cycles. */
export function ancestry(graph: Graph): (ancestor: number, step: number) => boolean {
  const words = Math.ceil(graph.edges.length / 32);
  const sets = new Map<number, Uint32Array>();
  for (const step of inOrder(graph)) {
    const set = new Uint32Array(words);
    for (const { to } of graph.edges[step] ?? []) {
      const theirs = sets.get(to);
      if (theirs !== undefined)
        for (let word = 0; word < words; word++) set[word] = (set[word] ?? 0) | (theirs[word] ?? 0);
      set[to >>> 5] = (set[to >>> 5] ?? 0) | (1 << (to & 31));
    }
    sets.set(step, set);
  }
  return (ancestor, step) => (((sets.get(step)?.[ancestor >>> 5] ?? 0) >>> (ancestor & 31)) & 1) === 1;
}

/** Needs first. */
function inOrder(graph: Graph): number[] {
  const waits = graph.edges.map((edges) => edges.length);
  const waiting: number[][] = graph.edges.map(() => []);
  graph.edges.forEach((edges, step) => {
    for (const { to } of edges) waiting[to]?.push(step);
  });
  const order = [...waits.keys()].filter((step) => waits[step] === 0);
  for (const step of order) {
    for (const next of waiting[step] ?? []) {
      const left = (waits[next] ?? 0) - 1;
      waits[next] = left;
      if (left === 0) order.push(next);
    }
  }
  return order;
}
