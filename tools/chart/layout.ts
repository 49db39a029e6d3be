import ElkModule from 'elkjs/lib/elk.bundled.js';
import type { ElkEdgeSection, ElkExtendedEdge, ElkNode } from 'elkjs/lib/elk-api.js';
import { statesOf, type Chart, type StateKind } from './chart.ts';
import { labelText, type StateText } from './content.ts';
import { contentSize, graphOf, type Graph, type Style } from './graph.ts';
import type { Line } from './text.ts';

// elkjs is CommonJS with types that say ES module.
const Elk = ElkModule as unknown as typeof ElkModule.default;

export interface Point {
  x: number;
  y: number;
}

export interface Rect extends Point {
  width: number;
  height: number;
}

export interface Box extends Rect {
  id: string;
  kind: StateKind | 'initial' | 'any';
  history?: 'shallow' | 'deep';
  /** Id of the box around it; null for the machine's own. */
  parent: string | null;
  hasChildren: boolean;
  text: StateText | null;
  /** Where text may stand: the whole width, or what arrows that come in from above leave free. */
  left: number;
  right: number;
}

export interface Arrow {
  id: string;
  source: string;
  target: string;
  points: Point[];
  /** One line for each transition on it. */
  title: string[];
  label: Label | null;
}

export interface Label extends Rect {
  blocks: Line[][];
}

/** A chart with coordinates in px, whole numbers, relative to the top left corner. */
export interface Picture {
  id: string;
  width: number;
  height: number;
  /** A box before those inside it. */
  boxes: Box[];
  arrows: Arrow[];
}

/** Lays a chart out. The same chart and style give the same picture. */
export async function layout(chart: Chart, style: Style): Promise<Picture> {
  const graph = graphOf(chart, style);
  const elk = new Elk();
  const placed: ElkNode = await elk.layout(graph.elk);
  const states = new Map(statesOf(chart).map((state) => [state.id, state]));
  const boxes: Box[] = [];
  const visit = (node: ElkNode, parent: string | null): void => {
    const state = states.get(node.id);
    const kind = state?.kind ?? (node.id.endsWith(':any') ? 'any' : 'initial');
    const box: Box = {
      ...rect(node),
      id: node.id,
      kind,
      parent,
      hasChildren: (node.children ?? []).length > 0,
      text: graph.texts.get(node.id) ?? null,
      left: 0,
      right: 0,
    };
    if (state?.history !== undefined) box.history = state.history;
    boxes.push(box);
    for (const child of node.children ?? []) visit(child, node.id);
  };
  for (const child of placed.children ?? []) visit(child, null);
  const arrows = (placed.edges ?? []).map((edge) => arrow(edge, graph));
  for (const box of boxes) Object.assign(box, freeSpan(box, arrows));
  return { id: chart.id, ...extent(boxes, arrows), boxes, arrows };
}

/** The first gap wide enough for a box's text between the arrows that cross its head, else the widest. */
function freeSpan(box: Box, arrows: readonly Arrow[]): { left: number; right: number } {
  const whole = { left: box.x, right: box.x + box.width };
  if (box.text === null || !box.hasChildren) return whole;
  const needed = contentSize(box.text);
  const crossings = arrows.flatMap(({ points }) =>
    points.flatMap((to, index) => {
      const from = points[index - 1];
      if (from === undefined || from.x !== to.x) return [];
      const isBeside = Math.max(from.y, to.y) <= box.y || Math.min(from.y, to.y) >= box.y + needed.height;
      return isBeside || to.x <= whole.left || to.x >= whole.right ? [] : [to.x];
    }),
  );
  if (crossings.length === 0) return whole;
  const stops = [whole.left, ...crossings.toSorted((a, b) => a - b), whole.right];
  const gaps = stops.slice(1).map((right, index) => ({ left: stops[index] ?? right, right }));
  const widest = gaps.reduce(
    (best, gap) => (gap.right - gap.left > best.right - best.left ? gap : best),
    gaps[0] ?? whole,
  );
  return gaps.find((gap) => gap.right - gap.left >= needed.width) ?? widest;
}

function arrow(edge: ElkExtendedEdge, graph: Graph): Arrow {
  const bundle = graph.bundles.get(edge.id);
  const placed = edge.labels?.[0];
  return {
    id: edge.id,
    source: edge.sources[0] ?? '',
    target: edge.targets[0] ?? '',
    points: straighten((edge.sections ?? []).flatMap(sectionPoints)),
    title: (bundle?.transitions ?? []).map(labelText),
    label: bundle !== undefined && placed !== undefined ? { ...rect(placed), blocks: bundle.blocks } : null,
  };
}

function sectionPoints(section: ElkEdgeSection): Point[] {
  return [section.startPoint, ...(section.bendPoints ?? []), section.endPoint].map((point) => ({
    x: Math.round(point.x),
    y: Math.round(point.y),
  }));
}

/** Drops points that are doubled or lie on a straight line between their neighbours. */
function straighten(points: readonly Point[]): Point[] {
  const kept: Point[] = [];
  for (const point of points) {
    const last = kept.at(-1);
    const before = kept.at(-2);
    if (last !== undefined && last.x === point.x && last.y === point.y) continue;
    const onLine =
      last !== undefined &&
      before !== undefined &&
      ((before.x === last.x && last.x === point.x) || (before.y === last.y && last.y === point.y));
    if (onLine) kept.pop();
    kept.push(point);
  }
  return kept;
}

function rect(shape: { x?: number; y?: number; width?: number; height?: number }): Rect {
  const x = Math.round(shape.x ?? 0);
  const y = Math.round(shape.y ?? 0);
  return { x, y, width: Math.ceil(shape.width ?? 0), height: Math.ceil(shape.height ?? 0) };
}

function extent(boxes: readonly Box[], arrows: readonly Arrow[]): { width: number; height: number } {
  const rects: Rect[] = [...boxes, ...arrows.flatMap((each) => (each.label === null ? [] : [each.label]))];
  const points = arrows.flatMap((each) => each.points);
  const right = Math.max(...rects.map((each) => each.x + each.width), ...points.map((each) => each.x));
  const bottom = Math.max(...rects.map((each) => each.y + each.height), ...points.map((each) => each.y));
  return { width: right + 12, height: bottom + 12 };
}
