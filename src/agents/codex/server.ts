import type { AgentSession, LaunchRequest, Reply, SteerMessage } from '../adapter.ts';
import { Deliveries } from '../deliveries.ts';
import type { ChildExit } from '../exit.ts';
import type { Fields } from '../json.ts';
import { fields, name as nameOf, string } from '../json.ts';
import { readModelName } from '../model.ts';
import { Outbox } from '../outbox.ts';
import { type Stdout, stdoutOfRecords } from '../stdout.ts';
import { foreignMessage } from '../text.ts';
import { type Verdict, failed, verdictOfAnswer, verdictOfExit } from '../verdict.ts';
import { GO_ON } from '../words.ts';
import { wrapUpMessage } from '../wrap-up.ts';
import type { Item } from './items.ts';
import { type ServerRecord, readServerRecord } from './server-records.ts';
import { readThreadName, threadName } from './thread-name.ts';
import { NOTHING, Tally, type Tokens } from './tokens.ts';
import { Tools } from './tools.ts';
import { type TurnError, failureOf, readReconnect } from './verdict.ts';

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

interface Message {
  /** Ours, and in the server's words the client's id of it. */
  key: string;
  text: string;
}

const OPEN = 'coxswain-open';
const THREAD = 'coxswain-thread';
const TASK = 'coxswain-task';
const WRAP_UP = 'coxswain-wrap-up';
const TURN = 'coxswain-turn/';
const STEER = 'coxswain-steer/';
const INTERRUPT = 'coxswain-interrupt';

/** The protocol state of one `codex app-server`, which works in one thread. */
export class ServerSession implements AgentSession {
  readonly #request: LaunchRequest;
  readonly #out: Outbox;
  readonly #stdout: Stdout;
  readonly #tally = new Tally(NOTHING);
  readonly #tools: Tools;
  readonly #deliveries = new Deliveries();
  #course: Course = { at: 'opening' };
  #thread = '';
  /** Its thread is on record: it has something in it. */
  #named = false;
  /** For the running turn, as soon as it has begun. */
  #soon: Message[] = [];
  /** Each begins a turn of its own after an answer. */
  #next: Message[] = [];
  /** Handed over to the running turn, and not answered yet. */
  readonly #unanswered = new Map<string, Message>();
  #aborting = false;
  #answer = '';
  /** How the last turn ended, which stands when no other can begin. */
  #last: Verdict = failed('empty-output', 'the agent ended without an answer');
  #turnsBefore = 0;
  #used: Tokens = NOTHING;
  #tries = 0;
  #error: TurnError | null = null;

  constructor(request: LaunchRequest) {
    this.#request = request;
    this.#out = new Outbox(request.task);
    this.#tools = new Tools(this.#out, this.#tally);
    this.#stdout = stdoutOfRecords(this.#out, (record) => this.#take(readServerRecord(record)));
  }

  start(): Reply {
    const clientInfo = { name: 'coxswain', title: null, version: '0' };
    this.#ask(OPEN, 'initialize', { clientInfo, capabilities: null });
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
    if (mode === 'next') this.#next.push(message);
    else this.#soon.push(message);
    this.#handOn();
    return { ...this.#out.take(), verdict: 'sent' };
  }

  exited(exit: ChildExit): Reply {
    return this.#stdout.exited(() => {
      const verdict = this.#verdictAt(exit);
      const failedTurn = verdict.t === 'error' && verdict.failure.code !== 'aborted' && this.#course.at === 'ended';
      this.#out.put(...this.#deliveries.over(failedTurn ? 'failed' : 'aborted'));
    });
  }

  /* ---------------------------------------------------------------- what we ask */

  #ask(id: string, method: string, params: object): void {
    this.#out.send({ id, method, params });
  }

  #openThread(): void {
    const { resume, model, cwd } = this.#request;
    const { provider = null, id = null, thinking = null } = model === null ? {} : readModelName(model);
    const params = {
      cwd,
      ...(id === null ? {} : { model: id }),
      ...(provider === null ? {} : { modelProvider: provider }),
      ...(thinking === null ? {} : { config: { model_reasoning_effort: effortOf(thinking) } }),
    };
    this.#out.send({ method: 'initialized' });
    if (resume === null) this.#ask(THREAD, 'thread/start', params);
    else
      this.#ask(THREAD, 'thread/resume', {
        ...params,
        threadId: readThreadName(resume.session).id,
        excludeTurns: true,
      });
  }

  #startTurn({ key, text }: Message): void {
    this.#course = { at: 'asked' };
    this.#answer = '';
    this.#tries = 0;
    this.#turnsBefore = this.#tally.turns;
    this.#ask(`${TURN}${key}`, 'turn/start', {
      threadId: this.#thread,
      clientUserMessageId: key,
      input: inputOf(text),
    });
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
      for (const message of this.#soon) this.#handOver(message, course.turn);
      this.#soon = [];
    }
    if (course.at !== 'rest' || this.#unanswered.size > 0) return;
    const [message, ...rest] = [...this.#soon, ...this.#next];
    this.#soon = [];
    this.#next = rest;
    if (message === undefined || this.#aborting) this.#settle(course.verdict);
    else this.#startTurn(message);
  }

  #handOver(message: Message, turn: string): void {
    this.#unanswered.set(message.key, message);
    this.#ask(`${STEER}${message.key}`, 'turn/steer', {
      threadId: this.#thread,
      expectedTurnId: turn,
      clientUserMessageId: message.key,
      input: inputOf(message.text),
    });
  }

  #interrupt(): void {
    if (this.#course.at !== 'turn') return;
    this.#ask(INTERRUPT, 'turn/interrupt', { threadId: this.#thread, turnId: this.#course.turn });
  }

  /** Nobody sits there to answer; without an answer it would wait for ever. */
  #refuse(id: string | number, method: string): void {
    this.#out.note('text', `it asked for "${method}", and nobody is there to answer: refused`);
    const decision = REFUSALS.get(method);
    this.#out.send(
      decision === undefined
        ? { id, error: { code: -32_601, message: 'nobody is there to answer' } }
        : { id, result: { decision } },
    );
  }

  /* ---------------------------------------------------------------- what it answers */

  #answered({ id, result, error }: Extract<ServerRecord, { type: 'answer' }>): void {
    if (id.startsWith(STEER)) this.#steered(id.slice(STEER.length), error);
    else if (id === INTERRUPT || this.#course.at === 'ended') return;
    else if (id.startsWith(TURN)) this.#turnAnswered(id.slice(TURN.length), error);
    else if (id === OPEN || id === THREAD) this.#opened(id, result, error);
  }

  #opened(id: string, result: Fields, error: string | null): void {
    if (this.#course.at !== 'opening') return;
    if (error !== null) {
      this.#settle(this.#refused(error));
    } else if (id === OPEN) {
      if (this.#thread === '') this.#openThread();
    } else {
      const { id: thread, model: ofThread } = fields(result['thread']);
      const model = string(result['model']) || string(ofThread);
      const provider = string(result['modelProvider']);
      this.#thread = nameOf(thread);
      if (model !== '') this.#out.put({ t: 'model', model: provider === '' ? model : `${provider}/${model}` });
      const { resume, task } = this.#request;
      if (resume !== null) this.#name();
      this.#startTurn({ key: TASK, text: resume === null ? (task ?? '') : GO_ON });
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
    const message = this.#unanswered.get(key);
    if (message === undefined) return;
    this.#unanswered.delete(key);
    if (error === null) this.#out.put(...this.#deliveries.queued(key));
    // It came too late for that turn, or the turn takes none: then it has one of its own.
    else if (key !== WRAP_UP) this.#next.unshift(message);
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
        this.#refuse(record.id, record.method);
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
        if (record.thread === this.#thread || this.#thread === '') this.#work(record);
    }
  }

  #work(record: WorkRecord): void {
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
        this.#out.put(...this.#deliveries.wentOn());
        return;
      case 'used':
        this.#usedTokens(record.tokens);
        return;
      case 'trouble':
        this.#trouble(record);
    }
  }

  #turnBegan(turn: string): void {
    const { at } = this.#course;
    if (turn === '' || at === 'turn' || at === 'rest') return;
    if (at === 'ended') this.#out.put({ t: 'resumed' });
    this.#course = { at: 'turn', turn };
    if (at !== 'asked') this.#turnsBefore = this.#tally.turns;
    this.#handOn();
    if (this.#aborting) this.#interrupt();
  }

  #item(item: Item, ended: boolean): void {
    if (this.#course.at === 'ended') return;
    switch (item.type) {
      case 'user':
        if (!ended) this.#userMessage(item.key, item.text);
        return;
      case 'message':
        this.#out.put(...this.#deliveries.wentOn());
        if (!ended) return;
        this.#answer = item.text;
        if (item.text !== '') this.#out.put({ t: 'message', role: 'assistant', text: item.text });
        return;
      case 'tool':
        if (!ended) this.#out.put(...this.#deliveries.wentOn());
        if (this.#tools.item(item, ended)) this.#tellUsage();
        return;
      case 'warning':
        this.#out.note('text', item.text);
        return;
      case 'other':
        if (!ended) this.#out.put(...this.#deliveries.wentOn());
    }
  }

  #userMessage(key: string, text: string): void {
    this.#name();
    this.#out.put({ t: 'message', role: 'user', text }, ...(this.#deliveries.taken(key) ?? []));
  }

  #usedTokens(tokens: Tokens): void {
    if (this.#course.at === 'opening' || (this.#course.at === 'asked' && this.#tally.turns === 0)) {
      // Of a thread that is gone on with: what it had used before.
      this.#tally.begin(tokens);
      this.#used = tokens;
      return;
    }
    this.#tally.thread(tokens);
    if (sameTokens(tokens, this.#used)) return;
    this.#used = tokens;
    this.#tally.turn();
    this.#tellUsage();
  }

  #trouble({ error, willRetry }: Extract<ServerRecord, { type: 'trouble' }>): void {
    if (!willRetry) {
      this.#error = error;
      return;
    }
    this.#tries += 1;
    const again = readReconnect(error.message);
    const reason = foreignMessage(again?.reason ?? error.message, this.#out.told);
    this.#out.put({
      t: 'retry',
      attempt: again?.attempt ?? this.#tries,
      ...(again === null ? {} : { max: again.max }),
      reason,
    });
  }

  #turnEnded({ status, error }: Extract<ServerRecord, { type: 'turn-ended' }>): void {
    if (this.#course.at === 'ended' || this.#course.at === 'rest') {
      this.#out.noteSecondEnd();
      return;
    }
    if (this.#tally.turns === this.#turnsBefore) this.#tally.turn();
    this.#tools.clear();
    this.#tellUsage();
    const verdict = this.#verdictOf(status, error);
    this.#error = null;
    this.#last = verdict;
    if (status === 'completed') {
      this.#out.put(...this.#deliveries.wentOn());
      this.#course = { at: 'rest', verdict };
      this.#handOn();
    } else {
      this.#out.put(...this.#deliveries.dropped(status === 'interrupted' ? 'aborted' : 'failed'));
      this.#settle(verdict);
    }
  }

  #verdictOf(status: string, error: TurnError): Verdict {
    switch (status) {
      case 'completed':
        return verdictOfAnswer(this.#answer, 'stop');
      case 'interrupted':
        return failed('aborted', 'the answer was aborted');
      default:
        return failureOf(error.message === '' ? (this.#error ?? error) : error, this.#out.told);
    }
  }

  /** Only now: a thread that holds nothing cannot be gone on with. */
  #name(): void {
    if (this.#named) return;
    this.#named = true;
    const { resume } = this.#request;
    this.#out.put({ t: 'session', session: resume?.session ?? threadName(this.#thread) });
  }

  #tellUsage(): void {
    this.#out.put({ t: 'usage', usage: this.#tally.total() });
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
        const child = {
          openTool: this.#tools.last,
          strayError: this.#error?.message ?? null,
          silent: this.#stdout.silent,
        };
        const verdict = verdictOfExit(exit, child, this.#out.told);
        this.#out.put(verdict);
        return verdict;
      }
    }
  }
}

const inputOf = (text: string): object[] => [{ type: 'text', text, text_elements: [] }];
/** It has no "off" and no "max". */
export const effortOf = (thinking: string): string =>
  thinking === 'off' ? 'none' : thinking === 'max' ? 'xhigh' : thinking;

const REFUSALS: ReadonlyMap<string, string> = new Map([
  ['item/commandExecution/requestApproval', 'decline'],
  ['item/fileChange/requestApproval', 'decline'],
  ['execCommandApproval', 'denied'],
  ['applyPatchApproval', 'denied'],
]);

const sameTokens = (a: Tokens, b: Tokens): boolean =>
  a.input === b.input && a.output === b.output && a.cacheRead === b.cacheRead && a.cacheWrite === b.cacheWrite;

type WorkRecord = Exclude<ServerRecord, { type: 'passing' | 'answer' | 'asked' | 'warning' | 'unknown' }>;
