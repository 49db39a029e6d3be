import { createLineSplitter } from '../process/index.ts';
import type { AgentEvent, Reply } from './adapter.ts';
import { type Fields, readLine } from './json.ts';
import { type Told, foreignMessage } from './text.ts';

/** A longer line is dropped and leaves a note. */
const MAX_LINE_BYTES = 16 * 1024 * 1024;

type NoteKind = Extract<AgentEvent, { t: 'note' }>['kind'];

/** What a call of a session has gathered: events for the runtime, lines for the child. */
export class Outbox {
  readonly #told: Told;
  #events: AgentEvent[] = [];
  #send: string[] = [];
  #progress = false;

  constructor(told: Told) {
    this.#told = told;
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

  /** The bytes in hand show that work goes on. */
  progress(): void {
    this.#progress = true;
  }

  /** The reply of a call that brought bytes. */
  takeActive(): Reply {
    const activity: AgentEvent = { t: 'activity', progress: this.#progress };
    const reply = this.take();
    return { ...reply, events: [activity, ...reply.events] };
  }

  take(): Reply {
    const reply: Reply = { events: this.#events, send: this.#send, closeStdin: false };
    this.#events = [];
    this.#send = [];
    this.#progress = false;
    return reply;
  }
}

export interface Records {
  push(chunk: Uint8Array): void;
  /** No more bytes: a last line without a newline counts. */
  end(): void;
}

/** Cuts stdout into JSON records; everything else in it becomes a note. */
export function readRecords(out: Outbox, take: (record: Fields) => void): Records {
  const splitter = createLineSplitter({
    maxLineBytes: MAX_LINE_BYTES,
    line(bytes) {
      const line = readLine(bytes);
      switch (line.type) {
        case 'record':
          take(line.record);
          return;
        case 'blank':
          return;
        case 'text':
          out.note('text', line.text);
          return;
        case 'bad':
          out.note('bad-record', `${line.chars} characters that begin like a record and are none`);
      }
    },
    tooLong: (bytes) => out.note('line-too-long', `a line of ${bytes} bytes was dropped`),
  });
  return {
    push: (chunk) => splitter.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)),
    end: () => splitter.end(),
  };
}
