import type { SteerEvent } from '../adapter.ts';

/** pi's two queues: `steering` is read at the next tool boundary, `followUp` when the agent would stop. */
export type Queue = 'steering' | 'followUp';

export interface Outgoing {
  /** Null for one of our own that nobody waits for. */
  id: string | null;
  text: string;
  queue: Queue;
}

interface Message extends Outgoing {
  state: 'sent' | 'queued' | 'taken';
}

type Reason = Extract<SteerEvent, { state: 'undelivered' }>['reason'];

/**
 * Our messages on their way into pi's conversation, oldest first; those that have had their end are forgotten.
 *
 * pi names a message by its text alone, so of several equal ones the first that waits is meant, as pi itself has it.
 * That one was taken says little: an abort puts what is queued into the conversation as well, and nobody answers it.
 * So it is delivered when something comes after it that only a model which was asked again can bring.
 */
export class Messages {
  #messages: Message[] = [];

  sent(message: Outgoing): void {
    this.#messages.push({ ...message, state: 'sent' });
  }

  /** pi's queues, as it tells them at each change. */
  queues(queues: Record<Queue, readonly string[]>): SteerEvent[] {
    return [...this.#queue('steering', queues.steering), ...this.#queue('followUp', queues.followUp)];
  }

  /** pi has answered the command that brought it. */
  answered(id: string, accepted: boolean): SteerEvent[] {
    const message = this.#messages.find((candidate) => candidate.id === id);
    if (message === undefined) return [];
    if (!accepted) return this.#end(message, { state: 'undelivered', reason: 'failed' });
    return message.state === 'sent' ? this.#advance(message, 'queued') : [];
  }

  /** A message of a user has become part of the conversation. Null: none of ours. */
  taken(text: string): SteerEvent[] | null {
    const waiting = this.#messages.filter((message) => message.state !== 'taken' && message.text === text);
    const message = waiting.find(({ queue }) => queue === 'steering') ?? waiting[0];
    return message === undefined ? null : this.#advance(message, 'taken');
  }

  /** The model goes on with the conversation as it is. */
  wentOn(): SteerEvent[] {
    return this.#endAll('taken', { state: 'delivered' });
  }

  aborted(): SteerEvent[] {
    return this.#endAll('taken', { state: 'undelivered', reason: 'aborted' });
  }

  /** What is still queued stays there. */
  refused(): SteerEvent[] {
    return this.#endAll('queued', { state: 'undelivered', reason: 'failed' });
  }

  /** The agent is gone. `taken`: why what was taken last was not gone on with. */
  over(taken: Reason): SteerEvent[] {
    const waiting = { state: 'undelivered', reason: 'step-ended' } as const;
    return [
      ...this.#endAll('taken', { state: 'undelivered', reason: taken }),
      ...this.#endAll('queued', waiting),
      ...this.#endAll('sent', waiting),
    ];
  }

  /** Not taken yet, by whether somebody waits for them. */
  count(): { unanswered: number; queued: number; own: number } {
    const waiting = this.#messages.filter((message) => message.state !== 'taken');
    const asked = waiting.filter(({ id }) => id !== null);
    const queued = asked.filter(({ state }) => state === 'queued').length;
    return { unanswered: asked.length - queued, queued, own: waiting.length - asked.length };
  }

  #queue(queue: Queue, texts: readonly string[]): SteerEvent[] {
    const rest = [...texts];
    const mine = this.#messages.filter((message) => message.queue === queue && message.state !== 'taken');
    const left = mine.filter(({ text }) => {
      const at = rest.indexOf(text);
      if (at >= 0) rest.splice(at, 1);
      return at < 0;
    });
    // pi writes out a skill or a template that a message names. Commands are worked off in order, so the last text
    // that is nobody's is that of the first message which is not there by its own.
    const expanded = left.find(({ state, text }) => state === 'sent' && text.startsWith('/'));
    const last = rest.at(-1);
    if (expanded !== undefined && last !== undefined) expanded.text = last;
    const here = mine.filter(
      (message) => message.state === 'sent' && (message === expanded ? last !== undefined : !left.includes(message)),
    );
    return here.flatMap((message) => this.#advance(message, 'queued'));
  }

  #advance(message: Message, state: 'queued' | 'taken'): SteerEvent[] {
    message.state = state;
    return message.id === null ? [] : [{ t: 'steer', id: message.id, state }];
  }

  #endAll(state: Message['state'], end: End): SteerEvent[] {
    // Asked at every piece of an answer, and nearly always there is nothing.
    if (this.#messages.length === 0) return [];
    return this.#messages.filter((message) => message.state === state).flatMap((message) => this.#end(message, end));
  }

  #end(message: Message, end: End): SteerEvent[] {
    this.#messages = this.#messages.filter((other) => other !== message);
    return message.id === null ? [] : [{ t: 'steer', id: message.id, ...end }];
  }
}

type End = { state: 'delivered' } | { state: 'undelivered'; reason: Reason };
