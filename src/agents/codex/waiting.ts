import type { Message } from './server-messages.ts';

/** Messages on their way to the agent that have no turn yet. What becomes of them is told by `Deliveries`. */
export class Waiting {
  /** For the running turn, as soon as it has begun. */
  #soon: Message[] = [];
  /** Each begins a turn of its own after an answer. */
  #next: Message[] = [];
  /** Handed over to the running turn, and not answered yet. */
  readonly #unanswered = new Map<string, Message>();

  add(message: Message, when: 'soon' | 'next'): void {
    if (when === 'soon') this.#soon.push(message);
    else this.#next.push(message);
  }

  /** Those for the turn that runs now. */
  takeSoon(): Message[] {
    const soon = this.#soon;
    this.#soon = [];
    return soon;
  }

  handedOver(message: Message): void {
    this.#unanswered.set(message.key, message);
  }

  /** The server has answered for it: it waits no more. Undefined: it did not. */
  answered(key: string): Message | undefined {
    const message = this.#unanswered.get(key);
    this.#unanswered.delete(key);
    return message;
  }

  /** It came too late for that turn, or the turn takes none: then it has one of its own. */
  giveTurn(message: Message): void {
    this.#next.unshift(message);
  }

  /** Of one nobody knows yet whether it came in time. */
  get isOpen(): boolean {
    return this.#unanswered.size > 0;
  }

  /** What the next turn begins with, now that none runs. */
  takeNext(): Message | undefined {
    const [message, ...rest] = [...this.takeSoon(), ...this.#next];
    this.#next = rest;
    return message;
  }
}
