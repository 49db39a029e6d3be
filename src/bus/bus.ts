import type { Answer, Command, Instant, JournalBody, JournalRecord, Status } from '../../machines/protocol.ts';

/** What every message on the bus is wrapped in. */
export interface Envelope<T extends string = string, B = unknown> {
  v: 1;
  /** ulid; a message with the same id is the same message. */
  id: string;
  run: string;
  type: T;
  at: Instant;
  /** Id of the message this one answers or follows from. */
  cause?: string;
  body: B;
}

export type CommandEnvelope = Envelope<'command', Command>;

export type Delivery =
  /** The run's consumer has it, or will have it in this order as soon as there is one. Not: that it was acted on. */
  | { type: 'accepted'; id: string }
  /** It was accepted before; nothing has happened now. */
  | { type: 'duplicate'; id: string }
  /** Another command was accepted under this id before. */
  | { type: 'conflict'; id: string }
  | { type: 'refused'; id: string; reason: 'no-run' | 'run-ended' | 'queue-full' };

export type Appended =
  | { type: 'appended'; record: JournalRecord }
  /** The log has gone on without the caller: its last number is `seq`. Whoever sees this is no longer the owner. */
  | { type: 'conflict'; seq: number }
  | { type: 'no-run' };

export type Synced = { type: 'ok' } | { type: 'no-run' } | { type: 'trouble'; code: string; message: string };

export type Recorded =
  | { type: 'recorded'; record: JournalRecord }
  /** The command has its verdict; it is final and this one changes nothing. */
  | { type: 'already' }
  | { type: 'no-run' };

export interface TailOptions {
  /** Number of the first record wanted. @default 1 */
  from?: number;
  signal?: AbortSignal;
}

/**
 * How the parts of a run meet, on one machine or, with another implementation, on many.
 *
 * Guaranteed by every implementation: commands of one run reach one consumer, in the order in which they were
 * accepted, each id once (over the last 10,000); records have the numbers their appender expected, without a gap;
 * a tail yields each record once and in order; a status watch yields the newest, not every one. Runs do not mix.
 * Not guaranteed: any order between runs, or between a run's commands and its records.
 *
 * Appending is synchronous everywhere: a run has one owner, which numbers its records itself. Where the log is
 * elsewhere, that somebody else owns the run by now shows in `sync`.
 */
export interface Bus {
  send(envelope: CommandEnvelope): Promise<Delivery>;
  /** Takes a run's commands from now on; those accepted before come first. Returns the way to stop. The handler must not throw. */
  consume(run: string, handler: (envelope: CommandEnvelope) => void): () => void;

  /** Appends a record if the last one has the number `expectedSeq`. */
  append(run: string, expectedSeq: number, body: JournalBody): Appended;
  /** Settles when what was appended is durable. */
  sync(run: string): Promise<Synced>;
  /**
   * Records from a number on, then those to come. Ends after the last record when the run has ended, when `signal`
   * is aborted, and at once when there is no such run. Nothing is kept for a reader that is slow: it is served from
   * the log when it comes back.
   */
  events(run: string, options?: TailOptions): AsyncIterable<JournalRecord>;

  /**
   * Records the final verdict on a command, once. A `conflict` is the verdict on a repeat with other content: it does
   * not count as that of the command which had the id first.
   */
  answer(run: string, answer: Answer): Recorded;
  /** Final verdicts, from the log: as `events`. Text for people (`detail`) is not in the log. */
  answers(run: string, options?: TailOptions): AsyncIterable<Answer>;

  putStatus(run: string, status: Status): void;
  status(run: string): Status | null;
  /** The status now, then the newest each time the reader comes back for more. Ends as `events` does. */
  watchStatus(run: string, options?: { signal?: AbortSignal }): AsyncIterable<Status>;
}
