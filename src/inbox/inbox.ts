import { existsSync } from 'node:fs';
import type { InspectionEvent } from 'xstate';
import type {
  Answer,
  Command,
  CommandType,
  InboxEvent,
  InboxWarningCode,
  Instant,
  Progress,
  StepPlan,
} from '../../machines/protocol.ts';
import {
  type ControlPaths,
  type Receipt,
  type Trouble,
  type Written,
  syncFolder,
  writeDurable,
  writeFlushed,
  writeText,
} from '../record/index.ts';
import { decide } from './decide.ts';
import { type Before, type Decision, refusalOf } from './decision.ts';
import { makeFolder, remove } from './files.ts';
import { Intake, type Taken } from './intake.ts';
import { type InboxActor, type InboxEffects, createInboxActor } from './ports.ts';
import { keyOf, progressOf, readReceipt, receiptOf } from './receipt.ts';
import { ReceiptError, ReceiptQueue } from './receipt-queue.ts';
import { type StartWatch, isRemote, trySee, watchFolder } from './watch.ts';

export interface InboxWarning {
  code: InboxWarningCode;
  message: string;
}

/** What else is known of a command that comes from a file. */
export interface Origin {
  /** Name of the file. */
  file: string;
  sha256: string;
  /** Of a message or an answer. On record nowhere but in the file, which stays until the command is answered. */
  text: string | null;
}

export type ResolvedSteps = { type: 'ok'; steps: StepPlan[] } | { type: 'invalid'; detail: string };

export interface InboxOptions {
  dir: ControlPaths;
  /**
   * Takes a command; called once an id, in the order of the kinds within a batch, never within `openInbox`. May call
   * `answer` at once. Must not throw.
   */
  deliver: (command: Command, origin: Origin) => void;
  /** Checks and completes the steps of an `append`, when what came before it has been delivered. Default: they are refused. */
  resolve?: (steps: readonly unknown[], id: string) => ResolvedSteps;
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
  /** Whether it is looked at by the clock alone. @default on network disks, which tell nothing */
  poll?: boolean;
  /** Between two looks at the folder's own time when all is well. @default 1000 ms */
  safetyMs?: number;
  /** Between two looks when the folder cannot be watched or is away. @default 250 ms */
  pollMs?: number;
  /** How a receipt is put in its place. @default flushed to disk when it is final */
  write?: (path: string, receipt: Receipt) => Promise<Written>;
  /** Sees every event of the machine; must not throw. */
  inspect?: (event: InspectionEvent) => void;
}

export type Closed =
  /** `unwritten`: receipts that found no folder to go to. */
  { type: 'closed'; unwritten: number } | Trouble;

/**
 * The way in for commands from files. Guaranteed: a command is claimed by rename before it is read, delivered once an
 * id, and gets exactly one final receipt, also when it is malformed, repeated, changed or late; what was claimed and
 * not answered is taken up again by the next owner. Not guaranteed: order between commands beyond that of one batch.
 */
export interface Inbox {
  readonly mode: 'native' | 'polling';
  /** Writes the final receipt of a command, whichever way it came. A second answer changes nothing. */
  answer(answer: Answer): void;
  /** Writes what is known of a command on its way, until it has been answered. */
  progress(progress: Progress): void;
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
  return new FileInbox(options);
}

/** A command that was delivered and has no final answer yet. */
interface OpenCommand {
  type: CommandType;
  sha256: string;
  /** Claimed files to remove when the final receipt is on disk. */
  files: string[];
}

type Deliver = Extract<Decision, { type: 'deliver' }>;

class FileInbox implements Inbox {
  readonly #options: InboxOptions;
  readonly #dir: ControlPaths;
  readonly #intake: Intake;
  readonly #receipts: ReceiptQueue;
  readonly #actor: InboxActor;
  /** What was delivered and not answered. */
  readonly #open = new Map<string, OpenCommand>();
  /** What is to be removed when a final receipt is on disk, by the key of the receipt. */
  readonly #files = new Map<string, string[]>();
  /** Delivered in the batch that is being worked off. */
  #fresh: { id: string; type: CommandType; sha256: string }[] = [];

  constructor(options: InboxOptions) {
    this.#options = options;
    this.#dir = options.dir;
    this.#intake = new Intake(options.dir, decide);
    const { inspect } = options;
    this.#receipts = new ReceiptQueue({
      write: (receipt) => this.#writeReceipt(receipt),
      sync: () => syncFolder(this.#dir.receipts),
      written: (receipt) => this.#receiptWritten(receipt),
    });
    const poll = options.poll ?? isRemote(this.#dir.control);
    this.#actor = createInboxActor(this.#effects(), { input: { poll }, ...(inspect && { inspect }) });
    this.#actor.start();
  }

  get mode(): 'native' | 'polling' {
    return this.#actor.getSnapshot().context.poll ? 'polling' : 'native';
  }

  get #ending(): boolean {
    return this.#actor.getSnapshot().context.ending !== null;
  }

  #effects(): InboxEffects {
    const { watch: startWatch = watchFolder, safetyMs = 1000, pollMs = 250 } = this.#options;
    return {
      folder: this.#dir.control,
      startWatch,
      safetyMs,
      pollMs,
      look: (how) => this.#look(how),
      waiting: () => this.#intake.waiting,
      refuseOpen: () => this.#refuseOpen(),
      shut: (state) => this.#shut(state),
      onReceipts: (wake) => this.#receipts.onPut(wake),
      writeReceipts: () => this.#receipts.write(),
      unwritten: () => this.#receipts.open,
      folderIsThere: () => trySee(this.#dir.control) !== null,
      warn: ({ code, reason }) => this.#options.onWarning?.({ code, message: this.#warning(code, reason) }),
    };
  }

  #look(how: { untilMs: number; last: boolean }): ReturnType<InboxEffects['look']> {
    const progress = this.#intake.read({ ...how, before: (id) => this.#before(id) });
    for (const one of this.#intake.stops()) this.#act(one);
    if (progress === 'more') return { type: 'more' };
    const rest = this.#intake.rest();
    const found = rest.length > 0 || this.#fresh.length > 0;
    for (const one of rest) this.#act(one);
    this.#tellAccepted();
    return { type: 'whole', found, unfinished: this.#intake.unfinished };
  }

  /** Whatever has, or will have, its final receipt under this id. */
  #before(id: string): Before | null {
    const open = this.#open.get(id);
    if (open !== undefined) return open;
    const receipt = this.#receipts.get(id) ?? readReceipt(this.#dir, id);
    // One that was accepted and never answered: its owner has died, and this one goes on with it.
    return receipt?.final === true ? receipt : null;
  }

  #act(taken: Taken): void {
    const { decision } = taken;
    switch (decision.type) {
      case 'deliver':
        this.#deliver(taken, decision);
        return;
      case 'reject':
        this.#intake.note(taken, this.#now());
        this.#refuse(decision, filesOf(taken));
        return;
      case 'conflict':
        for (const path of filesOf(taken)) remove(path);
        // The same conflict again has its receipt already.
        if (readReceipt(this.#dir, keyOf({ ...decision, verdict: 'conflict' })) === null) this.#refuse(decision, []);
        return;
      case 'repeat':
        this.#repeat(decision.id, filesOf(taken));
        return;
    }
  }

  #deliver(taken: Taken, { id, command, text, sha256 }: Deliver): void {
    const open: OpenCommand = { type: command.type, sha256, files: filesOf(taken) };
    this.#open.set(id, open);
    const reject = (reason: 'run-ended' | 'invalid' | 'unsupported', detail: string): void =>
      this.#answerHere({
        id,
        command: command.type,
        verdict: 'rejected',
        reason,
        at: this.#now(),
        detail,
      });
    if (this.#ending) {
      reject('run-ended', 'the run takes no more commands: it has come to its end');
      return;
    }
    this.#fresh.push({ id, type: command.type, sha256 });
    const origin: Origin = { file: taken.name, sha256, text };
    if (command.type !== 'append') {
      this.#options.deliver(command, origin);
      return;
    }
    const resolved = this.#options.resolve?.(command.steps, id);
    if (resolved === undefined) reject('unsupported', 'steps cannot be appended here');
    else if (resolved.type === 'invalid') reject('invalid', resolved.detail);
    else this.#options.deliver({ ...command, steps: resolved.steps }, origin);
  }

  /** What was delivered in this batch and is not answered yet has been accepted. */
  #tellAccepted(): void {
    const at = this.#now();
    for (const { id, type, sha256 } of this.#fresh) {
      if (!this.#open.has(id)) continue;
      this.#put({ v: 1, id, type, verdict: 'accepted', at, final: false, sha256 });
    }
    this.#fresh = [];
  }

  /** The first under this id answers for both. */
  #repeat(id: string, files: string[]): void {
    const open = this.#open.get(id);
    if (open !== undefined) open.files.push(...files);
    else if (this.#receipts.get(id) !== null) this.#files.get(id)?.push(...files);
    else for (const path of files) remove(path);
  }

  #refuse(decision: Extract<Decision, { type: 'reject' | 'conflict' }>, files: string[]): void {
    const answer = refusalOf(decision, this.#now());
    if (decision.type === 'reject') this.#files.set(decision.id, files);
    this.#put(receiptOf(answer, decision.sha256));
    this.#options.onRefused?.(answer);
  }

  /** Answers a command that was delivered, or was about to be, without asking anybody. */
  #answerHere(answer: Answer): void {
    this.answer(answer);
    this.#options.onRefused?.(answer);
  }

  answer(answer: Answer): void {
    const { id } = answer;
    const open = this.#open.get(id);
    if (open === undefined && this.#before(id) !== null) return;
    this.#open.delete(id);
    // One that came through the library has no file and gets its receipt all the same.
    const receipt = receiptOf(answer, open?.sha256 ?? '');
    this.#files.set(keyOf(receipt), open?.files ?? []);
    this.#put(receipt);
  }

  progress(progress: Progress): void {
    const open = this.#open.get(progress.id);
    if (open === undefined && this.#before(progress.id) !== null) return;
    this.#put(progressOf(progress, open?.sha256 ?? ''));
  }

  #put(receipt: Receipt): void {
    this.#receipts.put(keyOf(receipt), receipt);
  }

  async #writeReceipt(receipt: Receipt): Promise<Written> {
    const { write = writeReceipt } = this.#options;
    const path = this.#dir.receipt(keyOf(receipt));
    const outcome = await write(path, receipt);
    if (outcome.type === 'ok' || outcome.code !== 'ENOENT') return outcome;
    // Somebody has put another control folder there.
    makeFolder(this.#dir.receipts);
    return write(path, receipt);
  }

  #receiptWritten(receipt: Receipt): void {
    if (!receipt.final) return;
    const key = keyOf(receipt);
    for (const path of this.#files.get(key) ?? []) remove(path);
    this.#files.delete(key);
  }

  #refuseOpen(): void {
    for (const [id, { type }] of this.#open) {
      const detail = 'the run ended before it was done';
      this.#answerHere({ id, command: type, verdict: 'rejected', reason: 'run-ended', at: this.#now(), detail });
    }
  }

  async #shut(state: string): Promise<undefined> {
    if (!existsSync(this.#dir.control) || existsSync(this.#dir.closed)) return;
    const outcome = await writeDurable(this.#dir.closed, { v: 1, state, at: this.#now() });
    if (outcome.type === 'trouble' && existsSync(this.#dir.control)) throw new ReceiptError(outcome);
  }

  close({ state }: { state: string }): Promise<Closed> {
    return new Promise((resolve) => {
      const look = (): boolean => {
        const snapshot = this.#actor.getSnapshot();
        const { unwritten, trouble } = snapshot.context;
        if (snapshot.status !== 'active') resolve({ type: 'closed', unwritten });
        else if (snapshot.matches({ closing: 'troubled' }) && trouble !== null)
          resolve({ type: 'trouble', ...trouble });
        else return false;
        return true;
      };
      this.#tell({ type: 'inbox.close', state });
      if (look()) return;
      const watched = this.#actor.subscribe({
        next: () => look() && watched.unsubscribe(),
        complete: () => void look(),
      });
    });
  }

  #tell(event: InboxEvent): void {
    if (this.#actor.getSnapshot().status === 'active') this.#actor.send(event);
  }

  async abandon(): Promise<void> {
    this.#tell({ type: 'inbox.abandon' });
    // What is being written still ends.
    await Promise.resolve();
  }

  #warning(code: InboxWarningCode, reason: string): string {
    const { control } = this.#dir;
    switch (code) {
      case 'polling':
        return `${control} cannot be watched (${reason}): looking every ${this.#options.pollMs ?? 250} ms instead`;
      case 'folder-missing':
        return `${control} is missing: no command can come in until it is back`;
      case 'receipt-unwritten':
        return `a receipt cannot be written: ${reason}`;
    }
  }

  #now(): Instant {
    return this.#options.now?.() ?? new Date().toISOString();
  }
}

/** What is not final says what the next one says better: it need not survive a power cut. */
function writeReceipt(path: string, receipt: Receipt): Promise<Written> {
  return receipt.final ? writeFlushed(path, receipt) : writeText(path, `${JSON.stringify(receipt, null, 2)}\n`);
}

function filesOf({ path }: Taken): string[] {
  return path === null ? [] : [path];
}
