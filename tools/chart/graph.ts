import type { ElkExtendedEdge, ElkNode, LayoutOptions } from 'elkjs/lib/elk-api.js';
import { statesOf, type Chart, type ChartState } from './chart.ts';
import { anyId, bundlesOf, type Bundle } from './bundles.ts';
import { stateText, type Columns, type StateText } from './content.ts';
import { blockSize, lineHeight, lineWidth, SIZE, textWidth, type Line } from './text.ts';

/** The layout problem: what ELK is asked, with every size measured. */

export interface Style {
  direction: 'DOWN' | 'RIGHT';
  columns: Columns;
}

export interface Graph {
  elk: ElkNode;
  texts: Map<string, StateText>;
  bundles: Map<string, Bundle>;
}

/** Space in px. */
export const PAD = { x: 12, y: 8, rule: 6, tag: 6, frame: 18, label: 6, between: 5 } as const;
export const DOT = 12;
export const HISTORY = 28;
export const tagSize = (tag: string): { width: number; height: number } => ({
  width: textWidth(tag, SIZE.small) + 12,
  height: 16,
});
export const ANY_TEXT = 'any state';

export const initialId = (state: string): string => `${state}:initial`;

export function graphOf(chart: Chart, style: Style): Graph {
  const states = statesOf(chart);
  const texts = new Map(states.map((state) => [state.id, stateText(state, chart, style.columns)]));
  const bundles = new Map(bundlesOf(chart, style.columns.label).map((each) => [each.id, each]));
  const order = new Map(states.map((state, index) => [state.id, index]));
  const withAny = new Set([...bundles.values()].map((each) => each.source).filter((source) => !order.has(source)));
  const elk: ElkNode = {
    id: ':canvas',
    layoutOptions: options(style),
    children: [node(chart.root, { texts, withAny, direction: style.direction })],
    edges: [
      ...states.flatMap((state) => (state.initial === undefined ? [] : [initialEdge(state.id, state.initial)])),
      ...[...bundles.values()].map((each) => edge(each, order)),
    ],
  };
  return { elk, texts, bundles };
}

function options(style: Style): LayoutOptions {
  return {
    'elk.algorithm': 'layered',
    'elk.direction': style.direction,
    'elk.hierarchyHandling': 'INCLUDE_CHILDREN',
    'elk.edgeRouting': 'ORTHOGONAL',
    'elk.randomSeed': '1',
    'elk.padding': '[top=12,left=12,bottom=12,right=12]',
    'elk.json.shapeCoords': 'ROOT',
    'elk.json.edgeCoords': 'ROOT',
    ...SPACING,
  };
}

const SPACING: LayoutOptions = {
  'elk.layered.nodePlacement.bk.fixedAlignment': 'BALANCED',
  'elk.alignment': 'TOP',
  'elk.spacing.nodeNode': '28',
  'elk.spacing.edgeNode': '18',
  'elk.spacing.edgeEdge': '14',
  'elk.spacing.edgeLabel': '4',
  'elk.spacing.labelLabel': '6',
  'elk.spacing.labelNode': '8',
  'elk.layered.spacing.nodeNodeBetweenLayers': '24',
  'elk.layered.spacing.edgeNodeBetweenLayers': '12',
  'elk.layered.spacing.edgeEdgeBetweenLayers': '12',
};

interface Sizes {
  texts: Map<string, StateText>;
  withAny: ReadonlySet<string>;
  direction: Style['direction'];
}

function node(state: ChartState, sizes: Sizes): ElkNode {
  const { texts, withAny, direction } = sizes;
  if (state.kind === 'history') return { id: state.id, width: HISTORY, height: HISTORY };
  const text = texts.get(state.id);
  if (text === undefined) throw new Error(`no text for ${state.id}`);
  const size = contentSize(text);
  if (state.children.length === 0) return { id: state.id, ...size };
  const children = state.children.map((child) => node(child, sizes));
  if (withAny.has(anyId(state.id))) children.unshift(anyNode(state.id));
  if (state.initial !== undefined) children.unshift(first({ id: initialId(state.id), width: DOT, height: DOT }));
  return {
    id: state.id,
    layoutOptions: {
      ...SPACING,
      'elk.padding': `[top=${size.height + 4},left=${PAD.frame},bottom=${PAD.frame},right=${PAD.frame}]`,
      'elk.nodeSize.constraints': 'MINIMUM_SIZE',
      // ELK turns the graph for DOWN, but not this pair.
      'elk.nodeSize.minimum':
        direction === 'DOWN' ? `(${size.height},${size.width})` : `(${size.width},${size.height})`,
    },
    children,
  };
}

function anyNode(state: string): ElkNode {
  return first({ id: anyId(state), width: textWidth(ANY_TEXT, SIZE.small) + 18, height: 22 });
}

function first(child: ElkNode): ElkNode {
  return { ...child, layoutOptions: { 'elk.layered.layering.layerConstraint': 'FIRST' } };
}

/** Size of a box around its own text, without children. */
export function contentSize(text: StateText): { width: number; height: number } {
  const body = blockSize(text.body);
  const tags = text.tags.reduce((sum, tag) => sum + PAD.tag + tagSize(tag).width, 0);
  const head = lineWidth(text.head) + (tags === 0 ? 0 : tags + PAD.tag);
  return {
    width: Math.max(90, Math.ceil(Math.max(head, body.width)) + 2 * PAD.x),
    height: Math.ceil(headHeight(text) + (text.body.length === 0 ? 0 : body.height + 2 * PAD.rule)),
  };
}

/** Height of the part above the rule. */
export function headHeight(text: StateText): number {
  return lineHeight(text.head) + 2 * PAD.y;
}

export function labelSize(blocks: readonly Line[][]): { width: number; height: number } {
  const sizes = blocks.map(blockSize);
  return {
    width: Math.ceil(Math.max(...sizes.map((size) => size.width)) + 2 * PAD.label),
    height: Math.ceil(
      sizes.reduce((sum, size) => sum + size.height, 0) + PAD.label + (blocks.length - 1) * PAD.between,
    ),
  };
}

function edge(each: Bundle, order: ReadonlyMap<string, number>): ElkExtendedEdge {
  const from = order.get(each.source) ?? -1;
  const to = order.get(each.target) ?? -1;
  const inline = { 'elk.edgeLabels.inline': 'true', 'elk.edgeLabels.placement': 'CENTER' };
  return {
    id: each.id,
    sources: [each.source],
    targets: [each.target],
    layoutOptions: { 'elk.layered.priority.direction': from < to ? '10' : '0' },
    labels: [{ text: each.id, ...labelSize(each.blocks), layoutOptions: inline }],
  };
}

function initialEdge(state: string, target: string): ElkExtendedEdge {
  return {
    id: `${initialId(state)}>${target}`,
    sources: [initialId(state)],
    targets: [target],
    layoutOptions: { 'elk.layered.priority.direction': '10', 'elk.layered.priority.straightness': '10' },
  };
}
