import { createLineSplitter } from '../../process/index.ts';
import type { AgentEvent, AgentSession, Reply } from '../adapter.ts';
import { type ChildExit, exitName } from '../exit.ts';
import { foreignMessage } from '../text.ts';
import { type Course, type CourseEvent, START, type Turn, follow, isAtEnd } from './course.ts';
import { type AssistantMessage, type PiRecord, type PiState, readRecord } from './records.ts';
import { createTally } from './tally.ts';
import { type Verdict, endsRun, modelFailure, verdictOf, verdictOfExit } from './verdict.ts';
import { wrapUpMessage } from './wrap-up.ts';

/** A longer line is dropped and leaves a note. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

export type PiMode = 'rpc' | 'json';

const PROMPT = 'coxswain-prompt';
const STATE = 'coxswain-state';
const ABORT = 'coxswain-abort';
const WRAP_UP = 'coxswain-wrap-up';

/** The protocol state of one pi process. */
export class PiSession implements AgentSession {
  readonly #mode: PiMode;
  readonly #task: string;
  readonly #lines = createLineSplitter({
    maxLineBytes: MAX_LINE_BYTES,
    line: (line) => this.#line(line),
    tooLong: (bytes) => this.#tooLong(bytes),
  });
  readonly #tally = createTally();
  readonly #tools = new Map<string, string>();
  #course: Course = START;
  /** A `get_state` is on its way. */
  #asked = false;
  /** Our messages that pi has not taken into its conversation yet. */
  #untaken: string[] = [];
  #model: string | null = null;
  #strayError: string | null = null;
  #silent = true;
  #over = false;
  // What the call in hand has gathered.
  #events: AgentEvent[] = [];
  #send: string[] = [];
  #progress = false;

  constructor(mode: PiMode, task: string) {
    this.#mode = mode;
    this.#task = task;
  }

  start(): Reply {
    // In json mode the task is the whole of stdin, which the launch has written.
    if (this.#mode === 'rpc') this.#command({ id: PROMPT, type: 'prompt', message: this.#task });
    return this.#reply();
  }

  push(chunk: Uint8Array): Reply {
    if (this.#over || chunk.length === 0) return this.#reply();
    this.#silent = false;
    this.#lines.push(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    this.#events.unshift({ t: 'activity', progress: this.#progress });
    return this.#reply();
  }

  finish(): Reply {
    return { ...this.#reply(), closeStdin: this.#mode === 'rpc' };
  }

  abort(): Reply & { supported: boolean } {
    const supported = this.#mode === 'rpc';
    if (supported) this.#command({ id: ABORT, type: 'abort' });
    return { ...this.#reply(), supported };
  }

  wrapUp(leftMs: number): Reply & { supported: boolean } {
    const supported = this.#mode === 'rpc';
    // Said to an agent at rest it would lie in the queue and go along with the next prompt.
    if (supported && !this.#over && !isAtEnd(this.#course)) {
      const message = wrapUpMessage(leftMs);
      this.#untaken.push(message);
      this.#command({ id: WRAP_UP, type: 'steer', message });
    }
    return { ...this.#reply(), supported };
  }

  exited(exit: ChildExit): Reply {
    if (this.#over) return this.#reply();
    this.#lines.end();
    this.#over = true;
    if (!this.#course.told) this.#tell(this.#verdictAt(exit));
    else if (exit.signal !== null || exit.code !== 0) this.#note('text', `${exitName(exit)} after the end of the work`);
    return { ...this.#reply(), send: [] };
  }

  /* ---------------------------------------------------------------- lines */

  #line(line: Buffer): void {
    const record = readRecord(line);
    this.#take(record);
    // A state that was not at rest yet is asked for again when something has moved.
    if (record.type !== 'response') this.#confirm();
  }

  #tooLong(bytes: number): void {
    this.#note('line-too-long', `a line of ${bytes} bytes was dropped`);
    // An agent_end repeats the whole conversation, so after an ending message it is what can be that long.
    if (this.#course.phase === 'running' && endsRun(this.#course.last)) {
      this.#follow({ type: 'run-ended', willRetry: null, last: null });
    }
  }

  #take(record: PiRecord): void {
    switch (record.type) {
      case 'passing':
        this.#progress ||= record.progress;
        return;
      case 'text':
        this.#note('text', record.text);
        return;
      case 'bad':
        this.#note('bad-record', `${record.chars} characters that begin like a record and are none`);
        return;
      case 'unknown':
        this.#unknown(record.name, record.error);
        return;
      case 'dialog':
        this.#refuseDialog(record.id, record.method);
        return;
      case 'response':
        this.#response(record);
        return;
      case 'session':
        if (record.id !== '') this.#events.push({ t: 'session', session: record.id });
        return;
      case 'assistant':
      case 'user':
      case 'tool-started':
      case 'tool-ended':
      case 'run-started':
      case 'run-ended':
      case 'settled':
      case 'retry-started':
      case 'retry-ended':
      case 'compaction-started':
      case 'compaction-ended':
        this.#progress = true;
        this.#work(record);
    }
  }

  #work(record: WorkRecord): void {
    switch (record.type) {
      case 'assistant':
        this.#assistant(record.message);
        return;
      case 'user':
        this.#taken(record.text);
        this.#events.push({ t: 'message', role: 'user', text: record.text });
        return;
      case 'tool-started':
        this.#tools.set(record.id, record.name);
        this.#tally.tool();
        this.#events.push({ t: 'toolStart', id: record.id, name: record.name, input: record.input });
        this.#events.push({ t: 'usage', usage: this.#tally.total() });
        return;
      case 'tool-ended':
        this.#toolEnded(record);
        return;
      case 'retry-started':
        this.#retry(record);
        return;
      case 'compaction-started':
        this.#follow({ type: 'goes-on' });
        return;
      case 'compaction-ended':
        this.#follow({ type: record.willRetry ? 'goes-on' : 'gave-up' });
        return;
      case 'retry-ended':
        if (!record.success) this.#follow({ type: 'gave-up' });
        return;
      case 'run-started':
        if (this.#isLateWrapUp()) this.#note('text', 'the work had ended before the message to wrap up was read');
        else this.#follow(record);
        return;
      case 'run-ended':
      case 'settled':
        this.#follow(record);
    }
  }

  #assistant(message: AssistantMessage): void {
    this.#tally.message(message);
    this.#sawModel(message.model);
    if (message.text !== '') this.#events.push({ t: 'message', role: 'assistant', text: message.text });
    this.#events.push({ t: 'usage', usage: this.#tally.total() });
    this.#follow({ type: 'assistant', message });
  }

  /** A run after the end that only answers our own message: it takes nothing back. */
  #isLateWrapUp(): boolean {
    return this.#course.told && this.#untaken.length > 0;
  }

  #taken(text: string): void {
    const at = this.#untaken.indexOf(text);
    if (at >= 0) this.#untaken.splice(at, 1);
  }

  #toolEnded(record: Extract<PiRecord, { type: 'tool-ended' }>): void {
    this.#tools.delete(record.id);
    const { id, name, ok, output, truncated } = record;
    this.#events.push({ t: 'toolEnd', id, name, ok, output, truncated });
  }

  #retry(record: Extract<PiRecord, { type: 'retry-started' }>): void {
    this.#follow({ type: 'goes-on' });
    this.#events.push({
      t: 'retry',
      attempt: record.attempt,
      ...(record.max === null ? {} : { max: record.max }),
      ...(record.delayMs === null ? {} : { delayMs: record.delayMs }),
      reason: foreignMessage(record.reason, this.#task),
    });
  }

  #unknown(name: string, error: string | null): void {
    if (error !== null) this.#strayError ??= error;
    const words = error === null ? '' : `: ${error}`;
    this.#note('unknown-record', `unknown record "${name}"${words}`);
  }

  /** Nobody sits at this terminal; without an answer the extension would wait for ever. */
  #refuseDialog(id: string, method: string): void {
    this.#note('text', `an extension asked for "${method}", and nobody is there to answer: cancelled`);
    if (this.#mode === 'rpc') this.#command({ type: 'extension_ui_response', id, cancelled: true });
  }

  #sawModel(model: string | null): void {
    if (model === null || model === this.#model) return;
    this.#model = model;
    this.#events.push({ t: 'model', model });
  }

  /* ---------------------------------------------------------------- answers to our commands */

  #response(record: Extract<PiRecord, { type: 'response' }>): void {
    if (this.#mode !== 'rpc') return;
    if (record.id === PROMPT) this.#prompted(record);
    if (record.id !== STATE) return;
    this.#asked = false;
    if (record.state !== null) this.#state(record.state);
  }

  #prompted(record: Extract<PiRecord, { type: 'response' }>): void {
    if (record.success) {
      // A task that an extension handled by itself (a slash command) starts no run: the state will show it.
      if (this.#course.phase === 'idle') this.#ask();
      return;
    }
    this.#settle({ t: 'error', failure: modelFailure(record.error, this.#task) });
  }

  #state(state: PiState): void {
    this.#sawModel(state.model);
    const { phase, told, last } = this.#course;
    if (state.busy || told) return;
    // Our own message to wrap up may have come too late: then it lies in the queue, and nothing goes on with it.
    const rest = state.pending <= this.#untaken.length;
    if (phase === 'idle' && rest && state.messages === 0) {
      const message = 'pi took the task for a command of its own and asked no model';
      this.#settle({ t: 'error', failure: { code: 'empty-output', message } });
    }
    // What is queued after a failure stays in the queue; after an answer pi goes on with it.
    const failed = last?.stop === 'error' || last?.stop === 'aborted';
    if (phase === 'ended' && (rest || failed)) this.#tell(verdictOf(last, this.#task));
  }

  /* ---------------------------------------------------------------- the end */

  #follow(event: CourseEvent): void {
    const { course, turn } = follow(this.#course, event);
    this.#course = course;
    this.#turn(turn);
  }

  #turn(turn: Turn): void {
    switch (turn) {
      case 'nothing':
        return;
      case 'resumed':
        this.#events.push({ t: 'resumed' });
        return;
      case 'ended':
        // One-shot, the exit confirms it, and `resumed` takes it back.
        if (this.#mode === 'json') this.#tell(verdictOf(this.#course.last, this.#task));
        return;
      case 'settled':
        this.#tell(verdictOf(this.#course.last, this.#task));
        return;
      case 'second-end':
        this.#note('second-end', 'the work had ended already: the first end stands');
    }
  }

  #confirm(): void {
    const { phase, told, settles } = this.#course;
    if (this.#mode === 'rpc' && phase === 'ended' && !told && !settles) this.#ask();
  }

  #ask(): void {
    if (this.#asked) return;
    this.#asked = true;
    this.#command({ id: STATE, type: 'get_state' });
  }

  #settle(verdict: Verdict): void {
    if (this.#course.told) return;
    this.#course = { ...this.#course, phase: 'settled' };
    this.#tell(verdict);
  }

  #tell(verdict: Verdict): void {
    this.#course = { ...this.#course, told: true };
    this.#events.push(verdict);
  }

  #verdictAt(exit: ChildExit): Verdict {
    const { phase, last } = this.#course;
    const ended = phase === 'ended' || phase === 'settled';
    const gaveUp = phase === 'between' && last !== null && last.stop === 'error';
    if (ended || gaveUp) return verdictOf(last, this.#task);
    const openTool = [...this.#tools.values()].at(-1) ?? null;
    return verdictOfExit(exit, { openTool, strayError: this.#strayError, silent: this.#silent }, this.#task);
  }

  /* ---------------------------------------------------------------- the reply in hand */

  #command(command: Record<string, unknown>): void {
    this.#send.push(`${JSON.stringify(command)}\n`);
  }

  #note(kind: Extract<AgentEvent, { t: 'note' }>['kind'], text: string): void {
    this.#events.push({ t: 'note', kind, text: foreignMessage(text, this.#task) });
  }

  #reply(): Reply {
    const reply: Reply = { events: this.#events, send: this.#send, closeStdin: false };
    this.#events = [];
    this.#send = [];
    this.#progress = false;
    return reply;
  }
}

type WorkRecord = Exclude<
  PiRecord,
  { type: 'passing' | 'text' | 'bad' | 'unknown' | 'dialog' | 'response' | 'session' }
>;
