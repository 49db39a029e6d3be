import type { AgentSettings, PermissionAnswer } from './adapter.ts';
import type { Outbox } from './outbox.ts';
import { bounded } from './text.ts';

/** Questions of one agent that wait at a time; one more is denied. */
const MOST_OPEN = 16;
const INPUT_CHARS = 2_000;

/** A tool that an agent asks about. */
export interface Wanted {
  /** Of the tool call. */
  id: string;
  tool: string;
  /** What else it goes by, such as its kind. */
  kind?: string;
  input: unknown;
}

/** What is answered when an agent asks whether it may use a tool: by its definition, or by somebody who is asked. */
export class Permissions {
  readonly #out: Outbox;
  readonly #said: NonNullable<AgentSettings['permissions']>;
  readonly #open = new Map<string, (answer: PermissionAnswer) => void>();
  #asks = 0;

  constructor(out: Outbox, said: AgentSettings['permissions'] = {}) {
    this.#out = out;
    this.#said = said;
  }

  /** `give` hands the answer to the agent: at once, or once somebody has answered. The name of the ask; null: none was made. */
  want(wanted: Wanted, give: (answer: PermissionAnswer) => void): string | null {
    const answer = this.#judge(wanted);
    if (answer !== 'ask' || this.#open.size >= MOST_OPEN) {
      give(answer === 'allow' ? { type: 'allow' } : { type: 'deny', why: null });
      return null;
    }
    this.#asks += 1;
    const ask = `permission-${this.#asks}`;
    this.#open.set(ask, give);
    this.#out.put({ t: 'asked', ask, text: question(wanted) });
    return ask;
  }

  answer(ask: string, answer: PermissionAnswer): void {
    const give = this.#open.get(ask);
    this.#open.delete(ask);
    give?.(answer);
  }

  /** The agent does not wait for this answer any more. */
  withdraw(ask: string): void {
    if (this.#open.delete(ask)) this.#out.put({ t: 'ask-gone', ask });
  }

  /** Nobody waits any more: the work is broken off, or over. */
  close(): void {
    for (const [ask, give] of this.#open) {
      this.#out.put({ t: 'ask-gone', ask });
      give({ type: 'cancelled' });
    }
    this.#open.clear();
  }

  /** By its name, its kind, all others; else no. */
  #judge({ tool, kind }: Wanted): 'allow' | 'deny' | 'ask' {
    const said = [tool, kind ?? '', '*'].map((key) => (Object.hasOwn(this.#said, key) ? this.#said[key] : undefined));
    return said.find((answer) => answer !== undefined) ?? 'deny';
  }
}

function question({ tool, input }: Wanted): string {
  const what = input === null || input === undefined ? '' : `: ${bounded(JSON.stringify(input), INPUT_CHARS)}`;
  return `May it use ${tool === '' ? 'a tool' : tool}${what}\nAnswer "allow"; every other answer is a no, and the reason for it.`;
}
