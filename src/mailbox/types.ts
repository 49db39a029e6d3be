import type { SteerMode } from '../../machines/protocol.ts';
import type { Answer } from './asks.ts';
import type { MailboxProblem } from './problem.ts';
import type { Ack, Capability, Review } from './schemas.ts';
import type { WatchOptions } from './watch.ts';

export interface MailboxOptions extends Pick<WatchOptions, 'start' | 'safetyMs' | 'pollMs'> {
  /**
   * `expected`: this child will listen, though it may still be starting: messages wait for it.
   * `declared`: it listens when its capability file is there, else it cannot be steered.
   */
  listens: 'expected' | 'declared';
  /** A message has got on. The final one for each message comes once, at `close` at the latest. */
  onAck: (ack: Ack) => void;
  onAsk: (ask: { id: string; text: string; expiresMs: number | null }) => void;
  /** The child has withdrawn it, or has ended. */
  onAskGone: (id: string) => void;
  /** The child reviews in the background what was done, or does not any more. */
  onReview?: (review: Review) => void;
  onCapability: (capability: Capability) => void;
  onProblem: (problem: MailboxProblem) => void;
}

/** `sent`: it lies there for the child, and `onAck` will tell. Everything else is the last that is heard of it. */
export type SteerResult = 'sent' | 'unsupported' | 'failed';

/** The mailbox of one child, from before its launch until it has ended. Calls nothing back before `openMailbox` is over. */
export interface Mailbox {
  steer(message: { id: string; mode: SteerMode; text: string }): SteerResult;
  /** `gone`: nobody waits for it any more. */
  answer(ask: string, answer: Answer): 'answered' | 'gone' | 'failed';
  /** Reads what is there now, without waiting for a hint of it. */
  look(): void;
  /** Reads what the child has written last, ends what is open, and removes every file. */
  close(): void;
}
