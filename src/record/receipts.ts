import type { Instant, RejectReason, Target, UndeliveredReason, Verdicts } from '../../machines/protocol.ts';

/** Verdicts a receipt can carry: the final ones, and what it says before that. */
export type ReceiptVerdict = 'accepted' | 'queued' | Verdicts;

/** `control/receipts/<id>.json` (v1): the answer to a command. One with `final: true` never changes again. */
export interface Receipt {
  v: 1;
  id: string;
  /** The command's type; `unknown` where it could not be read. */
  type: string;
  verdict: ReceiptVerdict;
  reason?: RejectReason | UndeliveredReason;
  at: Instant;
  final: boolean;
  /** What became of a steering request at each step, where there was more than one. */
  targets?: Target[];
  /** Undelivered, but some of the steps took it. */
  partial?: boolean;
  /** Text for people. Never the command's own text. */
  detail?: string;
  /** First 12 hex digits of the hash of what was answered; tells a repeat from a change under the same id. */
  sha256?: string;
}

interface CommandBase {
  v: 1;
  /** Given by the file's name where it is missing. */
  id?: string;
  /** Who sends it, for people. */
  source?: string;
}

/** What may lie in `control/`. */
export type CommandFile =
  | (CommandBase & { type: 'stop'; step?: string; reason?: string })
  | (CommandBase & { type: 'interrupt'; step?: string; reason?: string })
  | (CommandBase & { type: 'resume'; step?: string })
  | (CommandBase & { type: 'steer'; step?: string; text: string; mode?: 'now' | 'next' | 'auto'; expires?: string })
  | (CommandBase & { type: 'append'; steps: unknown[] })
  | (CommandBase & { type: 'extend'; step?: string; deadline: string })
  | (CommandBase & { type: 'answer'; ask: string; text: string });

/** `control/closed.json` (v1): commands are no longer taken. */
export interface ClosedInbox {
  v: 1;
  /** The state the run ends in. */
  state: string;
  at: Instant;
}
