import type { LaunchRequest } from '../adapter.ts';
import { Answer } from '../answer.ts';
import type { Fields } from '../json.ts';
import type { Reader } from '../one-way.ts';
import { OpenTools } from '../open-tools.ts';
import type { Outbox } from '../outbox.ts';
import { type UnendedChild, type Verdict, modelFailure, verdictOfAnswer } from '../verdict.ts';
import { type GeminiRecord, readRecord } from './records.ts';

/** Reads the records of one Gemini CLI. Its `result` is the end, whatever the exit code says afterwards. */
export class GeminiReader implements Reader {
  readonly #out: Outbox;
  readonly #task: string | null;
  #session: string | null;
  #told = false;
  /** What was said since the last tool. */
  readonly #answer = new Answer();
  readonly #open = new OpenTools();
  #strayError: string | null = null;
  /** The model is at it: what it says next belongs to the same turn. */
  #answering = false;
  #used = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, turns: 0, tools: 0 };

  constructor(out: Outbox, { task, resume }: LaunchRequest) {
    this.#out = out;
    this.#task = task;
    this.#session = resume?.session ?? null;
  }

  get told(): boolean {
    return this.#told;
  }

  record(fields: Fields): void {
    const record = readRecord(fields);
    if (record.type !== 'unknown' && record.type !== 'trouble') this.#out.progress();
    this.#take(record);
  }

  #take(record: GeminiRecord): void {
    switch (record.type) {
      case 'begun':
        this.#begun(record);
        return;
      case 'user':
        this.#out.put({ t: 'message', role: 'user', text: record.text });
        return;
      case 'piece':
        this.#turn();
        if (!this.#told) this.#answer.add(record.text);
        return;
      case 'tool-started':
        this.#turn();
        this.#said();
        this.#open.begin(record.id, record.name);
        this.#used.tools += 1;
        this.#out.put({ t: 'toolStart', id: record.id, name: record.name, input: record.input });
        this.#tellUsage();
        return;
      case 'tool-ended':
        this.#toolEnded(record);
        return;
      case 'trouble':
        if (record.fatal) this.#strayError ??= record.text;
        this.#out.note('text', record.text);
        return;
      case 'ended':
        this.#ended(record);
        return;
      case 'unknown':
        this.#strayError ??= record.error;
        this.#out.noteUnknown(record.name, record.error);
    }
  }

  #begun({ session, model }: Extract<GeminiRecord, { type: 'begun' }>): void {
    if (session !== '' && session !== this.#session) this.#out.put({ t: 'session', session });
    if (session !== '') this.#session = session;
    if (model !== '') this.#out.put({ t: 'model', model });
  }

  #toolEnded({ id, ok, output, truncated }: Extract<GeminiRecord, { type: 'tool-ended' }>): void {
    const name = this.#open.end(id);
    this.#answering = false;
    this.#said();
    this.#out.put({ t: 'toolEnd', id, name, ok, output, truncated });
  }

  /** It does not count its turns: what comes after a tool's result is a new one. */
  #turn(): void {
    if (!this.#answering && !this.#told) this.#used.turns += 1;
    this.#answering = true;
  }

  /** The pieces are a whole: what was said before a tool is no answer. */
  #said(): string {
    const { text } = this.#answer;
    if (text !== '') this.#out.put({ t: 'message', role: 'assistant', text });
    this.#answer.clear();
    return text;
  }

  #ended({ error, tokens }: Extract<GeminiRecord, { type: 'ended' }>): void {
    if (this.#told) {
      this.#out.noteSecondEnd();
      return;
    }
    const { truncated } = this.#answer;
    const text = this.#said();
    this.#used = { ...this.#used, ...tokens };
    this.#tellUsage();
    this.#told = true;
    this.#out.put(
      error === null
        ? verdictOfAnswer(text, 'stop', truncated)
        : { t: 'error', failure: modelFailure(error, this.#task) },
    );
  }

  #tellUsage(): void {
    this.#out.put({ t: 'usage', usage: { ...this.#used } });
  }

  ended(): Verdict | Omit<UnendedChild, 'silent'> {
    this.#said();
    return { openTool: this.#open.last, strayError: this.#strayError };
  }
}
