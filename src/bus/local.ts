import type { Answer, JournalBody, JournalRecord, Status } from '../../machines/protocol.ts';
import type { Appended, Bus, CommandEnvelope, Delivery, Recorded, Synced, TailOptions } from './bus.ts';
import { CommandQueue, mostIds } from './commands.ts';
import { RecentIds } from './recent-ids.ts';
import { Signal } from './signal.ts';
import { StatusWatch } from './status-watch.ts';
import { type EventLog, tail } from './tail.ts';

export interface LocalRun {
  /** The run's journal: it is the event log. */
  journal: EventLog;
  /** The projector's status of this moment. */
  currentStatus: () => Status | null;
}

export interface Attachment {
  /** The run has ended: commands are refused, tails and watches end when they have yielded everything. The log can still be read. */
  end(): void;
  /** Forgets the run. Ends it first. */
  detach(): void;
}

/** A bus within one process. Stores nothing of its own but commands on their way: log and status are the run's. */
export interface LocalBus extends Bus {
  /** Makes a run known. A run that is known already cannot be attached again before it is detached: that is a bug and throws. */
  attach(run: string, parts: LocalRun): Attachment;
}

export function createLocalBus(): LocalBus {
  return new InProcessBus();
}

class Attached {
  readonly parts: LocalRun;
  readonly commands = new CommandQueue();
  readonly changed = new Signal();
  readonly statuses = new StatusWatch();
  readonly answered = new RecentIds<true>(mostIds);
  readonly #stop: () => void;
  ended = false;

  constructor(parts: LocalRun) {
    this.parts = parts;
    // Whoever appends, and whether through the bus or not: readers hear of it.
    this.#stop = parts.journal.onAppend((record) => {
      if (record.type === 'command.answered' && record.verdict !== 'conflict') this.answered.add(record.id, true);
      this.changed.wake();
    });
  }

  end(): void {
    if (this.ended) return;
    this.ended = true;
    this.#stop();
    this.statuses.end();
    this.changed.wake();
  }
}

class InProcessBus implements LocalBus {
  readonly #runs = new Map<string, Attached>();

  attach(run: string, parts: LocalRun): Attachment {
    if (this.#runs.has(run)) throw new Error(`run ${run} is attached already`);
    const attached = new Attached(parts);
    this.#runs.set(run, attached);
    return {
      end: () => attached.end(),
      detach: () => {
        attached.end();
        if (this.#runs.get(run) === attached) this.#runs.delete(run);
      },
    };
  }

  // Async, so that a handler that throws is a rejection here as it would be elsewhere.
  async send(envelope: CommandEnvelope): Promise<Delivery> {
    const attached = this.#runs.get(envelope.run);
    if (attached === undefined) return { type: 'refused', id: envelope.id, reason: 'no-run' };
    if (attached.ended) return { type: 'refused', id: envelope.id, reason: 'run-ended' };
    return attached.commands.accept(envelope);
  }

  consume(run: string, handler: (envelope: CommandEnvelope) => void): () => void {
    return this.#runs.get(run)?.commands.consume(handler) ?? (() => undefined);
  }

  append(run: string, expectedSeq: number, body: JournalBody): Appended {
    const attached = this.#runs.get(run);
    if (attached === undefined) return { type: 'no-run' };
    const { journal } = attached.parts;
    if (journal.seq !== expectedSeq) return { type: 'conflict', seq: journal.seq };
    return { type: 'appended', record: journal.append(body) };
  }

  async sync(run: string): Promise<Synced> {
    return (await this.#runs.get(run)?.parts.journal.sync()) ?? { type: 'no-run' };
  }

  events(run: string, options: TailOptions = {}): AsyncIterable<JournalRecord> {
    const attached = this.#runs.get(run);
    if (attached === undefined) return nothing();
    const { changed, parts } = attached;
    return tail({ log: parts.journal, changed, ended: () => attached.ended }, options);
  }

  answer(run: string, answer: Answer): Recorded {
    const attached = this.#runs.get(run);
    if (attached === undefined) return { type: 'no-run' };
    // A conflict answers a repeat; the command whose id it took has a verdict of its own.
    if (answer.verdict !== 'conflict' && attached.answered.get(answer.id) === true) return { type: 'already' };
    const { at, id, command, verdict, reason } = answer;
    const body: JournalBody = { type: 'command.answered', at, id, command, verdict, ...(reason && { reason }) };
    return { type: 'recorded', record: attached.parts.journal.append(body) };
  }

  async *answers(run: string, options: TailOptions = {}): AsyncGenerator<Answer> {
    for await (const record of this.events(run, options)) {
      if (record.type !== 'command.answered') continue;
      const { id, command, verdict, reason, ts } = record;
      yield { id, command, verdict, ...(reason && { reason }), at: ts };
    }
  }

  putStatus(run: string, status: Status): void {
    this.#runs.get(run)?.statuses.put(status);
  }

  status(run: string): Status | null {
    return this.#runs.get(run)?.parts.currentStatus() ?? null;
  }

  watchStatus(run: string, { signal }: { signal?: AbortSignal } = {}): AsyncIterable<Status> {
    const attached = this.#runs.get(run);
    if (attached === undefined) return nothing();
    return attached.statuses.watch(attached.parts.currentStatus, signal);
  }
}

async function* nothing(): AsyncGenerator<never> {
  // No such run: nothing to say.
}
