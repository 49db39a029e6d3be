import { OpenTools } from '../open-tools.ts';
import type { Outbox } from '../outbox.ts';
import { foreignMessage } from '../text.ts';
import type { UnendedChild } from '../verdict.ts';
import type { AssistantMessage, PiRecord } from './records.ts';
import { createTally } from './tally.ts';
import { VALUE_TOOL, valueIn } from './value-tool.ts';

type Of<T extends PiRecord['type']> = Extract<PiRecord, { type: T }>;

/** What pi does with its task: its answers, its tools, its model, what it uses. */
export class Work {
  readonly #out: Outbox;
  readonly #tally = createTally();
  readonly #tools = new OpenTools();
  /** Of calls of the tool that takes the value: what the model has put into them. */
  readonly #meant = new Map<string, unknown>();
  #model: string | null = null;
  #strayError: string | null = null;

  constructor(out: Outbox) {
    this.#out = out;
  }

  assistant(message: AssistantMessage): void {
    this.#tally.message(message);
    this.sawModel(message.model);
    if (message.text !== '') this.#out.put({ t: 'message', role: 'assistant', text: message.text });
    this.#tellUsage();
  }

  sawModel(model: string | null): void {
    if (model === null || model === this.#model) return;
    this.#model = model;
    this.#out.put({ t: 'model', model });
  }

  toolStarted({ id, name, input }: Of<'tool-started'>): void {
    this.#tools.begin(id, name);
    if (name === VALUE_TOOL) this.#meant.set(id, input);
    this.#tally.tool();
    this.#out.put({ t: 'toolStart', id, name, input });
    this.#tellUsage();
  }

  toolEnded({ id, name, ok, output, truncated, details }: Of<'tool-ended'>): void {
    this.#tools.end(id);
    this.#out.put({ t: 'toolEnd', id, name, ok, output, truncated });
    const handedIn = valueIn(name, ok ? details : (this.#meant.get(id) ?? null));
    this.#meant.delete(id);
    if (handedIn !== null) this.#out.put({ t: 'submitted', value: handedIn.value });
  }

  retry({ attempt, max, delayMs, reason }: Of<'retry-started'>): void {
    this.#out.put({
      t: 'retry',
      attempt,
      ...(max === null ? {} : { max }),
      ...(delayMs === null ? {} : { delayMs }),
      reason: foreignMessage(reason, this.#out.told),
    });
  }

  unknown({ name, error }: Of<'unknown'>): void {
    this.#strayError ??= error;
    this.#out.noteUnknown(name, error);
  }

  /** What is known of it when it has exited and not said that it was done. */
  get unended(): Omit<UnendedChild, 'silent'> {
    return { openTool: this.#tools.last, strayError: this.#strayError };
  }

  #tellUsage(): void {
    this.#out.put({ t: 'usage', usage: this.#tally.total() });
  }
}
