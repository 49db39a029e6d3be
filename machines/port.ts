import { type ActorLogic, type ActorSystem, type EventObject, type Snapshot, fromTransition } from 'xstate';

/**
 * A typed hole in a machine: the effect or the child machine that `src/` fills with `.provide()`.
 *
 * Ports keep machine files apart (no machine imports another) and their types small: with whole machines as
 * actors a parent's type contains its children's, twice a level. An unfilled port fails when it is started.
 */
export type Port<E extends EventObject, I, O = undefined, M extends EventObject = EventObject> = ActorLogic<
  Snapshot<O>,
  E,
  I,
  // oxlint-disable-next-line typescript/no-explicit-any -- xstate exports no name for "any actor system"
  ActorSystem<any>,
  M
>;

/** What logic must be able to do to fill a port. */
interface Fills<E, I, O> {
  // oxlint-disable-next-line typescript/no-explicit-any -- the snapshot and the scope are the logic's own affair
  transition: (snapshot: any, event: E, scope: any) => Snapshot<O>;
  // oxlint-disable-next-line typescript/no-explicit-any -- as above
  getInitialSnapshot: (scope: any, input: I) => Snapshot<O>;
}

export function port<E extends EventObject, I, O = undefined, M extends EventObject = EventObject>(
  name: string,
): Port<E, I, O, M> {
  const hole = {
    ...fromTransition((state: object) => state, {}),
    start: () => {
      throw new Error(`port '${name}' was not provided`);
    },
  };
  return hole as unknown as Port<E, I, O, M>;
}

/** Fills a port: event, input and output come from the port, and `logic` is checked against them. */
export function fill<E extends EventObject, I, O, M extends EventObject>(
  logic: Fills<NoInfer<E>, NoInfer<I>, NoInfer<O>>,
): Port<E, I, O, M> {
  return logic as unknown as Port<E, I, O, M>;
}
