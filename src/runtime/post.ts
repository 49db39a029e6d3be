import type { AttemptInput, ChildEvent, SteerMode, UndeliveredReason } from '../../machines/protocol.ts';
import { later } from '../../machines/policy/time.ts';
import type { AgentEvent, AgentSession, Capabilities, Reply } from '../agents/index.ts';
import { type Mailbox, type MailboxPaths, createMailbox, mailboxPaths, openMailbox } from '../mailbox/index.ts';
import { askId, askName } from '../ids.ts';
import { digest } from '../record/index.ts';
import { AskedByProtocol, permissionIn } from './asked.ts';
import type { Kit } from './kit.ts';

export interface PostOptions {
  kit: Kit;
  input: Pick<AttemptInput, 'step' | 'n'>;
  /** Of the attempt. */
  attemptDir: string;
  mailbox: MailboxPaths | null;
  /** What the adapter can do about it. */
  listens: Capabilities['mailbox'];
  tell: (event: ChildEvent) => void;
  /** Sends what the session wants sent, and hears what it says. */
  act: (reply: Reply) => void;
  /** Something is not as it should be; quotes no text. */
  note: (text: string) => void;
}

/**
 * The folders by which this child can be spoken to; null where it would have no use for them, or they cannot be made:
 * then it cannot be steered, and works all the same.
 */
export function makeMailbox(attemptDir: string, listens: Capabilities['mailbox']): MailboxPaths | null {
  if (listens === 'none') return null;
  const paths = mailboxPaths(attemptDir);
  return createMailbox(paths, listens).type === 'ok' ? paths : null;
}

/** Messages for one child and its questions, by its protocol or its mailbox. */
export class Post {
  readonly #options: PostOptions;
  readonly #session: AgentSession;
  readonly #mailbox: Mailbox | null;
  readonly #asked: AskedByProtocol;
  /** Messages that came before the agent had its task; null: it has. */
  #early: { id: string; mode: SteerMode }[] | null = [];

  constructor(session: AgentSession, options: PostOptions) {
    this.#options = options;
    this.#session = session;
    const { mailbox, listens } = options;
    this.#asked = new AskedByProtocol(options.attemptDir);
    this.#mailbox = mailbox === null || listens === 'none' ? null : this.#open(mailbox, listens);
  }

  /** The agent has its task. */
  begin(): void {
    const early = this.#early ?? [];
    this.#early = null;
    for (const { id, mode } of early) this.steer(id, mode);
  }

  steer(id: string, mode: SteerMode): void {
    if (this.#early !== null) {
      this.#early.push({ id, mode });
      return;
    }
    const { kit, act } = this.#options;
    const text = kit.texts.get(id);
    if (text === undefined) {
      this.#undelivered(id, 'failed');
      return;
    }
    const { verdict, ...reply } = this.#session.steer({ id, text, mode });
    act(reply);
    switch (verdict) {
      case 'sent':
        return;
      case 'too-late':
        this.#undelivered(id, 'step-ended');
        return;
      case 'unsupported':
        this.#undelivered(id, 'unsupported');
        return;
      case 'mailbox': {
        const result = this.#mailbox?.steer({ id, text, mode }) ?? 'unsupported';
        if (result !== 'sent') this.#undelivered(id, result);
      }
    }
  }

  /** The agent asks by its protocol, or does not wait any more. */
  hear(event: AgentEvent): void {
    const { kit, input, tell } = this.#options;
    if (event.t === 'asked') {
      this.#asked.add(event.ask, event.text);
      const ask = askId(input.step, input.n, event.ask);
      tell({ type: 'child.asked', at: kit.now(), ask, text: digest(event.text), expiresAt: null });
    } else if (event.t === 'ask-gone' && this.#asked.has(event.ask)) {
      this.#gone(event.ask);
    }
  }

  /** `command`: the one whose text is the answer; null: there will be none. */
  answer(ask: string, command: string | null): void {
    const { kit, input, note, act } = this.#options;
    const name = askName({ id: ask, step: input.step, attempt: input.n });
    const text = command === null ? undefined : kit.texts.get(command);
    if (this.#asked.has(name)) {
      this.#asked.remove(name);
      const reply = this.#session.answer?.(name, permissionIn(text));
      if (reply !== undefined) act(reply);
      return;
    }
    const result = this.#mailbox?.answer(name, text === undefined ? { declined: 'declined' } : { text });
    if (result === 'failed') note('an answer could not be given to the child');
  }

  /** What the child has said before its end must not be heard after it. */
  look(): void {
    this.#mailbox?.look();
  }

  /** What has been said last is heard; the texts are gone then. */
  close(): void {
    for (const ask of this.#asked.names) this.#gone(ask);
    this.#mailbox?.close();
  }

  #open(paths: MailboxPaths, listens: 'expected' | 'declared'): Mailbox {
    const { kit, input, tell, note } = this.#options;
    return openMailbox(paths, {
      listens,
      onAck: kit.guard((ack) => tell({ type: 'child.steer', at: kit.now(), ...ack })),
      onAsk: kit.guard(({ id, text, expiresMs }) => {
        const at = kit.now();
        const expiresAt = expiresMs === null ? null : later(at, expiresMs);
        tell({ type: 'child.asked', at, ask: askId(input.step, input.n, id), text: digest(text), expiresAt });
      }),
      onAskGone: kit.guard((id) =>
        tell({ type: 'child.ask-gone', at: kit.now(), ask: askId(input.step, input.n, id) }),
      ),
      onReview: kit.guard(({ seq, active }) => tell({ type: 'child.review', at: kit.now(), seq, active })),
      onCapability: kit.guard(() => {
        tell({ type: 'child.listens', at: kit.now() });
        kit.touch();
      }),
      onProblem: kit.guard(({ code, message }) => note(`mailbox: ${code}: ${message}`)),
    });
  }

  #gone(ask: string): void {
    const { kit, input, tell } = this.#options;
    this.#asked.remove(ask);
    tell({ type: 'child.ask-gone', at: kit.now(), ask: askId(input.step, input.n, ask) });
  }

  #undelivered(id: string, reason: UndeliveredReason): void {
    const { kit, tell } = this.#options;
    tell({ type: 'child.steer', at: kit.now(), id, state: 'undelivered', reason });
  }
}
