import { existsSync } from 'node:fs';
import type { Answer, Command, Instant } from '../../machines/protocol.ts';
import { type ControlPaths, type Receipt, type Trouble, type Written, writeDurable } from '../record/index.ts';
import { remove } from './files.ts';
import { Intake, type Taken, unfinishedMs } from './intake.ts';
import { keyOf, readReceipt, receiptOf } from './receipt.ts';
import { ReceiptWriter } from './receipt-writer.ts';
import { type StartWatch, watchFolder } from './watch.ts';
import { type InboxWarning, Watching } from './watching.ts';

export interface InboxOptions {
  dir: ControlPaths;
  /** Takes a command; called once an id, stops first, never within `openInbox`. May call `answer` at once. Must not throw. */
  deliver: (command: Command, meta: { file: string; sha256: string }) => void;
  /**
   * A command was answered here, without being delivered: for the journal. A `conflict` answers the repeat, and the
   * command that had the id before still gets its own verdict.
   */
  onRefused?: (answer: Answer) => void;
  onWarning?: (warning: InboxWarning) => void;
  /** @default the wall clock */
  now?: () => Instant;
  /** How the folder is watched. @default chokidar */
  watch?: StartWatch;
  /** @default 2000 ms */
  safetyMs?: number;
  /** @default 250 ms */
  pollMs?: number;
  /** How a receipt is put in its place. @default writeDurable */
  write?: (path: string, receipt: Receipt) => Promise<Written>;
}

export type Closed =
  /** `unwritten`: receipts that found no folder to go to. */
  { type: 'closed'; unwritten: number } | Trouble;

/**
 * The way in for commands from files. Guaranteed: a command is claimed by rename before it is read, delivered once an
 * id, and gets exactly one final receipt, also when it is malformed, repeated, changed or late; what was claimed and
 * not answered is taken up again by the next owner. Not guaranteed: order between commands beyond that of their file
 * names within one look.
 */
export interface Inbox {
  readonly mode: 'native' | 'polling';
  /** Writes the final receipt of a command, whichever way it came. A second answer changes nothing. */
  answer(answer: Answer): void;
  /**
   * Writes `closed.json`, stops watching, answers what waits or still lies there `rejected`, reason `run-ended`, and
   * waits for the receipts. After `trouble` it may be called again.
   */
  close(end: { state: string }): Promise<Closed>;
  /** Stops watching and leaves everything as it is: for an owner that is not the one to end the run. */
  abandon(): Promise<void>;
}

/** Opens the inbox of a run and begins to look into it, at what lies there already too. */
export function openInbox(options: InboxOptions): Inbox {
  const inbox = new FileInbox(options);
  inbox.begin();
  return inbox;
}

/** Answers what was dropped after a run's inbox was closed. For whoever reads a run that has ended. */
export async function answerLeftovers(dir: ControlPaths, end: { state: string }): Promise<Closed> {
  return new FileInbox({ dir, deliver: () => undefined }).close(end);
}

/** A command whose final receipt is not on disk yet. */
interface OpenCommand {
  type: string;
  /** Empty for one that came without a file. */
  sha256: string;
  answered: boolean;
  /** Claimed files to remove when the final receipt is on disk. */
  files: string[];
}

class FileInbox implements Inbox {
  readonly #options: InboxOptions;
  readonly #dir: ControlPaths;
  readonly #open = new Map<string, OpenCommand>();
  readonly #intake: Intake;
  readonly #receipts: ReceiptWriter;
  #watching: Watching | null = null;
  #ending = false;
  #warned = false;

  constructor(options: InboxOptions) {
    this.#options = options;
    this.#dir = options.dir;
    this.#intake = new Intake(options.dir);
    const { write = writeDurable } = options;
    this.#receipts = new ReceiptWriter({
      write: (receipt) => write(this.#dir.receipt(keyOf(receipt)), receipt),
      written: (receipt) => this.#receiptWritten(receipt),
      onTrouble: (trouble) => this.#receiptTrouble(trouble),
    });
  }

  get mode(): 'native' | 'polling' {
    return this.#watching?.mode ?? 'native';
  }

  begin(): void {
    const { watch = watchFolder, safetyMs, pollMs, onWarning } = this.#options;
    this.#watching = new Watching({
      folder: this.#dir.control,
      start: watch,
      look: () => this.#look(),
      onWarning: (warning) => onWarning?.(warning),
      ...(safetyMs === undefined ? {} : { safetyMs }),
      ...(pollMs === undefined ? {} : { pollMs }),
    });
  }

  #look(): void {
    const taken = this.#intake.take({ last: this.#ending });
    // Stops first, the only commands there are: what has to be written about the others can wait for them.
    for (const one of taken) if (one.decision.type === 'command') this.#command(one, one.decision);
    for (const one of taken) if (one.decision.type === 'reject') this.#reject(one, one.decision);
    if (this.#intake.unfinished > 0) this.#watching?.lookWithin(unfinishedMs);
    if (taken.length > 0) this.#watching?.hint();
  }

  #command(taken: Taken, { command, sha256 }: Taken['decision'] & { type: 'command' }): void {
    if (this.#seen(taken, command.id, command.type, sha256)) return;
    const open: OpenCommand = { type: command.type, sha256, answered: false, files: filesOf(taken) };
    this.#open.set(command.id, open);
    if (this.#ending) {
      this.#refuse(
        { id: command.id, command: open.type, verdict: 'rejected', reason: 'run-ended', at: this.#now() },
        open,
      );
      return;
    }
    this.#options.deliver(command, { file: taken.name, sha256 });
    if (open.answered) return;
    const at = this.#now();
    this.#put({ v: 1, id: command.id, type: command.type, verdict: 'accepted', at, final: false, sha256 });
  }

  #reject(taken: Taken, { id, command, reason, detail, sha256 }: Taken['decision'] & { type: 'reject' }): void {
    if (this.#seen(taken, id, command, sha256)) return;
    const at = this.#now();
    this.#intake.note(taken, at);
    const open: OpenCommand = { type: command, sha256, answered: false, files: filesOf(taken) };
    this.#open.set(id, open);
    this.#refuse({ id, command, verdict: 'rejected', reason, at, detail }, open);
  }

  /** Answers a command here. */
  #refuse(answer: Answer, open: OpenCommand): void {
    open.answered = true;
    this.#put(receiptOf(answer, open.sha256));
    this.#options.onRefused?.(answer);
  }

  /** True when this id was there before: the first keeps its receipt, and one that says something else is a conflict. */
  #seen(taken: Taken, id: string, command: string, sha256: string): boolean {
    const open = this.#open.get(id);
    const receipt = open === undefined ? readReceipt(this.#dir, id) : null;
    // One that was accepted and never answered: its owner has died, and this one goes on with it.
    if (open === undefined && receipt?.final !== true) return false;
    const before = open?.sha256 ?? receipt?.sha256;
    const repeated = before === undefined || before === sha256;
    if (repeated && open !== undefined) open.files.push(...filesOf(taken));
    else for (const path of filesOf(taken)) remove(path);
    if (repeated) return true;
    const detail = 'this id was used before, for something else';
    const answer: Answer = { id, command, verdict: 'conflict', reason: 'id-reused', at: this.#now(), detail };
    this.#put(receiptOf(answer, sha256));
    this.#options.onRefused?.(answer);
    return true;
  }

  answer(answer: Answer): void {
    const open = this.#open.get(answer.id);
    if (open?.answered === true) return;
    if (open === undefined && readReceipt(this.#dir, answer.id)?.final === true) return;
    // One that came through the library has no file and gets its receipt all the same.
    const known = open ?? { type: answer.command, sha256: '', answered: false, files: [] };
    known.answered = true;
    this.#open.set(answer.id, known);
    this.#put(receiptOf(answer, known.sha256));
  }

  #put(receipt: Receipt): void {
    this.#receipts.put(keyOf(receipt), receipt);
  }

  #receiptWritten(receipt: Receipt): void {
    this.#warned = false;
    if (!receipt.final || receipt.verdict === 'conflict') return;
    for (const path of this.#open.get(receipt.id)?.files ?? []) remove(path);
    this.#open.delete(receipt.id);
  }

  #receiptTrouble({ message }: Trouble): void {
    if (this.#warned) return;
    this.#warned = true;
    this.#options.onWarning?.({ code: 'receipt-unwritten', message: `a receipt cannot be written: ${message}` });
  }

  async close({ state }: { state: string }): Promise<Closed> {
    this.#ending = true;
    if (existsSync(this.#dir.control) && !existsSync(this.#dir.closed)) {
      const outcome = await writeDurable(this.#dir.closed, { v: 1, state, at: this.#now() });
      if (outcome.type === 'trouble' && existsSync(this.#dir.control)) return outcome;
    }
    await this.#watching?.close();
    this.#drain();
    for (const [id, open] of this.#open) {
      if (open.answered) continue;
      this.#refuse({ id, command: open.type, verdict: 'rejected', reason: 'run-ended', at: this.#now() }, open);
    }
    const outcome = await this.#receipts.flush();
    if (outcome.type === 'trouble' && existsSync(this.#dir.control)) return outcome;
    this.#receipts.close();
    return { type: 'closed', unwritten: this.#receipts.open };
  }

  /** Takes all that lies there. A sender that comes now sees `closed.json` and takes its file back, so this ends. */
  #drain(): void {
    for (let before = Infinity, left = 0; ; before = left) {
      this.#look();
      left = this.#intake.waiting().length;
      // What cannot be taken stays.
      if (left === 0 || left >= before) return;
    }
  }

  async abandon(): Promise<void> {
    await this.#watching?.close();
    this.#receipts.close();
  }

  #now(): Instant {
    return this.#options.now?.() ?? new Date().toISOString();
  }
}

function filesOf({ path }: Taken): string[] {
  return path === null ? [] : [path];
}
