import type { ClientFacts } from '../client-facts.ts';
import type { ChildExit } from '../exit.ts';
import { OpenTools } from '../open-tools.ts';
import type { Outbox } from '../outbox.ts';
import { foreignMessage } from '../text.ts';
import type { Verdict } from '../verdict.ts';
import type { AssistantBlock, ToolResult, TurnResult } from './records.ts';
import { Tally } from './tally.ts';
import { type Retry, retryReason, verdictAtExit, verdictOf } from './verdict.ts';

/** What Claude Code does in its turns: its answers, its tools, its model, what it uses, what goes wrong. */
export class Work {
  readonly #out: Outbox;
  readonly #tally = new Tally();
  readonly #tools = new OpenTools();
  #client = '{}';
  #model = '';
  /** What the client called the last error of a model. */
  #error: string | null = null;
  #retry: Retry | null = null;
  #stray: string | null = null;

  constructor(out: Outbox) {
    this.#out = out;
  }

  /** It says so at the beginning of each turn. */
  sawClient(client: ClientFacts): void {
    const said = JSON.stringify(client);
    if (said === this.#client) return;
    this.#client = said;
    this.#out.put({ t: 'client', client });
  }

  sawModel(model: string): void {
    if (model === '' || model === this.#model) return;
    this.#model = model;
    this.#out.put({ t: 'model', model });
  }

  /** Of an answer nobody reads, only what it used counts. */
  paid(block: AssistantBlock): void {
    this.#tally.block(block);
    this.#tellUsage();
  }

  assistant(block: AssistantBlock): void {
    this.#retry = null;
    if (block.error !== null) this.#error = block.error;
    if (block.text !== '' && block.error === null && !block.ofHelper) {
      this.#out.put({ t: 'message', role: 'assistant', text: block.text });
    }
    for (const { id, name, input } of block.tools) {
      this.#tools.begin(id, name);
      this.#out.put({ t: 'toolStart', id, name, input });
    }
    this.paid(block);
  }

  toolEnded({ id, ok, output, truncated }: ToolResult): void {
    this.#out.put({ t: 'toolEnd', id, name: this.#tools.end(id), ok, output, truncated });
  }

  retried(retry: Retry): void {
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

  unknown(name: string, error: string | null): void {
    this.#stray ??= error;
    this.#out.noteUnknown(name, error);
  }

  /** What a turn has used, told with its end. */
  turnPaid(result: TurnResult): void {
    this.#tally.result(result);
    this.#tellUsage();
  }

  /** The turn is over: what it came to. `begun`: it had begun. */
  turnEnded(result: TurnResult, begun: boolean): Verdict {
    if (result.denied.length > 0) this.#out.note('text', `it was not allowed to use ${result.denied.join(', ')}`);
    if (result.handedIn !== null) this.#out.put({ t: 'submitted', value: result.handedIn.value });
    const verdict = verdictOf(result, this.#error, begun, this.#out.told);
    this.#error = null;
    this.#retry = null;
    this.#tools.clear();
    return verdict;
  }

  /** It has exited within a turn. `silent`: nothing at all came. */
  brokenOff(exit: ChildExit, silent: boolean): Verdict {
    const child = { openTool: this.#tools.last, strayError: this.#stray ?? this.#error, silent };
    return verdictAtExit(exit, child, this.#retry, this.#out.told);
  }

  #tellUsage(): void {
    this.#out.put({ t: 'usage', usage: this.#tally.total() });
  }
}
