import type { Outbox } from '../outbox.ts';
import { foreignMessage } from '../text.ts';
import { type UnendedChild, type Verdict, failed, verdictOfAnswer } from '../verdict.ts';
import type { Item } from './items.ts';
import type { ServerRecord } from './server-records.ts';
import { NOTHING, Tally, type Tokens } from './tokens.ts';
import { Tools } from './tools.ts';
import { type TurnError, failureOf, readReconnect } from './verdict.ts';

/** What codex does in the turns of its thread: its answers, its tools, what it uses, what goes wrong. */
export class Work {
  readonly #out: Outbox;
  readonly #tally = new Tally(NOTHING);
  readonly #tools: Tools;
  #answer = '';
  #turnsBefore = 0;
  #used: Tokens = NOTHING;
  #tries = 0;
  #error: TurnError | null = null;

  constructor(out: Outbox) {
    this.#out = out;
    this.#tools = new Tools(out, this.#tally);
  }

  /** A turn was asked for. */
  asked(): void {
    this.#answer = '';
    this.#tries = 0;
    this.began();
  }

  /** A turn has begun that nobody asked for. */
  began(): void {
    this.#turnsBefore = this.#tally.turns;
  }

  item(item: Item, ended: boolean): void {
    switch (item.type) {
      case 'message':
        if (!ended) return;
        this.#answer = item.text;
        if (item.text !== '') this.#out.put({ t: 'message', role: 'assistant', text: item.text });
        return;
      case 'tool':
        if (this.#tools.item(item, ended)) this.#tellUsage();
        return;
      case 'warning':
        this.#out.note('text', item.text);
        return;
      case 'user':
      case 'other':
    }
  }

  /** Of a thread that is gone on with, the server says where it stood before the first answer of a model. */
  usedBefore(tokens: Tokens): void {
    this.#tally.begin(tokens);
    this.#used = tokens;
  }

  used(tokens: Tokens): void {
    this.#tally.thread(tokens);
    if (sameTokens(tokens, this.#used)) return;
    this.#used = tokens;
    this.#tally.turn();
    this.#tellUsage();
  }

  /** A model has answered in this thread since we have it. */
  get hasAnswers(): boolean {
    return this.#tally.turns > 0;
  }

  trouble({ error, willRetry }: Extract<ServerRecord, { type: 'trouble' }>): void {
    if (!willRetry) {
      this.#error = error;
      return;
    }
    this.#tries += 1;
    const again = readReconnect(error.message);
    this.#out.put({
      t: 'retry',
      attempt: again?.attempt ?? this.#tries,
      ...(again === null ? {} : { max: again.max }),
      reason: foreignMessage(again?.reason ?? error.message, this.#out.told),
    });
  }

  /** The turn is over: what it came to. */
  ended({ status, error }: Extract<ServerRecord, { type: 'turn-ended' }>): Verdict {
    if (this.#tally.turns === this.#turnsBefore) this.#tally.turn();
    this.#tools.clear();
    this.#tellUsage();
    const verdict = this.#verdictOf(status, error);
    this.#error = null;
    return verdict;
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

  /** What is known of it when it has exited within a turn. */
  get unended(): Omit<UnendedChild, 'silent'> {
    return { openTool: this.#tools.last, strayError: this.#error?.message ?? null };
  }

  #tellUsage(): void {
    this.#out.put({ t: 'usage', usage: this.#tally.total() });
  }
}

const sameTokens = (a: Tokens, b: Tokens): boolean =>
  a.input === b.input && a.output === b.output && a.cacheRead === b.cacheRead && a.cacheWrite === b.cacheWrite;
