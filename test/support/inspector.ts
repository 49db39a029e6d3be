import type { AnyStateNode, InspectionEvent, Snapshot } from 'xstate';

/**
 * Watches a whole actor system and counts what should not happen: an event for an actor that has ended (a dead
 * letter), and an event that a machine has no transition for. Everything else that listens can be chained.
 */
export class Inspector {
  /** `actor <- event`, in order. */
  readonly deadLetters: string[] = [];
  readonly unhandled: string[] = [];
  /** Sees every event too: coverage, a test's own gates. */
  readonly listeners: ((event: InspectionEvent) => void)[];

  constructor(...listeners: ((event: InspectionEvent) => void)[]) {
    this.listeners = listeners;
  }

  readonly inspect = (event: InspectionEvent): void => {
    this.#count(event);
    for (const listener of this.listeners) listener(event);
  };

  #count(event: InspectionEvent): void {
    if (event.type === '@xstate.event') {
      const { status } = event.actorRef.getSnapshot() as Snapshot<unknown>;
      if (status !== 'active') this.deadLetters.push(`${nameOf(event.actorRef)} <- ${event.event.type}`);
    }
    if (event.type !== '@xstate.microstep') return;
    const transitions: readonly { source: AnyStateNode }[] = event._transitions;
    if (transitions.length === 0 && !event.event.type.startsWith('xstate.')) {
      this.unhandled.push(`${nameOf(event.actorRef)} <- ${event.event.type}`);
    }
  }
}

const nameOf = (actor: object): string => ('id' in actor ? String(actor.id) : 'an actor');
