import { toolsLacking } from '../../machines/policy/judge.ts';
import type { AgentEnd, ChildEvent, Failure, OpenTool } from '../../machines/protocol.ts';
import { type AgentEvent, type ClientFacts, isSubmitTool, mayChange } from '../agents/index.ts';
import type { Acknowledged, Transcript } from '../record/index.ts';
import type { Kit } from './kit.ts';

/** Activity reaches the machine at most so often; progress too, and no noise stands before it. */
const ACTIVE_EVERY_MS = 100;

/** Of the last words of an attempt that did not end well. */
const KEPT_CHARS = 64 * 1024;

/** The text an agent ended with, or the failure it reported. */
export type Said =
  { type: 'final'; text: string; stop: 'stop' | 'length'; truncated: boolean } | { type: 'error'; failure: Failure };

const EMPTY: Said = { type: 'final', text: '', stop: 'stop', truncated: false };

export interface Answer {
  text: string;
  /** It is only the beginning. */
  truncated: boolean;
}

interface ListenerOptions {
  transcript: () => Transcript;
  allowEmpty: boolean;
  /** Tools that the agent has to say that it has. Default: none. */
  required?: readonly string[];
  /** Takes a value that was handed in. Default: there is nobody who wants it. */
  submit?: (value: unknown) => void;
  /** Takes the answer as it was given, with what is secret in it. Default: there is nobody who wants it. */
  answer?: (answer: Answer) => void;
}

type ListenerKit = Pick<Kit, 'now' | 'touch' | 'redact'>;

/**
 * Turns what an agent says into what its attempt has to know, and writes the transcript beside it. Keeps the last
 * word (`said`), which is the attempt's output once everything has been read.
 */
export class Listener {
  readonly #kit: ListenerKit;
  readonly #tell: (event: ChildEvent) => void;
  readonly #transcript: () => Transcript;
  readonly #allowEmpty: boolean;
  readonly #required: readonly string[];
  readonly #submit: (value: unknown) => void;
  readonly #answer: (answer: Answer) => void;
  #said: Said | null = null;
  #lastActive = Number.NEGATIVE_INFINITY;
  #lastProgress = Number.NEGATIVE_INFINITY;
  #tools = new Map<string, OpenTool>();
  #client: ClientFacts = {};
  #model: string | null = null;
  /** The tool that failed last, while nothing comes after it. */
  #failedTool: string | null = null;
  #lastWords = '';

  constructor(
    kit: ListenerKit,
    tell: (event: ChildEvent) => void,
    { transcript, allowEmpty, required = [], submit = () => {}, answer = () => {} }: ListenerOptions,
  ) {
    this.#kit = kit;
    this.#tell = tell;
    this.#transcript = transcript;
    this.#allowEmpty = allowEmpty;
    this.#required = required;
    this.#submit = submit;
    this.#answer = answer;
  }

  get said(): Said | null {
    return this.#said;
  }

  /** What the client has said of itself. */
  get acknowledged(): Acknowledged | null {
    const told = { ...this.#client, ...(this.#model === null ? {} : { model: this.#model }) };
    return Object.keys(told).length === 0 ? null : told;
  }

  /** What it said last, whatever came of it: the beginning of a long text. */
  get lastWords(): string {
    return this.#lastWords;
  }

  hear(events: readonly AgentEvent[]): void {
    for (const event of events) this.#hearOne(event);
  }

  /** What the session says to the exit. Its verdict is told with the end of the pipes (`end`), not by itself. */
  hearLast(events: readonly AgentEvent[]): void {
    for (const event of events) {
      if (event.t === 'final' || event.t === 'error') this.#said = this.#judge(event);
      else this.#hearOne(event);
    }
  }

  /** Bytes came, on either stream. */
  active(progress: boolean): void {
    const time = performance.now();
    if (time - (progress ? this.#lastProgress : this.#lastActive) < ACTIVE_EVERY_MS) return;
    this.#lastActive = time;
    if (progress) this.#lastProgress = time;
    this.#tell({ type: 'child.active', at: this.#kit.now(), progress });
    this.#kit.touch();
  }

  #hearOne(event: AgentEvent): void {
    switch (event.t) {
      case 'activity':
        this.active(event.progress);
        return;
      case 'session':
        this.#tell({ type: 'child.session', at: this.#kit.now(), session: event.session });
        return;
      case 'model':
        this.#model = event.model;
        this.#tell({ type: 'child.model', at: this.#kit.now(), model: event.model });
        return;
      case 'client':
        this.#client = { ...this.#client, ...event.client };
        return;
      case 'asked':
      case 'ask-gone':
        // For whoever hands over the answers.
        return;
      case 'usage':
        this.#tell({ type: 'child.usage', at: this.#kit.now(), usage: event.usage });
        this.#kit.touch();
        return;
      case 'toolStart':
        this.#transcript().append({ at: this.#kit.now(), ...event });
        this.#tools.set(event.id, { id: event.id, name: event.name, since: this.#kit.now() });
        this.#tellTool(mayChange(event.name, event.input));
        return;
      case 'toolEnd':
        this.#transcript().append({ at: this.#kit.now(), ...event });
        this.#tools.delete(event.id);
        // How handing in went is judged by what was handed in.
        this.#failedTool = event.ok || isSubmitTool(event.name) ? null : event.name;
        this.#tellTool(false);
        return;
      case 'submitted':
        // Its tool is in the transcript.
        this.#failedTool = null;
        this.#submit(event.value);
        return;
      case 'message':
        this.#noteMessage(event);
        this.#transcript().append({ at: this.#kit.now(), ...event });
        return;
      case 'retry':
      case 'permission':
      case 'note':
        this.#transcript().append({ at: this.#kit.now(), ...event });
        return;
      case 'steer': {
        const { t: _t, ...news } = event;
        this.#tell({ type: 'child.steer', at: this.#kit.now(), ...news });
        return;
      }
      case 'final':
      case 'error':
        this.#said = this.#judge(event);
        this.#tell({ type: 'child.ended', at: this.#kit.now(), end: this.end() });
        return;
      case 'resumed':
        this.#said = null;
        this.#tell({ type: 'child.resumed', at: this.#kit.now() });
        return;
      case 'broken':
        this.#tell({ type: 'child.broken', at: this.#kit.now(), reason: this.#kit.redact(event.reason) });
        return;
    }
  }

  /** The verdict as it stands. */
  end(): AgentEnd {
    const said = this.#said;
    if (said === null)
      return { type: 'failure', failure: { code: 'no-end-record', message: 'the agent gave no end record' } };
    const lacks = toolsLacking(this.#required, this.#client.tools ?? null);
    const told = {
      ...(this.#failedTool === null ? {} : { failedTool: this.#failedTool }),
      ...(lacks.length === 0 ? {} : { lacks }),
    };
    if (said.type === 'error') return { type: 'failure', failure: said.failure, ...told };
    return { type: 'success', chars: said.text.length, stop: said.stop, ...told };
  }

  #noteMessage({ role, text }: AgentEvent & { t: 'message' }): void {
    if (role !== 'assistant' || text.trim() === '') return;
    this.#failedTool = null;
    // Before it is cut: half a secret would not be found.
    this.#lastWords = this.#kit.redact(text).slice(0, KEPT_CHARS);
  }

  /** Of several the one that has been open longest: its limit must not start anew when another one ends. */
  #tellTool(changing: boolean): void {
    const [tool = null] = this.#tools.values();
    this.#tell({ type: 'child.tool', at: this.#kit.now(), tool, mayChange: changing });
    this.#kit.touch();
  }

  /** The step says whether nothing is a result. */
  #judge(event: AgentEvent & { t: 'final' | 'error' }): Said {
    if (event.t === 'error') {
      const { failure } = event;
      if (failure.code === 'empty-output' && this.#allowEmpty) return EMPTY;
      return { type: 'error', failure: { ...failure, message: this.#kit.redact(failure.message) } };
    }
    const { text, stop, truncated } = event;
    this.#answer({ text, truncated });
    if (text.trim() === '' && !this.#allowEmpty) {
      return { type: 'error', failure: { code: 'empty-output', message: 'it ended well and said nothing' } };
    }
    return { type: 'final', text: this.#kit.redact(text), stop, truncated };
  }
}
