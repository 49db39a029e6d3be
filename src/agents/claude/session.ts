import type { AgentSession, LaunchRequest, PermissionAnswer, Reply, SteerMessage } from '../adapter.ts';
import { Deliveries } from '../deliveries.ts';
import type { ChildExit } from '../exit.ts';
import { Outbox } from '../outbox.ts';
import { Permissions } from '../permissions.ts';
import { type Stdout, stdoutOfRecords } from '../stdout.ts';
import type { Verdict } from '../verdict.ts';
import { firstWords } from '../words.ts';
import { wrapUpMessage } from '../wrap-up.ts';
import { type Priority, allowance, interrupt, refuse, userMessage } from './messages.ts';
import { type AssistantBlock, type ClaudeRecord, type TurnResult, readRecord } from './records.ts';
import { nameOf, sessionOf, uuidOf } from './session-name.ts';
import { Work } from './work.ts';

/**
 * Where the work stands.
 *
 * Each message that finds the agent at rest begins a turn, and each turn ends with a `result`. `waiting`: a turn has ended,
 * and a message of somebody's still waits for its own. `aside`: after the end, a turn that only answers a message of our
 * own which came too late; it changes nothing.
 */
type Course =
  | { at: 'start' }
  | { at: 'turn' }
  | { at: 'waiting'; verdict: Verdict }
  | { at: 'ended'; verdict: Verdict }
  | { at: 'aside'; verdict: Verdict };

/** The protocol state of one Claude Code. */
export class ClaudeSession implements AgentSession {
  readonly #request: LaunchRequest;
  readonly #out: Outbox;
  readonly #stdout: Stdout;
  readonly #work: Work;
  readonly #deliveries = new Deliveries();
  readonly #permissions: Permissions;
  /** The names of asks by those of its requests. */
  readonly #asks = new Map<string, string>();
  #course: Course = { at: 'start' };
  /** Its session is on record: it has something in it. */
  #named = false;
  #aborting = false;
  #aborts = 0;

  constructor(request: LaunchRequest) {
    this.#request = request;
    this.#out = new Outbox(request.task);
    this.#work = new Work(this.#out);
    this.#permissions = new Permissions(this.#out, request.settings.permissions);
    this.#stdout = stdoutOfRecords(this.#out, (record) => this.#take(readRecord(record)));
  }

  start(): Reply {
    if (this.#request.resume !== null) this.#name();
    this.#say('', firstWords(this.#request), 'next');
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
    if (!this.#stdout.over && this.#isAtWork()) this.#message(null, 'wrap-up', wrapUpMessage(leftMs), 'next');
    return { ...this.#out.take(), supported: true };
  }

  steer({ id, text, mode }: SteerMessage): ReturnType<AgentSession['steer']> {
    if (this.#stdout.over || this.#aborting || !this.#isAtWork()) return { ...this.#out.take(), verdict: 'too-late' };
    this.#message(id, id, text, mode === 'next' ? 'later' : 'next');
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
      this.#out.put(...this.#deliveries.over(verdict.t === 'error' ? reasonOf(verdict) : 'aborted'));
    });
  }

  /* ---------------------------------------------------------------- what we say */

  #say(key: string, text: string, priority: Priority): string {
    const uuid = uuidOf(this.#request.privateDir, key);
    this.#out.send(userMessage(uuid, text, priority));
    return uuid;
  }

  #message(id: string | null, key: string, text: string, priority: Priority): void {
    this.#out.tells(text);
    this.#deliveries.sent(id, this.#say(key, text, priority));
  }

  #interrupt(): void {
    this.#aborts += 1;
    this.#out.send(interrupt(this.#aborts));
  }

  /** Without an answer it would wait for ever. */
  #asked({ id, subtype, wanted }: Extract<ClaudeRecord, { type: 'asked' }>): void {
    if (subtype !== 'can_use_tool' || this.#request.settings.permissions === undefined) {
      this.#refuse(id, subtype);
      return;
    }
    this.#out.progress();
    const ask = this.#permissions.want(wanted, (answer) => {
      this.#asks.delete(id);
      const told = answer.type;
      this.#out.put({ t: 'permission', id: wanted.id, tool: wanted.tool, input: wanted.input, answer: told });
      this.#out.send(allowance(id, wanted.input, answer));
    });
    if (ask !== null) this.#asks.set(id, ask);
  }

  #withdraw(id: string): void {
    const ask = this.#asks.get(id);
    this.#asks.delete(id);
    if (ask !== undefined) this.#permissions.withdraw(ask);
  }

  /** Nobody sits there to answer; without an answer it would wait for ever. */
  #refuse(id: string, subtype: string): void {
    this.#out.note('text', `it asked for "${subtype}", and nobody is there to answer: refused`);
    this.#out.send(refuse(id, subtype));
  }

  /* ---------------------------------------------------------------- what it says */

  #take(record: ClaudeRecord): void {
    switch (record.type) {
      case 'passing':
        if (record.progress) this.#out.progress();
        return;
      case 'asked':
        this.#asked(record);
        return;
      case 'withdrawn':
        this.#withdraw(record.id);
        return;
      case 'unknown':
        this.#work.unknown(record.name, record.error);
        return;
      case 'begun':
      case 'assistant':
      case 'replayed':
      case 'tools-ended':
      case 'retry':
      case 'result':
        this.#out.progress();
        this.#worked(record);
    }
  }

  #worked(record: WorkRecord): void {
    switch (record.type) {
      case 'begun':
        this.#begin(false);
        this.#work.sawClient(record.client);
        this.#work.sawModel(record.model);
        // What waits in its queue would be worked at after an interrupt.
        if (this.#aborting) this.#interrupt();
        return;
      case 'assistant':
        this.#assistant(record);
        return;
      case 'replayed':
        this.#replayed(record.uuid, record.text);
        return;
      case 'tools-ended':
        for (const result of record.results) this.#work.toolEnded(result);
        return;
      case 'retry':
        this.#begin(true);
        this.#work.retried(record);
        return;
      case 'result':
        this.#result(record);
    }
  }

  /** A turn begins, or goes on. `sure`: what came is of a turn that asks a model. */
  #begin(sure: boolean): void {
    const course = this.#course;
    switch (course.at) {
      case 'start':
      case 'waiting':
        this.#course = { at: 'turn' };
        return;
      case 'ended':
        if (this.#deliveries.count().own > 0 && !sure) {
          this.#course = { at: 'aside', verdict: course.verdict };
          this.#out.note('text', 'the work had ended before the message to wrap up was read');
          return;
        }
        this.#course = { at: 'turn' };
        this.#out.put({ t: 'resumed' });
        return;
      case 'turn':
      case 'aside':
    }
  }

  #assistant(block: AssistantBlock): void {
    this.#begin(true);
    if (this.#course.at === 'aside') {
      this.#work.paid(block);
      return;
    }
    this.#name();
    if (block.error === null && !block.ofHelper) this.#out.put(...this.#deliveries.wentOn());
    this.#work.assistant(block);
  }

  #replayed(uuid: string, text: string): void {
    const steered = this.#deliveries.taken(uuid);
    this.#begin(steered !== null && steered.length > 0);
    if (this.#course.at === 'aside') return;
    this.#name();
    this.#out.put({ t: 'message', role: 'user', text }, ...(steered ?? []));
  }

  #result(result: TurnResult): void {
    this.#work.turnPaid(result);
    const course = this.#course;
    if (course.at === 'ended' || course.at === 'aside') {
      this.#course = { at: 'ended', verdict: course.verdict };
      this.#out.noteSecondEnd();
      return;
    }
    const verdict = this.#work.turnEnded(result, course.at !== 'start');
    this.#out.put(...this.#deliveries.dropped(verdict.t === 'error' ? reasonOf(verdict) : 'aborted'));
    // What it has not read yet it reads now, and begins a turn with it.
    const goesOn = course.at !== 'start' && !this.#aborting && this.#deliveries.count().asked > 0;
    this.#course = { at: goesOn ? 'waiting' : 'ended', verdict };
    if (!goesOn) this.#out.put(verdict);
  }

  /** Only now: a session that holds nothing cannot be gone on with. */
  #name(): void {
    if (this.#named) return;
    this.#named = true;
    this.#out.put({ t: 'session', session: nameOf(sessionOf(this.#request)) });
  }

  /* ---------------------------------------------------------------- the end */

  #isAtWork(): boolean {
    return this.#course.at === 'start' || this.#course.at === 'turn' || this.#course.at === 'waiting';
  }

  #verdictAt(exit: ChildExit): Verdict {
    const course = this.#course;
    switch (course.at) {
      case 'ended':
      case 'aside':
        // After an error its exit code says no more than the error did.
        if (course.verdict.t === 'final') this.#out.noteExitAfterEnd(exit);
        return course.verdict;
      case 'waiting':
        this.#out.put(course.verdict);
        return course.verdict;
      case 'start':
      case 'turn': {
        const verdict = this.#work.brokenOff(exit, this.#stdout.silent);
        this.#out.put(verdict);
        return verdict;
      }
    }
  }
}

function reasonOf(verdict: Extract<Verdict, { t: 'error' }>): 'aborted' | 'failed' {
  return FAILED_BY_MODEL.has(verdict.failure.code) ? 'failed' : 'aborted';
}

const FAILED_BY_MODEL: ReadonlySet<string> = new Set([
  'model-error',
  'rate-limited',
  'model-unavailable',
  'tool-unavailable',
  'auth',
  'context-overflow',
  'model-timeout',
  'length',
]);

type WorkRecord = Exclude<ClaudeRecord, { type: 'passing' | 'asked' | 'withdrawn' | 'unknown' }>;
