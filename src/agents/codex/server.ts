import type { AgentSession, LaunchRequest, PermissionAnswer, Reply, SteerMessage } from '../adapter.ts';
import { Deliveries } from '../deliveries.ts';
import type { ChildExit } from '../exit.ts';
import type { Fields } from '../json.ts';
import { fields, name as nameOf, string } from '../json.ts';
import { Outbox } from '../outbox.ts';
import { Permissions } from '../permissions.ts';
import { type Stdout, stdoutOfRecords } from '../stdout.ts';
import { type Verdict, failed, verdictOfExit } from '../verdict.ts';
import { firstWords } from '../words.ts';
import { wrapUpMessage } from '../wrap-up.ts';
import type { Item } from './items.ts';
import {
  INTERRUPT,
  type Message,
  OPEN,
  THREAD,
  decide,
  initialize,
  initialized,
  interruptTurn,
  openThread,
  refuse,
  startTurn,
  steerOf,
  steerTurn,
  turnOf,
} from './server-messages.ts';
import { type ServerRecord, readServerRecord } from './server-records.ts';
import { threadName } from './thread-name.ts';
import type { Tokens } from './tokens.ts';
import { failureOf } from './verdict.ts';
import { Waiting } from './waiting.ts';
import { Work } from './work.ts';

/**
 * Where the work stands.
 *
 * `opening`: the server, and then the thread, get ready. `asked`: a turn was asked for and has not begun. `rest`: a turn has
 * ended well, and a message is on its way of which nobody knows yet whether it came in time.
 */
type Course =
  | { at: 'opening' }
  | { at: 'asked' }
  | { at: 'turn'; turn: string }
  | { at: 'rest'; verdict: Verdict }
  | { at: 'ended'; verdict: Verdict };

const TASK = 'coxswain-task';
const WRAP_UP = 'coxswain-wrap-up';

/** The protocol state of one `codex app-server`, which works in one thread. */
export class ServerSession implements AgentSession {
  readonly #request: LaunchRequest;
  readonly #out: Outbox;
  readonly #stdout: Stdout;
  readonly #work: Work;
  readonly #deliveries = new Deliveries();
  readonly #waiting = new Waiting();
  readonly #permissions: Permissions;
  #course: Course = { at: 'opening' };
  #thread = '';
  /** Its thread is on record: it has something in it. */
  #named = false;
  #aborting = false;
  /** How the last turn ended, which stands when no other can begin. */
  #last: Verdict = failed('empty-output', 'the agent ended without an answer');

  constructor(request: LaunchRequest) {
    this.#request = request;
    this.#out = new Outbox(request.task);
    this.#work = new Work(this.#out);
    this.#permissions = new Permissions(this.#out, request.settings.permissions);
    this.#stdout = stdoutOfRecords(this.#out, (record) => this.#take(readServerRecord(record)));
  }

  start(): Reply {
    this.#out.send(initialize);
    return this.#out.take();
  }

  push(chunk: Uint8Array): Reply {
    return this.#stdout.push(chunk);
  }

  finish(): Reply {
    return { ...this.#out.take(), closeStdin: true };
  }

  abort(): Reply & { supported: boolean } {
    if (!this.#stdout.over) {
      this.#aborting = true;
      this.#permissions.close();
      this.#interrupt();
    }
    return { ...this.#out.take(), supported: true };
  }

  wrapUp(leftMs: number): Reply & { supported: boolean } {
    // Only a running turn can heed it; after one it would begin another.
    if (!this.#stdout.over && this.#course.at === 'turn') {
      const message = this.#message(null, WRAP_UP, wrapUpMessage(leftMs));
      this.#handOver(message, this.#course.turn);
    }
    return { ...this.#out.take(), supported: true };
  }

  steer({ id, text, mode }: SteerMessage): ReturnType<AgentSession['steer']> {
    if (this.#stdout.over || this.#aborting || this.#course.at === 'ended')
      return { ...this.#out.take(), verdict: 'too-late' };
    const message = this.#message(id, id, text);
    this.#waiting.add(message, mode === 'next' ? 'next' : 'soon');
    this.#handOn();
    return { ...this.#out.take(), verdict: 'sent' };
  }

  answer(ask: string, answer: PermissionAnswer): Reply {
    this.#permissions.answer(ask, answer);
    return this.#out.take();
  }

  exited(exit: ChildExit): Reply {
    return this.#stdout.exited(() => {
      this.#permissions.close();
      const verdict = this.#verdictAt(exit);
      const failedTurn = verdict.t === 'error' && verdict.failure.code !== 'aborted' && this.#course.at === 'ended';
      this.#out.put(...this.#deliveries.over(failedTurn ? 'failed' : 'aborted'));
    });
  }

  /* ---------------------------------------------------------------- what we ask */

  #startTurn(message: Message): void {
    this.#course = { at: 'asked' };
    this.#work.asked();
    this.#out.send(startTurn(this.#thread, message, this.#request.output));
  }

  #message(id: string | null, key: string, text: string): Message {
    this.#out.tells(text);
    this.#deliveries.sent(id, key);
    return { key, text };
  }

  /** What waits goes where it can go by now. */
  #handOn(): void {
    const course = this.#course;
    if (course.at === 'turn') {
      for (const message of this.#waiting.takeSoon()) this.#handOver(message, course.turn);
    }
    if (course.at !== 'rest' || this.#waiting.isOpen) return;
    const message = this.#waiting.takeNext();
    if (message === undefined || this.#aborting) this.#settle(course.verdict);
    else this.#startTurn(message);
  }

  #handOver(message: Message, turn: string): void {
    this.#waiting.handedOver(message);
    this.#out.send(steerTurn(this.#thread, turn, message));
  }

  #interrupt(): void {
    if (this.#course.at === 'turn') this.#out.send(interruptTurn(this.#thread, this.#course.turn));
  }

  /** Without an answer it would wait for ever. */
  #asked({ id, method, wanted }: Extract<ServerRecord, { type: 'asked' }>): void {
    if (wanted === null || this.#request.settings.permissions === undefined) {
      this.#refuse(id, method);
      return;
    }
    this.#out.progress();
    this.#permissions.want(wanted, (answer) => {
      this.#out.put({ t: 'permission', id: wanted.id, tool: wanted.tool, input: wanted.input, answer: answer.type });
      this.#out.send(decide(id, answer));
    });
  }

  /** Nobody sits there to answer; without an answer it would wait for ever. */
  #refuse(id: string | number, method: string): void {
    this.#out.note('text', `it asked for "${method}", and nobody is there to answer: refused`);
    this.#out.send(refuse(id, method));
  }

  /* ---------------------------------------------------------------- what it answers */

  #answered({ id, result, error }: Extract<ServerRecord, { type: 'answer' }>): void {
    const [steer, turn] = [steerOf(id), turnOf(id)];
    if (steer !== null) this.#steered(steer, error);
    else if (id === INTERRUPT || this.#course.at === 'ended') return;
    else if (turn !== null) this.#turnAnswered(turn, error);
    else if (id === OPEN || id === THREAD) this.#opened(id, result, error);
  }

  #opened(id: string, result: Fields, error: string | null): void {
    if (this.#course.at !== 'opening') return;
    if (error !== null) {
      this.#settle(this.#refused(error));
    } else if (id === OPEN) {
      if (this.#thread !== '') return;
      // `<our name>/<its version> (…)`
      const [, version] = /^[^/ ]+\/(\d[\w.-]*)/.exec(string(result['userAgent'])) ?? [];
      if (version !== undefined) this.#out.put({ t: 'client', client: { version: nameOf(version) } });
      this.#out.send(initialized);
      this.#out.send(openThread(this.#request));
    } else {
      const { id: thread, model: ofThread } = fields(result['thread']);
      const model = string(result['model']) || string(ofThread);
      const provider = string(result['modelProvider']);
      this.#thread = nameOf(thread);
      if (model !== '') this.#out.put({ t: 'model', model: provider === '' ? model : `${provider}/${model}` });
      if (this.#request.resume !== null) this.#name();
      this.#startTurn({ key: TASK, text: firstWords(this.#request) });
    }
  }

  #refused(error: string): Verdict {
    const { failure } = failureOf({ message: error, info: null }, this.#out.told) as Extract<Verdict, { t: 'error' }>;
    // Nothing was asked of a model: trying again changes nothing.
    return failure.code === 'model-error'
      ? failed('spawn-failed', failure.message, failure.detail)
      : { t: 'error', failure };
  }

  /** That it began is told by itself, and only then it takes messages. */
  #turnAnswered(key: string, error: string | null): void {
    if (error === null) return;
    if (key === TASK) {
      this.#settle(this.#refused(error));
    } else if (this.#course.at === 'asked') {
      this.#out.put(...this.#deliveries.refused(key));
      this.#course = { at: 'rest', verdict: this.#last };
      this.#handOn();
    }
  }

  #steered(key: string, error: string | null): void {
    const message = this.#waiting.answered(key);
    if (message === undefined) return;
    if (error === null) this.#out.put(...this.#deliveries.queued(key));
    else if (key !== WRAP_UP) this.#waiting.giveTurn(message);
    else this.#out.put(...this.#deliveries.refused(key));
    this.#handOn();
  }

  /* ---------------------------------------------------------------- what it tells */

  #take(record: ServerRecord): void {
    switch (record.type) {
      case 'passing':
        if (record.progress) this.#out.progress();
        return;
      case 'answer':
        this.#answered(record);
        return;
      case 'asked':
        this.#asked(record);
        return;
      case 'warning':
        this.#out.note('text', record.text);
        return;
      case 'unknown':
        this.#out.noteUnknown(record.name);
        return;
      case 'turn-started':
      case 'turn-ended':
      case 'item-started':
      case 'item-ended':
      case 'answering':
      case 'used':
      case 'trouble':
        this.#out.progress();
        // A helper of the agent works in a thread of its own.
        if (record.thread === this.#thread || this.#thread === '') this.#worked(record);
    }
  }

  #worked(record: WorkRecord): void {
    switch (record.type) {
      case 'turn-started':
        this.#turnBegan(record.turn);
        return;
      case 'turn-ended':
        this.#turnEnded(record);
        return;
      case 'item-started':
        this.#item(record.item, false);
        return;
      case 'item-ended':
        this.#item(record.item, true);
        return;
      case 'answering':
        this.#wentOn();
        return;
      case 'used':
        this.#usedTokens(record.tokens);
        return;
      case 'trouble':
        this.#work.trouble(record);
    }
  }

  #turnBegan(turn: string): void {
    const { at } = this.#course;
    if (turn === '' || at === 'turn' || at === 'rest') return;
    if (at === 'ended') this.#out.put({ t: 'resumed' });
    this.#course = { at: 'turn', turn };
    if (at !== 'asked') this.#work.began();
    this.#handOn();
    if (this.#aborting) this.#interrupt();
  }

  #item(item: Item, ended: boolean): void {
    if (this.#course.at === 'ended') return;
    if (item.type === 'user') {
      if (!ended) this.#userMessage(item.key, item.text);
      return;
    }
    // A message shows it at its end as well; of a tool only its beginning does.
    if (item.type === 'message' || (item.type !== 'warning' && !ended)) this.#wentOn();
    this.#work.item(item, ended);
  }

  #wentOn(): void {
    this.#out.put(...this.#deliveries.wentOn());
  }

  #userMessage(key: string, text: string): void {
    this.#name();
    this.#out.put({ t: 'message', role: 'user', text }, ...(this.#deliveries.taken(key) ?? []));
  }

  #usedTokens(tokens: Tokens): void {
    const { at } = this.#course;
    if (at === 'opening' || (at === 'asked' && !this.#work.hasAnswers)) this.#work.usedBefore(tokens);
    else this.#work.used(tokens);
  }

  #turnEnded(record: Extract<ServerRecord, { type: 'turn-ended' }>): void {
    if (this.#course.at === 'ended' || this.#course.at === 'rest') {
      this.#out.noteSecondEnd();
      return;
    }
    const verdict = this.#work.ended(record);
    this.#last = verdict;
    if (record.status === 'completed') {
      this.#wentOn();
      this.#course = { at: 'rest', verdict };
      this.#handOn();
    } else {
      this.#out.put(...this.#deliveries.dropped(record.status === 'interrupted' ? 'aborted' : 'failed'));
      this.#settle(verdict);
    }
  }

  /** Only now: a thread that holds nothing cannot be gone on with. */
  #name(): void {
    if (this.#named) return;
    this.#named = true;
    const { resume } = this.#request;
    this.#out.put({ t: 'session', session: resume?.session ?? threadName(this.#thread) });
  }

  /* ---------------------------------------------------------------- the end */

  #settle(verdict: Verdict): void {
    this.#course = { at: 'ended', verdict };
    this.#out.put(verdict);
  }

  #verdictAt(exit: ChildExit): Verdict {
    const course = this.#course;
    switch (course.at) {
      case 'ended':
        this.#out.noteExitAfterEnd(exit);
        return course.verdict;
      case 'rest':
        this.#out.put(course.verdict);
        return course.verdict;
      case 'opening':
      case 'asked':
      case 'turn': {
        const child = { ...this.#work.unended, silent: this.#stdout.silent };
        const verdict = verdictOfExit(exit, child, this.#out.told);
        this.#out.put(verdict);
        return verdict;
      }
    }
  }
}

type WorkRecord = Exclude<ServerRecord, { type: 'passing' | 'answer' | 'asked' | 'warning' | 'unknown' }>;
