import type { AgentSession, LaunchRequest, Reply, SteerMessage } from '../adapter.ts';
import type { ChildExit } from '../exit.ts';
import { Outbox } from '../outbox.ts';
import { Stdout, recordIn } from '../stdout.ts';
import { firstWords } from '../words.ts';
import { wrapUpMessage } from '../wrap-up.ts';
import {
  ONE_MORE,
  PROMPT,
  RESUMED,
  STATE,
  abort,
  askState,
  cancelDialog,
  messageOf,
  prompt,
  tell,
} from './commands.ts';
import { Ending, type PiMode } from './ending.ts';
import { Messages, type Queue } from './messages.ts';
import { type AssistantMessage, type PiRecord, readRecord, readUnread, unreadHead } from './records.ts';
import { sessionName } from './session-file.ts';
import { Work } from './work.ts';

/** The protocol state of one pi process. */
export class PiSession implements AgentSession {
  readonly #mode: PiMode;
  readonly #task: string;
  readonly #request: LaunchRequest;
  readonly #out: Outbox;
  readonly #stdout: Stdout;
  readonly #work: Work;
  readonly #messages = new Messages();
  readonly #ending: Ending;
  /** The first message of a user is the task. */
  #begun = false;

  constructor(mode: PiMode, request: LaunchRequest) {
    this.#mode = mode;
    this.#task = request.task ?? '';
    this.#request = request;
    this.#out = new Outbox(request.task);
    this.#work = new Work(this.#out);
    this.#ending = new Ending(mode, this.#out, this.#messages);
    this.#stdout = new Stdout(this.#out, {
      line: (line) => this.#line(line),
      tooLong: () => this.#ending.tooLong(),
      head: unreadHead,
    });
  }

  start(): Reply {
    this.#out.put({ t: 'session', session: sessionName(this.#request) });
    // In json mode the task is the whole of stdin, which the launch has written.
    if (this.#mode === 'rpc') {
      // An interrupt can come before there was anything to keep: then the session is empty, and it begins afresh.
      this.#out.send(this.#request.resume === null ? prompt(this.#task) : askState(RESUMED));
    }
    return this.#out.take();
  }

  push(chunk: Uint8Array): Reply {
    return this.#stdout.push(chunk);
  }

  finish(): Reply {
    return { ...this.#out.take(), closeStdin: this.#mode === 'rpc' };
  }

  abort(): Reply & { supported: boolean } {
    const supported = this.#mode === 'rpc';
    if (supported) this.#out.send(abort);
    return { ...this.#out.take(), supported };
  }

  wrapUp(leftMs: number): Reply & { supported: boolean } {
    const supported = this.#mode === 'rpc';
    // Said to an agent at rest it would lie in the queue and go along with the next prompt.
    if (supported && !this.#stdout.over && !this.#ending.isNear) this.#tell(null, wrapUpMessage(leftMs), 'steering');
    return { ...this.#out.take(), supported };
  }

  steer({ id, text, mode }: SteerMessage): ReturnType<AgentSession['steer']> {
    // After the end that was told, stdin is closed.
    if (this.#stdout.over || this.#ending.told) return { ...this.#out.take(), verdict: 'too-late' };
    if (this.#mode === 'json') {
      return { ...this.#out.take(), verdict: this.#request.mailbox === null ? 'unsupported' : 'mailbox' };
    }
    const soon = mode === 'now' || (mode === 'auto' && !this.#ending.isNear);
    this.#tell(id, text, soon ? 'steering' : 'followUp');
    return { ...this.#out.take(), verdict: 'sent' };
  }

  #tell(id: string | null, text: string, queue: Queue): void {
    this.#messages.sent({ id, text, queue });
    this.#out.tells(text);
    this.#out.send(tell(id, text, queue));
  }

  exited(exit: ChildExit): Reply {
    return this.#stdout.exited(() => {
      const last = this.#ending.exited(exit, { ...this.#work.unended, silent: this.#stdout.silent });
      this.#out.put(...this.#messages.over(last?.stop === 'error' ? 'failed' : 'aborted'));
    });
  }

  /* ---------------------------------------------------------------- records */

  #line(line: Buffer): void {
    const record = readUnread(line) ?? this.#read(line);
    if (record !== null) this.#take(record);
    // A state that was not at rest yet is asked for again when something has moved.
    if (record?.type !== 'response') this.#ending.confirm();
  }

  #read(line: Buffer): PiRecord | null {
    const record = recordIn(line, this.#out);
    return record === null ? null : readRecord(record);
  }

  #take(record: PiRecord): void {
    switch (record.type) {
      case 'passing':
        if (record.progress) this.#out.progress();
        return;
      case 'unknown':
        this.#work.unknown(record);
        return;
      case 'dialog':
        this.#refuseDialog(record.id, record.method);
        return;
      case 'response':
        if (this.#mode === 'rpc') this.#answered(record);
        return;
      case 'queue':
        this.#out.put(...this.#messages.queues(record));
        return;
      case 'answering':
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
        this.#out.progress();
        this.#worked(record);
    }
  }

  #worked(record: WorkRecord): void {
    switch (record.type) {
      case 'answering':
        this.#wentOn();
        return;
      case 'assistant':
        this.#assistant(record.message);
        return;
      case 'user':
        this.#user(record.text);
        return;
      case 'tool-started':
        this.#wentOn();
        this.#work.toolStarted(record);
        return;
      case 'tool-ended':
        this.#work.toolEnded(record);
        return;
      case 'retry-started':
        this.#ending.follow({ type: 'goes-on' });
        this.#work.retry(record);
        return;
      case 'retry-ended':
        if (!record.success) this.#ending.follow({ type: 'gave-up' });
        return;
      case 'compaction-started':
        this.#ending.follow({ type: 'goes-on' });
        return;
      case 'compaction-ended':
        this.#ending.follow({ type: record.willRetry ? 'goes-on' : 'gave-up' });
        return;
      case 'run-started':
        this.#ending.runStarted();
        return;
      case 'run-ended':
        // A run that broke off has no last message of its own.
        if (record.last?.stop === 'aborted') this.#out.put(...this.#messages.aborted());
        this.#ending.follow(record);
        return;
      case 'settled':
        this.#ending.follow(record);
    }
  }

  #assistant(message: AssistantMessage): void {
    this.#work.assistant(message);
    // After an error a retry may still answer what was taken.
    if (message.stop === 'aborted') this.#out.put(...this.#messages.aborted());
    else if (message.stop !== 'error') this.#wentOn();
    this.#ending.follow({ type: 'assistant', message });
  }

  #user(text: string): void {
    const first = !this.#begun;
    this.#begun = true;
    // The task comes before everything that was sent after it, also when a message says the same.
    const steered = first && text === this.#task ? null : this.#messages.taken(text);
    this.#out.put({ t: 'message', role: 'user', text }, ...(steered ?? []));
  }

  #wentOn(): void {
    this.#out.put(...this.#messages.wentOn());
  }

  /** Nobody sits at this terminal; without an answer the extension would wait for ever. */
  #refuseDialog(id: string, method: string): void {
    this.#out.note('text', `an extension asked for "${method}", and nobody is there to answer: cancelled`);
    if (this.#mode === 'rpc') this.#out.send(cancelDialog(id));
  }

  /* ---------------------------------------------------------------- answers to our commands */

  #answered(record: Extract<PiRecord, { type: 'response' }>): void {
    switch (record.id) {
      case PROMPT:
        this.#ending.prompted(record);
        return;
      case RESUMED:
        this.#out.send(prompt((record.state?.messages ?? 0) > 0 ? firstWords(this.#request) : this.#task));
        return;
      case STATE:
        this.#work.sawModel(record.state?.model ?? null);
        this.#ending.state(record.state);
        return;
      case ONE_MORE:
        this.#ending.oneMoreAnswered(record.success);
        return;
      default:
        this.#messaged(record.id, record.success);
    }
  }

  #messaged(answer: string, success: boolean): void {
    const id = messageOf(answer);
    if (id === null) return;
    this.#out.put(...this.#messages.answered(id, success));
    this.#ending.confirm();
  }
}

type WorkRecord = Exclude<PiRecord, { type: 'passing' | 'unknown' | 'dialog' | 'response' | 'queue' }>;
