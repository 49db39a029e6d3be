import type { LaunchRequest } from '../adapter.ts';
import type { ChildExit } from '../exit.ts';
import { type Fields, fields, name as nameOf, string } from '../json.ts';
import type { Reader } from '../one-way.ts';
import type { Outbox } from '../outbox.ts';
import { foreignMessage } from '../text.ts';
import { type UnendedChild, type Verdict, verdictOfAnswer } from '../verdict.ts';
import { type Item, readItem } from './items.ts';
import { readThreadName, threadName } from './thread-name.ts';
import { Tally, readExecTokens } from './tokens.ts';
import { Tools } from './tools.ts';
import { failureOf, readReconnect, readTurnError } from './verdict.ts';

/** Reads the records of one `codex exec`. The turn's end is the end, whatever the exit code says afterwards. */
export class ExecReader implements Reader {
  readonly #out: Outbox;
  readonly #task: string | null;
  readonly #tally: Tally;
  readonly #tools: Tools;
  #thread: string;
  #told = false;
  #answer = '';
  /** The last error, which a turn that breaks off leaves behind. */
  #error: string | null = null;
  #answersOfTurn = 0;

  constructor(out: Outbox, { task, resume }: LaunchRequest) {
    this.#out = out;
    this.#task = task;
    const { id, counted } = readThreadName(resume?.session ?? '');
    this.#thread = id;
    this.#tally = new Tally(counted);
    this.#tools = new Tools(out, this.#tally);
  }

  get told(): boolean {
    return this.#told;
  }

  record(record: Fields): void {
    const name = string(record['type']);
    switch (name) {
      case 'thread.started':
        this.#out.progress();
        this.#sawThread(nameOf(record['thread_id']));
        return;
      case 'turn.started':
        this.#out.progress();
        this.#begin();
        return;
      case 'item.started':
      case 'item.updated':
      case 'item.completed':
        this.#out.progress();
        this.#item(readItem(record['item']), name);
        return;
      case 'turn.completed':
        this.#out.progress();
        this.#ended(fields(record['usage']), verdictOfAnswer(this.#answer, 'stop'));
        return;
      case 'turn.failed':
        this.#out.progress();
        this.#ended(null, failureOf(readTurnError(record['error']), this.#task));
        return;
      case 'error':
        this.#trouble(string(record['message']));
        return;
      default:
        this.#unknown(name, record);
    }
  }

  #sawThread(id: string): void {
    if (id === '' || id === this.#thread) return;
    this.#thread = id;
    this.#out.put({ t: 'session', session: threadName(id) });
  }

  /** After the end that was told, it takes that back. */
  #begin(): void {
    if (this.#told) this.#out.put({ t: 'resumed' });
    this.#told = false;
    this.#answer = '';
    this.#answersOfTurn = 0;
  }

  #item(item: Item, when: 'item.started' | 'item.updated' | 'item.completed'): void {
    if (this.#told && item.type !== 'warning') return;
    switch (item.type) {
      case 'message':
        if (when !== 'item.completed') return;
        this.#answer = item.text;
        this.#answersOfTurn += 1;
        this.#tally.turn();
        if (item.text !== '') this.#out.put({ t: 'message', role: 'assistant', text: item.text });
        this.#tellUsage();
        return;
      case 'tool':
        if (this.#tools.item(item, when === 'item.completed')) this.#tellUsage();
        return;
      case 'warning':
        if (when === 'item.completed') this.#out.note('text', item.text);
        return;
      case 'user':
      case 'other':
    }
  }

  #trouble(message: string): void {
    const again = readReconnect(message);
    if (again === null) {
      this.#error = message;
      return;
    }
    const { attempt, max, reason } = again;
    this.#out.put({ t: 'retry', attempt, max, reason: foreignMessage(reason, this.#task) });
  }

  #ended(usage: Fields | null, verdict: Verdict): void {
    if (this.#told) {
      this.#out.noteSecondEnd();
      return;
    }
    // How often it asked its model it does not say: what shows is its messages, and that it did.
    if (this.#answersOfTurn === 0) this.#tally.turn();
    if (usage !== null) this.#count(usage);
    this.#tellUsage();
    this.#told = true;
    this.#out.put(verdict);
  }

  #count(usage: Fields): void {
    const tokens = readExecTokens(usage);
    this.#tally.thread(tokens);
    if (this.#thread !== '') this.#out.put({ t: 'session', session: threadName(this.#thread, tokens) });
  }

  #tellUsage(): void {
    this.#out.put({ t: 'usage', usage: this.#tally.total() });
  }

  #unknown(name: string, record: Fields): void {
    const { error } = record;
    const message = typeof error === 'string' ? error : string(fields(error)['message']);
    if (message !== '') this.#error ??= message;
    this.#out.noteUnknown(name, message === '' ? null : message);
  }

  ended(exit: ChildExit): Verdict | Omit<UnendedChild, 'silent'> {
    // It said that the model failed, and did not come to say that the turn did.
    if (this.#error !== null && exit.signal === null && this.#tools.last === null) {
      return failureOf({ message: this.#error, info: null }, this.#task);
    }
    return { openTool: this.#tools.last, strayError: this.#error };
  }
}
