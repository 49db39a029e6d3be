import type { LaunchRequest } from '../adapter.ts';
import { Answer } from '../answer.ts';
import type { ChildExit } from '../exit.ts';
import { type Fields, string } from '../json.ts';
import type { Reader } from '../one-way.ts';
import { OpenTools } from '../open-tools.ts';
import type { Outbox } from '../outbox.ts';
import { type UnendedChild, type Verdict, failed, modelFailure, verdictOfAnswer } from '../verdict.ts';
import { type OpencodeRecord, type StepUse, readRecord } from './records.ts';

/** Where the work stands: each answer of the model is a step. */
type Course =
  | { at: 'start' }
  | { at: 'step' }
  /** The model wants its tools' results: another step follows. */
  | { at: 'between' }
  | { at: 'answered'; stop: 'stop' | 'length' }
  | { at: 'failed'; message: string; whole: string };

/** Reads the records of one OpenCode. What they tell stands when it exits: they have no end of their own. */
export class OpencodeReader implements Reader {
  readonly told = false;
  readonly #out: Outbox;
  readonly #task: string | null;
  #session: string | null;
  #course: Course = { at: 'start' };
  /** What was said since the last tool, by the last message that said something. */
  readonly #answer = new Answer();
  #message = '';
  readonly #open = new OpenTools();
  #strayError: string | null = null;
  #used = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, turns: 0, tools: 0 };
  /** Null once a step had tokens and no price: the sum would be too low. */
  #cost: number | null = 0;

  constructor(out: Outbox, { task, resume }: LaunchRequest) {
    this.#out = out;
    this.#task = task;
    this.#session = resume?.session ?? null;
  }

  record(fields: Fields): void {
    this.#sawSession(string(fields['sessionID']));
    const record = readRecord(fields);
    if (record.type !== 'unknown') this.#out.progress();
    this.#take(record);
  }

  #take(record: OpencodeRecord): void {
    switch (record.type) {
      case 'step-started':
        this.#course = { at: 'step' };
        this.#answer.clear();
        return;
      case 'text':
        this.#text(record.message, record.text);
        return;
      case 'thinking':
        return;
      case 'tool':
        this.#tool(record);
        return;
      case 'step-ended':
        this.#use(record.use);
        this.#stepEnded(record.reason);
        return;
      case 'error':
        if (this.#hasEnded()) this.#secondEnd();
        else this.#course = { at: 'failed', message: record.message, whole: record.whole };
        return;
      case 'unknown':
        this.#strayError ??= record.error;
        this.#out.noteUnknown(record.name, record.error);
    }
  }

  #text(message: string, text: string): void {
    if (text === '') return;
    this.#out.put({ t: 'message', role: 'assistant', text });
    if (this.#hasEnded()) return;
    if (message !== this.#message) this.#answer.clear();
    this.#message = message;
    this.#answer.add(text);
  }

  #tool({ id, name, input, end }: Extract<OpencodeRecord, { type: 'tool' }>): void {
    // What was said before a tool is no answer.
    if (!this.#hasEnded()) this.#answer.clear();
    if (!this.#open.has(id)) {
      this.#open.begin(id, name);
      this.#used.tools += 1;
      this.#out.put({ t: 'toolStart', id, name, input });
      this.#tellUsage();
    }
    if (end === null) return;
    this.#open.end(id);
    this.#out.put({ t: 'toolEnd', id, name, ...end });
  }

  #stepEnded(reason: string): void {
    if (this.#hasEnded()) {
      this.#secondEnd();
      return;
    }
    switch (reason) {
      case 'tool-calls':
        this.#course = { at: 'between' };
        return;
      case 'error':
        this.#course = { at: 'failed', message: '', whole: '' };
        return;
      default:
        this.#course = { at: 'answered', stop: reason === 'length' ? 'length' : 'stop' };
    }
  }

  /** The first end stands, unless a new step shows that it was none. */
  #hasEnded(): boolean {
    return this.#course.at === 'answered' || this.#course.at === 'failed';
  }

  #secondEnd(): void {
    this.#out.noteSecondEnd();
  }

  #use(use: StepUse): void {
    this.#used.input += use.input;
    this.#used.output += use.output;
    this.#used.cacheRead += use.cacheRead;
    this.#used.cacheWrite += use.cacheWrite;
    this.#used.turns += 1;
    // A model without a price costs 0 here; so nobody knows whether it was free.
    const unknown =
      use.cost === null || (use.cost === 0 && use.input + use.output + use.cacheRead + use.cacheWrite > 0);
    this.#cost = this.#cost === null || unknown ? null : this.#cost + (use.cost ?? 0);
    this.#tellUsage();
  }

  #tellUsage(): void {
    const known = this.#cost !== null && this.#used.turns > 0;
    this.#out.put({ t: 'usage', usage: known ? { ...this.#used, costUsd: this.#cost ?? 0 } : { ...this.#used } });
  }

  #sawSession(session: string): void {
    if (session === '' || session === this.#session) return;
    this.#session = session;
    this.#out.put({ t: 'session', session });
  }

  ended(exit: ChildExit): Verdict | Omit<UnendedChild, 'silent'> {
    const openTool = this.#open.last;
    const unended = { openTool, strayError: this.#strayError };
    switch (this.#course.at) {
      case 'failed':
        return { t: 'error', failure: modelFailure(this.#course.message, this.#task, this.#course.whole) };
      case 'answered':
        // Only the exit says that this was the end, so it has to be a good one.
        if (exit.code !== 0) return unended;
        return verdictOfAnswer(this.#answer.text, this.#course.stop, this.#answer.truncated);
      case 'between':
        if (exit.code !== 0 || openTool !== null || this.#strayError !== null) return unended;
        return failed('no-end-record', 'ended with exit code 0 after a tool and before an answer');
      case 'start':
      case 'step':
        return unended;
    }
  }
}
