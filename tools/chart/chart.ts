import type { AnyStateMachine, AnyStateNode, AnyTransitionDefinition } from 'xstate';
import { actionNames, delayName, eventName, guardName, type Invoked } from './names.ts';

export type StateKind = 'atomic' | 'compound' | 'parallel' | 'final' | 'history';

/** A machine as data: everything a picture shows, in definition order, and nothing that can run. */
export interface Chart {
  /** The machine's id, which is also the id of `root`. */
  id: string;
  root: ChartState;
  transitions: ChartTransition[];
}

export interface ChartState {
  /** Unique in the chart; XState's own: `attempt.running.fresh`. */
  id: string;
  key: string;
  kind: StateKind;
  /** Set for `history` only. */
  history?: 'shallow' | 'deep';
  /** Id of the state entered first; set for `compound` only. */
  initial?: string;
  tags: string[];
  description?: string;
  entry: string[];
  exit: string[];
  invokes: Invoked[];
  children: ChartState[];
}

export interface ChartTransition {
  /** `source|event type|index among the transitions of that event`: stable while the source's definition is. */
  id: string;
  source: string;
  /** Empty: handled inside the source, which is neither left nor entered. */
  targets: string[];
  /** Short form: `after idle`, `done: child`, `always`. */
  event: string;
  /** What XState calls it. */
  eventType: string;
  /** Set for delayed transitions only: a name, or milliseconds. */
  delay?: string;
  guard?: string;
  /** Place among the transitions of this event, which are tried in order. */
  index: number;
  actions: string[];
  /** The source is left and entered again although the target is inside it or the source itself. */
  reenter: boolean;
  description?: string;
}

/** Reads a machine. Implementations (`setup`, `provide`) play no part in it. */
export function chartOf(machine: AnyStateMachine): Chart {
  const transitions: ChartTransition[] = [];
  const root = readState(machine.root, transitions);
  return { id: machine.id, root, transitions };
}

/** All states of a chart, a parent before its children. */
export function statesOf(chart: Chart): ChartState[] {
  const walk = (state: ChartState): ChartState[] => [state, ...state.children.flatMap(walk)];
  return walk(chart.root);
}

function readState(node: AnyStateNode, transitions: ChartTransition[]): ChartState {
  const invokes = node.invoke.map(readInvoke);
  transitions.push(...readTransitions(node, invokes));
  const state: ChartState = {
    id: node.id,
    key: node.key,
    kind: node.type,
    tags: [...node.tags],
    // Not node.entry and node.exit: there XState adds the timers of `after`.
    entry: actionNames(node.config.entry),
    exit: actionNames(node.config.exit),
    invokes,
    children: Object.values(node.states).map((child: AnyStateNode) => readState(child, transitions)),
  };
  const description = describe(node);
  if (description !== null) state.description = description;
  if (node.type === 'history') state.history = node.history === 'deep' ? 'deep' : 'shallow';
  const initial = node.type === 'compound' ? (node.initial.target?.[0] as AnyStateNode | undefined) : undefined;
  if (initial !== undefined) state.initial = initial.id;
  return state;
}

function describe(node: AnyStateNode): string | null {
  if (typeof node.description === 'string') return node.description;
  const meta: unknown = node.meta;
  if (typeof meta !== 'object' || meta === null) return null;
  const text = (meta as { description?: unknown }).description;
  return typeof text === 'string' ? text : null;
}

function readInvoke(invoke: { id: string; src: unknown }): Invoked {
  // Logic that stands in the config itself has no name; XState then makes one from its place.
  const named = typeof invoke.src === 'string' && !invoke.src.startsWith('xstate.invoke.');
  return { id: invoke.id, src: named ? (invoke.src as string) : 'inline' };
}

function readTransitions(node: AnyStateNode, invokes: readonly Invoked[]): ChartTransition[] {
  const lists = [...node.transitions.entries(), ['', node.always ?? []] as const];
  return [
    ...lists.flatMap(([type, list]) => list.map((each, index) => readTransition(node, type, each, index, invokes))),
    ...historyDefault(node),
  ];
}

/** Where a history state leads when there is nothing to remember. */
function historyDefault(node: AnyStateNode): ChartTransition[] {
  const target: unknown = node.type === 'history' ? node.config.target : undefined;
  if (typeof target !== 'string' || node.parent === undefined) return [];
  const id = target.startsWith('#') ? target.slice(1) : `${node.parent.id}.${target.replace(/^\./, '')}`;
  return [
    {
      id: `${node.id}|default|0`,
      source: node.id,
      targets: [id],
      event: 'default',
      eventType: '',
      index: 0,
      actions: [],
      reenter: false,
    },
  ];
}

function readTransition(
  node: AnyStateNode,
  type: string,
  definition: AnyTransitionDefinition,
  index: number,
  invokes: readonly Invoked[],
): ChartTransition {
  const delay = (definition as { delay?: unknown }).delay;
  const transition: ChartTransition = {
    id: `${node.id}|${type}|${index}`,
    source: node.id,
    targets: (definition.target ?? []).map((target: AnyStateNode) => target.id),
    event: delay === undefined ? eventName(type, invokes) : `after ${delayName(delay)}`,
    eventType: type,
    index,
    actions: actionNames(definition.actions),
    reenter: definition.reenter,
  };
  if (delay !== undefined) transition.delay = delayName(delay);
  if (definition.guard !== undefined) transition.guard = guardName(definition.guard);
  if (typeof definition.description === 'string') transition.description = definition.description;
  return transition;
}
