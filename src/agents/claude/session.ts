import type { AgentSession, LaunchRequest, Reply, SteerMessage } from '../adapter.ts';
import { Deliveries } from '../deliveries.ts';
import type { ChildExit } from '../exit.ts';
import { OpenTools } from '../open-tools.ts';
import { Outbox } from '../outbox.ts';
import { type Stdout, stdoutOfRecords } from '../stdout.ts';
import { foreignMessage } from '../text.ts';
import type { Verdict } from '../verdict.ts';
import { GO_ON } from '../words.ts';
import { wrapUpMessage } from '../wrap-up.ts';
import { type AssistantBlock, type ClaudeRecord, type ToolResult, type TurnResult, readRecord } from './records.ts';
import { nameOf, sessionOf, uuidOf } from './session-name.ts';
import { Tally } from './tally.ts';
import { type Retry, retryReason, verdictAtExit, verdictOf } from './verdict.ts';

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
  readonly #tally = new Tally();
  readonly #deliveries = new Deliveries();
  readonly #tools = new OpenTools();
  #course: Course = { at: 'start' };
  /** Its session is on record: it has something in it. */
  #named = false;
  #model = '';
  #aborting = false;
  #aborts = 0;
  /** What the client called the last error of a model. */
  #error: string | null = null;
  #retry: Retry | null = null;
  #stray: string | null = null;

  constructor(request: LaunchRequest) {
    this.#request = request;
    this.#out = new Outbox(request.task);
    this.#stdout = stdoutOfRecords(this.#out, (record) => this.#take(readRecord(record)));
  }

  start(): Reply {
    const { task, resume } = this.#request;
    if (resume !== null) this.#name();
    this.#say('', resume === null ? (task ?? '') : GO_ON, 'next');
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
    if (!this.#stdout.over && this.#isAtWork()) this.#message(null, 'wrap-up', wrapUpMessage(leftMs), 'next');
    return { ...this.#out.take(), supported: true };
  }

  steer({ id, text, mode }: SteerMessage): ReturnType<AgentSession['steer']> {
    if (this.#stdout.over || this.#aborting || !this.#isAtWork()) return { ...this.#out.take(), verdict: 'too-late' };
    this.#message(id, id, text, mode === 'next' ? 'later' : 'next');
    return { ...this.#out.take(), verdict: 'sent' };
  }

  exited(exit: ChildExit): Reply {
    return this.#stdout.exited(() => {
      const verdict = this.#verdictAt(exit);
      this.#out.put(...this.#deliveries.over(verdict.t === 'error' ? reasonOf(verdict) : 'aborted'));
    });
  }

  /* ---------------------------------------------------------------- what we say */

  /** `later` waits until the agent is at rest, `next` is read at the next tool boundary. */
  #say(key: string, text: string, priority: 'next' | 'later'): string {
    const uuid = uuidOf(this.#request.privateDir, key);
    const content = [{ type: 'text', text }];
    this.#out.send({ type: 'user', message: { role: 'user', content }, uuid, priority });
    return uuid;
  }

  #message(id: string | null, key: string, text: string, priority: 'next' | 'later'): void {
    this.#out.tells(text);
    this.#deliveries.sent(id, this.#say(key, text, priority));
  }

  #interrupt(): void {
    this.#aborts += 1;
    const request = { subtype: 'interrupt' };
    this.#out.send({ type: 'control_request', request_id: `coxswain-interrupt-${this.#aborts}`, request });
  }

  /** Nobody sits there to answer; without an answer it would wait for ever. */
  #refuse(id: string, subtype: string): void {
    this.#out.note('text', `it asked for "${subtype}", and nobody is there to answer: refused`);
    const message = 'nobody is there to answer';
    const response =
      subtype === 'can_use_tool'
        ? { subtype: 'success', request_id: id, response: { behavior: 'deny', message } }
        : { subtype: 'error', request_id: id, error: message };
    this.#out.send({ type: 'control_response', response });
  }

  /* ---------------------------------------------------------------- what it says */

  #take(record: ClaudeRecord): void {
    switch (record.type) {
      case 'passing':
        if (record.progress) this.#out.progress();
        return;
      case 'asked':
        this.#refuse(record.id, record.subtype);
        return;
      case 'unknown':
        this.#unknown(record.name, record.error);
        return;
      case 'begun':
      case 'assistant':
      case 'replayed':
      case 'tools-ended':
      case 'retry':
      case 'result':
        this.#out.progress();
        this.#work(record);
    }
  }

  #work(record: WorkRecord): void {
    switch (record.type) {
      case 'begun':
        this.#begin(false);
        this.#sawModel(record.model);
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
        for (const result of record.results) this.#toolEnded(result);
        return;
      case 'retry':
        this.#begin(true);
        this.#retried(record);
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
    this.#tally.block(block);
    if (this.#course.at === 'aside') return this.#tellUsage();
    this.#name();
    this.#retry = null;
    if (block.error !== null) this.#error = block.error;
    else if (!block.ofHelper) this.#out.put(...this.#deliveries.wentOn());
    if (block.text !== '' && block.error === null && !block.ofHelper) {
      this.#out.put({ t: 'message', role: 'assistant', text: block.text });
    }
    for (const { id, name, input } of block.tools) {
      this.#tools.begin(id, name);
      this.#out.put({ t: 'toolStart', id, name, input });
    }
    this.#tellUsage();
  }

  #replayed(uuid: string, text: string): void {
    const steered = this.#deliveries.taken(uuid);
    this.#begin(steered !== null && steered.length > 0);
    if (this.#course.at === 'aside') return;
    this.#name();
    this.#out.put({ t: 'message', role: 'user', text }, ...(steered ?? []));
  }

  #toolEnded({ id, ok, output, truncated }: ToolResult): void {
    this.#out.put({ t: 'toolEnd', id, name: this.#tools.end(id), ok, output, truncated });
  }

  #retried(retry: Retry): void {
    this.#retry = retry;
    const { attempt, max, delayMs } = retry;
    this.#out.put({
      t: 'retry',
      attempt,
      ...(max === null ? {} : { max }),
      ...(delayMs === null ? {} : { delayMs: Math.max(0, Math.ceil(delayMs)) }),
      reason: foreignMessage(retryReason(retry), this.#out.told),
    });
  }

  #result(result: TurnResult): void {
    this.#tally.result(result);
    this.#tellUsage();
    const course = this.#course;
    if (course.at === 'ended' || course.at === 'aside') {
      this.#course = { at: 'ended', verdict: course.verdict };
      this.#out.noteSecondEnd();
      return;
    }
    this.#tellDenied(result.denied);
    const verdict = verdictOf(result, this.#error, course.at !== 'start', this.#out.told);
    this.#error = null;
    this.#retry = null;
    this.#tools.clear();
    this.#out.put(...this.#deliveries.dropped(verdict.t === 'error' ? reasonOf(verdict) : 'aborted'));
    // What it has not read yet it reads now, and begins a turn with it.
    const goesOn = course.at !== 'start' && !this.#aborting && this.#deliveries.count().asked > 0;
    this.#course = { at: goesOn ? 'waiting' : 'ended', verdict };
    if (!goesOn) this.#out.put(verdict);
  }

  #tellDenied(tools: string[]): void {
    if (tools.length > 0) this.#out.note('text', `it was not allowed to use ${tools.join(', ')}`);
  }

  #unknown(name: string, error: string | null): void {
    this.#stray ??= error;
    this.#out.noteUnknown(name, error);
  }

  /** Only now: a session that holds nothing cannot be gone on with. */
  #name(): void {
    if (this.#named) return;
    this.#named = true;
    this.#out.put({ t: 'session', session: nameOf(sessionOf(this.#request)) });
  }

  #sawModel(model: string): void {
    if (model === '' || model === this.#model) return;
    this.#model = model;
    this.#out.put({ t: 'model', model });
  }

  #tellUsage(): void {
    this.#out.put({ t: 'usage', usage: this.#tally.total() });
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
        const child = {
          openTool: this.#tools.last,
          strayError: this.#stray ?? this.#error,
          silent: this.#stdout.silent,
        };
        const verdict = verdictAtExit(exit, child, this.#retry, this.#out.told);
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

type WorkRecord = Exclude<ClaudeRecord, { type: 'passing' | 'asked' | 'unknown' }>;
