import type { SteerEvent } from './adapter.ts';

type Reason = Extract<SteerEvent, { state: 'undelivered' }>['reason'];

interface Sent {
  /** Null for a message of our own that nobody waits for. */
  id: string | null;
  /** How the client names it when it has taken it. */
  key: string;
  state: 'sent' | 'queued' | 'taken';
}

/**
 * Our messages on their way into the conversation of a client that names each when it takes it; oldest first, and those
 * that have had their end are forgotten.
 *
 * That one was taken says little: what is taken into an aborted turn is answered by nobody. It is delivered when the model
 * goes on after it.
 */
export class Deliveries {
  #messages: Sent[] = [];

  sent(id: string | null, key: string): void {
    this.#messages.push({ id, key, state: 'sent' });
  }

  /** The client has it. */
  queued(key: string): SteerEvent[] {
    const message = this.#find(key);
    return message?.state === 'sent' ? this.#advance(message, 'queued') : [];
  }

  /** It is a part of the conversation now. Null: none of ours, or taken before. */
  taken(key: string): SteerEvent[] | null {
    const message = this.#find(key);
    return message === undefined || message.state === 'taken' ? null : this.#advance(message, 'taken');
  }

  refused(key: string): SteerEvent[] {
    const message = this.#find(key);
    return message === undefined ? [] : this.#end(message, { state: 'undelivered', reason: 'failed' });
  }

  /** The model goes on with the conversation as it is. */
  wentOn(): SteerEvent[] {
    return this.#endAll('taken', { state: 'delivered' });
  }

  /** The turn into which they were taken has ended, and nobody answers them. */
  dropped(reason: Reason): SteerEvent[] {
    return this.#endAll('taken', { state: 'undelivered', reason });
  }

  /** The client is gone. `taken`: why what was taken last was not gone on with. */
  over(taken: Reason): SteerEvent[] {
    const waiting = { state: 'undelivered', reason: 'step-ended' } as const;
    return [...this.dropped(taken), ...this.#endAll('queued', waiting), ...this.#endAll('sent', waiting)];
  }

  /** Not taken yet: somebody waits for `asked`, nobody for `own`. */
  count(): { asked: number; own: number } {
    const waiting = this.#messages.filter(({ state }) => state !== 'taken');
    const asked = waiting.filter(({ id }) => id !== null).length;
    return { asked, own: waiting.length - asked };
  }

  #find(key: string): Sent | undefined {
    return this.#messages.find((message) => message.key === key);
  }

  #advance(message: Sent, state: 'queued' | 'taken'): SteerEvent[] {
    message.state = state;
    return message.id === null ? [] : [{ t: 'steer', id: message.id, state }];
  }

  #endAll(state: Sent['state'], end: End): SteerEvent[] {
    // Asked at every record, and nearly always there is nothing.
    if (this.#messages.length === 0) return [];
    return this.#messages.filter((message) => message.state === state).flatMap((message) => this.#end(message, end));
  }

  #end(message: Sent, end: End): SteerEvent[] {
    this.#messages = this.#messages.filter((other) => other !== message);
    return message.id === null ? [] : [{ t: 'steer', id: message.id, ...end }];
  }
}

type End = { state: 'delivered' } | { state: 'undelivered'; reason: Reason };
