import type { AgentEvent, Reply } from './adapter.ts';
import { type ChildExit, exitName } from './exit.ts';
import { type Told, foreignMessage } from './text.ts';

/** Messages that are kept out of what the agent says later; of more the oldest are not looked for. */
const MAX_TOLD = 64;

type NoteKind = Extract<AgentEvent, { t: 'note' }>['kind'];

/** What a call of a session has gathered: events for the runtime, lines for the child. */
export class Outbox {
  readonly #told: [task: string, ...messages: string[]];
  #events: AgentEvent[] = [];
  #send: string[] = [];
  #progress = false;

  constructor(task: string | null) {
    this.#told = [task ?? ''];
  }

  /** What the agent was told: the task, and the last messages to it. */
  get told(): Told {
    return this.#told;
  }

  /** The agent is told this as well, so it is kept out of every note and message for people. */
  tells(message: string): void {
    this.#told.push(message);
    if (this.#told.length > MAX_TOLD) this.#told.splice(1, 1);
  }

  put(...events: AgentEvent[]): void {
    this.#events.push(...events);
  }

  send(message: object): void {
    this.#send.push(`${JSON.stringify(message)}\n`);
  }

  note(kind: NoteKind, text: string): void {
    this.put({ t: 'note', kind, text: foreignMessage(text, this.#told) });
  }

  noteUnknown(name: string, error: string | null = null): void {
    this.note('unknown-record', `unknown record "${name}"${error === null ? '' : `: ${error}`}`);
  }

  noteSecondEnd(): void {
    this.note('second-end', 'the work had ended already: the first end stands');
  }

  /** How the child went says nothing more about work that has ended; a bad exit is worth a note. */
  noteExitAfterEnd(exit: ChildExit): void {
    if (exit.signal !== null || exit.code !== 0) this.note('text', `${exitName(exit)} after the end of the work`);
  }

  /** The bytes in hand show that work goes on. */
  progress(): void {
    this.#progress = true;
  }

  /** The reply of a call that brought bytes. */
  takeActive(): Reply {
    const activity: AgentEvent = { t: 'activity', progress: this.#progress };
    const reply = this.take();
    reply.events.unshift(activity);
    return reply;
  }

  take(): Reply {
    const reply: Reply = { events: this.#events, send: this.#send, closeStdin: false };
    this.#events = [];
    this.#send = [];
    this.#progress = false;
    return reply;
  }
}
