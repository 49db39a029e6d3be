import { createLineSplitter } from '../../process/index.ts';
import type { AgentEvent, AgentSession, LaunchRequest, Reply, SteerMessage } from '../adapter.ts';
import { type ChildExit, exitName } from '../exit.ts';
import { type Told, foreignMessage } from '../text.ts';
import { type Verdict, modelFailure, verdictOfExit } from '../verdict.ts';
import { GO_ON } from '../words.ts';
import { wrapUpMessage } from '../wrap-up.ts';
import { type Course, type CourseEvent, START, type Turn, follow, isAtEnd } from './course.ts';
import { Messages, type Queue } from './messages.ts';
import { type AssistantMessage, type PiRecord, type PiState, readRecord } from './records.ts';
import { sessionName } from './session-file.ts';
import { createTally } from './tally.ts';
import { endsRun, verdictOf } from './verdict.ts';
import { ONE_MORE } from './words.ts';

/** A longer line is dropped and leaves a note. */
export const MAX_LINE_BYTES = 16 * 1024 * 1024;

export type PiMode = 'rpc' | 'json';

const PROMPT = 'coxswain-prompt';
const STATE = 'coxswain-state';
const ABORT = 'coxswain-abort';
const WRAP_UP = 'coxswain-wrap-up';
const RESUMED = 'coxswain-resumed';
const ONE_MORE_PROMPT = 'coxswain-one-more';
const MESSAGE = 'coxswain-message-';
/** Messages that are kept out of what pi says later; of more the oldest are not looked for. */
const MAX_TOLD = 64;

/** The protocol state of one pi process. */
export class PiSession implements AgentSession {
  readonly #mode: PiMode;
  readonly #task: string;
  readonly #request: LaunchRequest;
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
  readonly #messages = new Messages();
  /** Of the messages it was sent. */
  #texts: string[] = [];
  /** The first message of a user is the task. */
  #begun = false;
  /** The prompt that takes along what lies in the queue of a pi at rest. */
  #oneMore: 'none' | 'sent' | 'refused' = 'none';
  #model: string | null = null;
  #strayError: string | null = null;
  #silent = true;
  #over = false;
  // What the call in hand has gathered.
  #events: AgentEvent[] = [];
  #send: string[] = [];
  #progress = false;

  constructor(mode: PiMode, request: LaunchRequest) {
    this.#mode = mode;
    this.#task = request.task ?? '';
    this.#request = request;
  }

  start(): Reply {
    this.#events.push({ t: 'session', session: sessionName(this.#request) });
    // In json mode the task is the whole of stdin, which the launch has written.
    if (this.#mode === 'rpc') {
      // An interrupt can come before there was anything to keep: then the session is empty, and it begins afresh.
      if (this.#request.resume === null) this.#prompt(PROMPT, this.#task);
      else this.#command({ id: RESUMED, type: 'get_state' });
    }
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
      this.#tellAgent(null, WRAP_UP, wrapUpMessage(leftMs), 'steering');
    }
    return { ...this.#reply(), supported };
  }

  steer({ id, text, mode }: SteerMessage): ReturnType<AgentSession['steer']> {
    // After the end that was told, stdin is closed.
    if (this.#over || this.#course.told) return { ...this.#reply(), verdict: 'too-late' };
    if (this.#mode === 'json') {
      return { ...this.#reply(), verdict: this.#request.mailbox === null ? 'unsupported' : 'mailbox' };
    }
    const soon = mode === 'now' || (mode === 'auto' && !isAtEnd(this.#course));
    this.#tellAgent(id, `${MESSAGE}${id}`, text, soon ? 'steering' : 'followUp');
    return { ...this.#reply(), verdict: 'sent' };
  }

  exited(exit: ChildExit): Reply {
    if (this.#over) return this.#reply();
    this.#lines.end();
    this.#over = true;
    if (!this.#course.told) this.#tell(this.#verdictAt(exit));
    else if (exit.signal !== null || exit.code !== 0) this.#note('text', `${exitName(exit)} after the end of the work`);
    this.#events.push(...this.#messages.over(this.#course.last?.stop === 'error' ? 'failed' : 'aborted'));
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
      case 'answering':
        this.#progress = true;
        this.#wentOn();
        return;
      case 'queue':
        this.#events.push(...this.#messages.queues(record));
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
        this.#user(record.text);
        return;
      case 'tool-started':
        this.#wentOn();
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
        this.#oneMore = 'none';
        if (this.#isLateWrapUp()) this.#note('text', 'the work had ended before the message to wrap up was read');
        else this.#follow(record);
        return;
      case 'run-ended':
        // A run that broke off has no last message of its own.
        if (record.last?.stop === 'aborted') this.#events.push(...this.#messages.aborted());
        this.#follow(record);
        return;
      case 'settled':
        this.#follow(record);
    }
  }

  #assistant(message: AssistantMessage): void {
    this.#tally.message(message);
    this.#sawModel(message.model);
    if (message.text !== '') this.#events.push({ t: 'message', role: 'assistant', text: message.text });
    this.#events.push({ t: 'usage', usage: this.#tally.total() });
    // After an error a retry may still answer what was taken.
    if (message.stop === 'aborted') this.#events.push(...this.#messages.aborted());
    else if (message.stop !== 'error') this.#wentOn();
    this.#follow({ type: 'assistant', message });
  }

  /** A run after the end that only answers our own message: it takes nothing back. */
  #isLateWrapUp(): boolean {
    return this.#course.told && this.#messages.count().own > 0;
  }

  #user(text: string): void {
    const first = !this.#begun;
    this.#begun = true;
    // The task comes before everything that was sent after it, also when a message says the same.
    const steered = first && text === this.#task ? null : this.#messages.taken(text);
    this.#events.push({ t: 'message', role: 'user', text }, ...(steered ?? []));
  }

  #wentOn(): void {
    this.#events.push(...this.#messages.wentOn());
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
      reason: foreignMessage(record.reason, this.#told()),
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
    switch (record.id) {
      case PROMPT:
        this.#prompted(record);
        return;
      case RESUMED:
        this.#prompt(PROMPT, (record.state?.messages ?? 0) > 0 ? GO_ON : this.#task);
        return;
      case STATE:
        this.#asked = false;
        if (record.state !== null) this.#state(record.state);
        return;
      case ONE_MORE_PROMPT:
        if (record.success) return;
        this.#oneMore = 'refused';
        this.#confirm();
        return;
      default:
        this.#messaged(record);
    }
  }

  #messaged({ id, success }: Extract<PiRecord, { type: 'response' }>): void {
    if (!id.startsWith(MESSAGE)) return;
    this.#events.push(...this.#messages.answered(id.slice(MESSAGE.length), success));
    this.#confirm();
  }

  #prompted(record: Extract<PiRecord, { type: 'response' }>): void {
    if (record.success) {
      // A task that an extension handled by itself (a slash command) starts no run: the state will show it.
      if (this.#course.phase === 'idle') this.#ask();
      return;
    }
    this.#settle({ t: 'error', failure: modelFailure(record.error, this.#told()) });
  }

  #state(state: PiState): void {
    this.#sawModel(state.model);
    const { phase, told, last } = this.#course;
    if (state.busy || told) return;
    // Our own message to wrap up may have come too late: then it lies in the queue, and nothing goes on with it.
    const { unanswered, queued, own } = this.#messages.count();
    if (phase === 'idle' && state.pending <= own + queued && state.messages === 0) {
      const message = 'pi took the task for a command of its own and asked no model';
      this.#settle({ t: 'error', failure: { code: 'empty-output', message } });
      return;
    }
    if (!isAtEnd(this.#course)) return;
    // What is queued after a failure stays in the queue; after an answer pi goes on with it.
    const failed = last?.stop === 'error' || last?.stop === 'aborted';
    if (failed) this.#tell(verdictOf(last, this.#told()));
    else if (unanswered > 0) return;
    else if (queued > 0) this.#takeAlong();
    else if (state.pending <= own) this.#tell(verdictOf(last, this.#told()));
  }

  /** A message came between pi's last look into its queue and its end: pi reads it with the next prompt only. */
  #takeAlong(): void {
    switch (this.#oneMore) {
      case 'none':
        this.#oneMore = 'sent';
        this.#prompt(ONE_MORE_PROMPT, ONE_MORE);
        return;
      case 'sent':
        return;
      case 'refused':
        this.#events.push(...this.#messages.refused());
        this.#tell(verdictOf(this.#course.last, this.#told()));
    }
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
        if (this.#mode === 'json') this.#tell(verdictOf(this.#course.last, this.#told()));
        return;
      case 'settled':
        if (this.#isAwaited()) this.#ask();
        else this.#tell(verdictOf(this.#course.last, this.#told()));
        return;
      case 'second-end':
        this.#note('second-end', 'the work had ended already: the first end stands');
    }
  }

  /** A message lies in pi's queue, or is on its way there: then this end is none. */
  #isAwaited(): boolean {
    const { unanswered, queued } = this.#messages.count();
    return unanswered + queued > 0;
  }

  #confirm(): void {
    const { phase, told, settles } = this.#course;
    if (this.#mode !== 'rpc' || told) return;
    if (phase === 'settled' || (phase === 'ended' && !settles)) this.#ask();
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
    if (ended || gaveUp) return verdictOf(last, this.#told());
    const openTool = [...this.#tools.values()].at(-1) ?? null;
    return verdictOfExit(exit, { openTool, strayError: this.#strayError, silent: this.#silent }, this.#told());
  }

  /* ---------------------------------------------------------------- the reply in hand */

  #prompt(id: string, message: string): void {
    this.#command({ id, type: 'prompt', message });
  }

  #tellAgent(id: string | null, command: string, text: string, queue: Queue): void {
    this.#messages.sent({ id, text, queue });
    this.#texts = [...this.#texts, text].slice(-MAX_TOLD);
    this.#command({ id: command, type: queue === 'steering' ? 'steer' : 'follow_up', message: text });
  }

  #told(): Told {
    return [this.#task, ...this.#texts];
  }

  #command(command: Record<string, unknown>): void {
    this.#send.push(`${JSON.stringify(command)}\n`);
  }

  #note(kind: Extract<AgentEvent, { t: 'note' }>['kind'], text: string): void {
    this.#events.push({ t: 'note', kind, text: foreignMessage(text, this.#told()) });
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
  { type: 'passing' | 'text' | 'bad' | 'unknown' | 'dialog' | 'response' | 'answering' | 'queue' }
>;
