import {
  type AnyActorRef,
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type AnyStateNode,
  type EventObject,
  type InspectionEvent,
  __unsafe_getAllOwnEventDescriptors,
  initialTransition,
} from 'xstate';
import { getAdjacencyMap } from 'xstate/graph';

/** What path generation has to know of a machine. */
export interface PathModel {
  machine: AnyStateMachine;
  input: unknown;
  /** The payload variants to try for an event type. `xstate.after.*` needs none. */
  variants(type: string, snapshot: AnyMachineSnapshot): EventObject[];
  /** What of the context tells two states apart. Leave out what only counts, or the exploration never ends. */
  identity(snapshot: AnyMachineSnapshot): unknown;
  /** The model of the world: may this happen here? Default: everything may. */
  feasible?(snapshot: AnyMachineSnapshot, event: EventObject): boolean;
  /** Most edges to explore. Default 5,000; more is an error. */
  limit?: number;
}

export interface Path {
  events: EventObject[];
  /** The state value the last event was sent in. */
  from: unknown;
  name: string;
}

/**
 * One path for each edge of the explored graph: the shortest way to its source, then the edge. That walks every
 * transition the variants can take, which shortest paths to states do not.
 */
export function edgePaths(model: PathModel): Path[] {
  const { machine, limit = 5_000 } = model;
  const serializeState = (snapshot: AnyMachineSnapshot): string =>
    JSON.stringify([snapshot.value, snapshot.status, model.identity(snapshot)]);
  const options = {
    events: (snapshot: AnyMachineSnapshot) => eventsIn(snapshot, model),
    fromState: initialTransition(machine, model.input)[0],
    serializeState,
    limit,
  };
  const adjacency = getAdjacencyMap(machine, options as never) as Record<string, AdjacentState>;
  const ways = shortestWays(adjacency, serializeState);
  return Object.entries(adjacency).flatMap(([state, node]) =>
    Object.values(node.transitions).map(({ event }) => ({
      events: [...(ways.get(state) ?? []), event],
      from: node.state.value,
      name: `${JSON.stringify(node.state.value)} ${event.type}`,
    })),
  );
}

/** Breadth first: the way on which a state is met first is a shortest. (XState's own search explores all of it again.) */
function shortestWays(
  adjacency: Record<string, AdjacentState>,
  serializeState: (snapshot: AnyMachineSnapshot) => string,
): Map<string, EventObject[]> {
  const [first] = Object.keys(adjacency);
  const ways = new Map<string, EventObject[]>(first === undefined ? [] : [[first, []]]);
  for (const [state, way] of ways) {
    for (const { event, state: next } of Object.values(adjacency[state]?.transitions ?? {})) {
      const name = serializeState(next);
      if (!ways.has(name)) ways.set(name, [...way, event]);
    }
  }
  return ways;
}

interface AdjacentState {
  state: AnyMachineSnapshot;
  transitions: Record<string, { event: EventObject; state: AnyMachineSnapshot }>;
}

function eventsIn(snapshot: AnyMachineSnapshot, model: PathModel): EventObject[] {
  if (snapshot.status !== 'active') return [];
  return __unsafe_getAllOwnEventDescriptors(snapshot)
    .flatMap((type) => (type.startsWith('xstate.after.') ? [{ type }] : model.variants(type, snapshot)))
    .filter((event) => model.feasible?.(snapshot, event) ?? true);
}

/** Counts which transitions of a machine were taken, on pure paths or on running actors alike. */
export class TransitionCoverage {
  readonly #all = new Set<string>();
  readonly #taken = new Set<string>();
  readonly #id: string;

  constructor(machine: AnyStateMachine) {
    this.#id = machine.id;
    for (const node of nodesOf(machine.root)) {
      for (const [event, candidates] of node.transitions)
        candidates.forEach((_, i) => this.#all.add(key(node, event, i)));
      (node.always ?? []).forEach((_, i) => this.#all.add(key(node, '', i)));
    }
  }

  /** Give this to `createActor(..., { inspect })`; the transitions of other machines are passed over. */
  readonly inspect = (event: InspectionEvent): void => {
    if (event.type === '@xstate.microstep') this.note(event._transitions);
  };

  note(transitions: readonly { source: AnyStateNode; eventType: string }[]): void {
    for (const transition of transitions) {
      const { source, eventType } = transition;
      if (source.machine.id !== this.#id) continue;
      const candidates: readonly unknown[] =
        eventType === '' ? (source.always ?? []) : (source.transitions.get(eventType) ?? []);
      const name = key(source, eventType, candidates.indexOf(transition));
      if (this.#all.has(name)) this.#taken.add(name);
    }
  }

  get total(): number {
    return this.#all.size;
  }

  get taken(): number {
    return this.#taken.size;
  }

  /** `state event #n`, sorted. */
  missing(): string[] {
    return [...this.#all].filter((name) => !this.#taken.has(name)).toSorted();
  }

  toString(): string {
    return `${this.#id}: ${this.taken} of ${this.total} transitions (${Math.floor((100 * this.taken) / this.total)} %)`;
  }
}

const key = (node: AnyStateNode, event: string, index: number): string =>
  `${node.id} ${event === '' ? 'always' : event} #${index}`;

function nodesOf(node: AnyStateNode): AnyStateNode[] {
  return [node, ...Object.values(node.states).flatMap(nodesOf)];
}

/** The actor at a path of ids below another (`['step:a', 'attempt']`). */
export function actorAt(root: AnyActorRef, path: readonly string[]): AnyActorRef | undefined {
  let actor: AnyActorRef | undefined = root;
  for (const id of path) {
    actor = (actor?.getSnapshot() as AnyMachineSnapshot | undefined)?.children[id];
  }
  return actor;
}
