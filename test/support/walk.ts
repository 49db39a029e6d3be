import {
  type AnyMachineSnapshot,
  type AnyStateMachine,
  type EventObject,
  type InspectionEvent,
  createActor,
  fromCallback,
  initialTransition,
  transition,
} from 'xstate';
import { type Path, type PathModel, StepClock, TransitionCoverage, edgePaths } from '../../src/testing/index.ts';

/** Every port filled with an actor that does nothing. */
export function inert(machine: AnyStateMachine): AnyStateMachine {
  const nothing = fromCallback(() => {});
  const names = Object.keys(machine.implementations.actors);
  return machine.provide({ actors: Object.fromEntries(names.map((name) => [name, nothing])) });
}

export interface Chosen<M extends PathModel> {
  model: M;
  path: Path;
  /** What the pure machine says the state value is after each event. */
  values: unknown[];
}

/**
 * A few paths that together take every transition that any path of these models takes: the one with the most new
 * transitions first, and the shorter of two. Walking all of them on real processes would show the same and take long.
 */
export function choosePaths<M extends PathModel>(models: readonly M[]): Chosen<M>[] {
  let rest = models.flatMap((model) =>
    edgePaths(model).map((path) => ({ model, path, takes: transitionsOf(model, path) })),
  );
  const covered = new Set<string>();
  const chosen: Chosen<M>[] = [];
  for (;;) {
    const gain = (one: (typeof rest)[number]): number => one.takes.filter((name) => !covered.has(name)).length;
    rest = rest.filter((one) => gain(one) > 0);
    const [best] = rest.toSorted((a, b) => gain(b) - gain(a) || a.path.events.length - b.path.events.length);
    if (best === undefined) return chosen;
    for (const name of best.takes) covered.add(name);
    chosen.push({ model: best.model, path: best.path, values: valuesOf(best.model, best.path) });
  }
}

function transitionsOf(model: PathModel, path: Path): string[] {
  const coverage = new TransitionCoverage(model.machine);
  const all = coverage.missing();
  const options = { input: model.input, clock: new StepClock(), inspect: coverage.inspect };
  const actor = createActor(inert(model.machine), options as never).start();
  for (const event of path.events) actor.send(event);
  actor.stop();
  const missing = new Set(coverage.missing());
  return all.filter((name) => !missing.has(name));
}

/** The oracle: the pure machine, event by event. */
function valuesOf(model: PathModel, path: Path): unknown[] {
  const machine = inert(model.machine);
  let [snapshot] = initialTransition(machine, model.input) as unknown as [AnyMachineSnapshot];
  return path.events.map((event) => {
    [snapshot] = transition(machine, snapshot as never, event as never) as unknown as [AnyMachineSnapshot];
    return snapshot.value;
  });
}

interface Waiter {
  type: string;
  resolve: (value: { value: unknown }) => void;
}

/** What the root actor has been given and has worked off, in order; tells when an event has been. */
export class Deliveries {
  readonly #seen: { type: string; value: unknown }[] = [];
  #mark = 0;
  #waiter: Waiter | null = null;

  readonly inspect = (event: InspectionEvent): void => {
    if (event.type !== '@xstate.snapshot' || event.actorRef.sessionId !== event.rootId) return;
    this.#seen.push({ type: event.event.type, value: (event.snapshot as AnyMachineSnapshot).value });
    const waiter = this.#waiter;
    const found = waiter === null ? null : this.take(waiter);
    if (waiter === null || found === null) return;
    this.#waiter = null;
    waiter.resolve(found);
  };

  /** The state value that an event of this type led to, if one has come after the one that was taken last. */
  take({ type }: { type: string }): { value: unknown } | null {
    const at = this.#seen.findIndex((one, index) => index >= this.#mark && one.type === type);
    if (at < 0) return null;
    this.#mark = at + 1;
    return this.#seen[at] ?? null;
  }

  /** As `take`, and waits for it. */
  async next({ type }: { type: string }, patienceMs = 10_000): Promise<{ value: unknown }> {
    let timer: NodeJS.Timeout | undefined;
    return new Promise<{ value: unknown }>((resolve, reject) => {
      this.#waiter = { type, resolve };
      const came = (): string =>
        this.#seen
          .slice(this.#mark)
          .map((one) => one.type)
          .join(', ');
      timer = setTimeout(() => reject(new Error(`in vain waited for ${type}; there came: ${came()}`)), patienceMs);
    }).finally(() => clearTimeout(timer));
  }
}

/**
 * Causes the events of a path one after the other and compares each state value with the oracle's. What happens at
 * once is not awaited: between a start and the first news of it there is no turn of the loop.
 */
export async function follow(
  { path, values }: Chosen<PathModel>,
  deliveries: Deliveries,
  cause: (event: EventObject) => Promise<void> | null,
): Promise<void> {
  for (const [index, event] of path.events.entries()) {
    const caused = cause(event);
    if (caused !== null) await caused;
    const { value } = deliveries.take(event) ?? (await deliveries.next(event));
    if (JSON.stringify(value) === JSON.stringify(values[index])) continue;
    const [is, expected] = [JSON.stringify(value), JSON.stringify(values[index])];
    const way = path.events.map((one) => one.type).join(', ');
    throw new Error(
      `after event ${index + 1}, ${event.type}, of (${way}) it is in ${is}, and the pure machine in ${expected}`,
    );
  }
}

/** Works on all, so many at a time; all are finished, then the first failure is thrown. */
export async function inParallel<T>(
  items: readonly T[],
  atOnce: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const errors: unknown[] = [];
  const worker = async (): Promise<void> => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      await work(item).catch((error: unknown) => errors.push(error));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  if (errors.length > 0) throw errors[0];
}
