import { join } from 'node:path';
import type { SteerMode } from '../../machines/protocol.ts';
import { safeId } from '../ids.ts';
import { type Answer, Asks } from './asks.ts';
import { dormant } from './dormant.ts';
import { type Folder, empty, folderAt, readSmall, remove, signatureOf, writeInto } from './files.ts';
import { type MailboxFolders, type MailboxPaths, foldersOf } from './paths.ts';
import type { MailboxProblem } from './problem.ts';
import {
  type Ack,
  type Capability,
  MAX_ACK_BYTES,
  type SteerRequest,
  ackSchema,
  capabilitySchema,
  reviewSchema,
} from './schemas.ts';
import type { Mailbox, MailboxOptions, SteerResult } from './types.ts';
import { FolderWatch } from './watch.ts';

export function openMailbox(paths: MailboxPaths, options: MailboxOptions): Mailbox {
  const open = (): Mailbox => new FolderMailbox(paths, options);
  return options.listens === 'expected' ? open() : dormant(paths, open, options);
}

const RANK = { sent: 0, queued: 1, taken: 2, delivered: 3, undelivered: 3 } as const;

interface Sent {
  id: string;
  /** Of the request, and of its acknowledgement. */
  file: string;
  /**
   * What was read last of a file that is replaced as it moves, so that nothing is told twice. At the close it says which
   * last word is told for the child, since whether that ever listened is known by its files alone; what becomes of the
   * request, the steering machine decides.
   */
  state: 'sent' | 'queued' | 'taken';
  /** The acknowledgement that was read last. */
  signature: string | null;
}

class FolderMailbox implements Mailbox {
  readonly #options: MailboxOptions;
  readonly #at: MailboxFolders;
  readonly #steer: Folder;
  readonly #requests: Folder;
  readonly #acks: Folder;
  readonly #ask: Folder;
  readonly #asks: Asks;
  readonly #watch: FolderWatch;
  readonly #sent = new Map<string, Sent>();
  #count = 0;
  #capability: Capability | null = null;
  #capabilityRead: string | null = null;
  #reviewRead: string | null = null;
  /** What has been complained of. */
  #told = new Set<string>();
  #closed = false;

  constructor(paths: MailboxPaths, options: MailboxOptions) {
    this.#options = options;
    this.#at = foldersOf(paths);
    this.#steer = folderAt(paths.steer);
    this.#requests = folderAt(this.#at.requests, this.#steer);
    this.#acks = folderAt(this.#at.acks, this.#steer);
    this.#ask = folderAt(paths.ask);
    this.#asks = new Asks({
      paths: { ask: paths.ask, requests: this.#at.asks, answers: this.#at.answers },
      onAsk: options.onAsk,
      onAskGone: options.onAskGone,
      problem: (code, message) => this.#problem(code, message),
      follow: (folder) => this.#watch.follow(folder),
    });
    this.#watch = new FolderWatch({
      ...options,
      folders: [paths.steer, paths.ask],
      look: () => this.#look(),
      failed: (reason) => this.#problem('polling', `the mailbox cannot be watched: ${reason}`),
    });
  }

  steer({ id, mode, text }: { id: string; mode: SteerMode; text: string }): SteerResult {
    if (this.#closed) return 'failed';
    if (this.#sent.has(id)) return 'sent';
    this.#readCapability();
    if (!this.#takes(mode)) return 'unsupported';
    const request: SteerRequest = { v: 1, id, mode, text };
    this.#count += 1;
    const file = fileOf(this.#count, id);
    const written = writeInto(this.#requests, file, request);
    if (written.type === 'trouble') {
      this.#problem('unwritable', `a message could not be given to the child (${written.code})`);
      return 'failed';
    }
    this.#sent.set(id, { id, file, state: 'sent', signature: null });
    return 'sent';
  }

  answer(ask: string, answer: Answer): 'answered' | 'gone' | 'failed' {
    return this.#closed ? 'gone' : this.#asks.answer(ask, answer);
  }

  look(): void {
    this.#look();
  }

  close(): void {
    if (this.#closed) return;
    this.#look();
    this.#closed = true;
    this.#watch.close();
    for (const sent of this.#sent.values())
      this.#end(sent, { id: sent.id, state: 'undelivered', reason: this.#missed(sent) });
    this.#asks.close();
    for (const folder of [this.#requests, this.#acks]) empty(folder);
    empty(this.#steer, ['requests', 'acks']);
  }

  #look(): void {
    if (this.#closed) return;
    this.#readCapability();
    this.#readAcks();
    this.#readReview();
    this.#asks.look();
  }

  /* ---------------------------------------------------------------- steering */

  #takes(mode: SteerMode): boolean {
    const capability = this.#capability;
    if (capability === null) return this.#options.listens === 'expected';
    return mode === 'auto' || capability.modes.includes(mode);
  }

  #readCapability(): void {
    if (this.#capability !== null || this.#steer.state() !== 'here') return;
    const signature = signatureOf(this.#at.capability);
    if (signature === null || signature === this.#capabilityRead) return;
    this.#capabilityRead = signature;
    const read = readSmall(this.#at.capability, capabilitySchema, MAX_ACK_BYTES);
    if (read.type === 'bad') this.#problem('bad-file', `capability.json: ${read.reason}`);
    if (read.type !== 'ok') return;
    this.#capability = read.value;
    this.#options.onCapability(read.value);
  }

  #readReview(): void {
    if (this.#ask.state() !== 'here') return;
    const signature = signatureOf(this.#at.review);
    if (signature === null || signature === this.#reviewRead) return;
    this.#reviewRead = signature;
    const read = readSmall(this.#at.review, reviewSchema, MAX_ACK_BYTES);
    if (read.type === 'bad') this.#problem('bad-file', `review.json: ${read.reason}`);
    if (read.type === 'ok') this.#options.onReview?.({ seq: read.value.seq, active: read.value.active });
  }

  #readAcks(): void {
    const state = this.#acks.state();
    if (state === 'replaced') this.#problem('folder-replaced', `${this.#at.acks} is not the folder it was`);
    if (state !== 'here') return;
    this.#watch.follow(this.#at.acks);
    // Only of what is open: how many other files a child puts there costs us nothing.
    for (const sent of this.#sent.values()) this.#readAck(sent);
  }

  #readAck(sent: Sent): void {
    const path = join(this.#at.acks, sent.file);
    const signature = signatureOf(path);
    if (signature === null || signature === sent.signature) return;
    sent.signature = signature;
    const read = readSmall(path, ackSchema, MAX_ACK_BYTES);
    if (read.type === 'missing') return;
    if (read.type === 'bad') {
      this.#problem('bad-file', `an acknowledgement: ${read.reason}`);
      return;
    }
    const { v: _v, ...ack } = read.value;
    if (ack.id !== sent.id) this.#problem('bad-file', 'an acknowledgement carries another id than its file');
    else if (RANK[ack.state] > RANK[sent.state]) this.#advance(sent, ack);
  }

  #advance(sent: Sent, ack: Ack): void {
    switch (ack.state) {
      case 'queued':
      case 'taken':
        sent.state = ack.state;
        this.#options.onAck(ack);
        return;
      case 'delivered':
      case 'undelivered':
        this.#end(sent, ack);
    }
  }

  #end({ id, file }: Sent, ack: Ack): void {
    this.#sent.delete(id);
    // The text stays nowhere longer than it is needed.
    if (this.#requests.state() === 'here') remove(join(this.#at.requests, file));
    if (this.#acks.state() === 'here') remove(join(this.#at.acks, file));
    this.#options.onAck(ack);
  }

  /** The child has ended, and this is how far the message had got. */
  #missed({ state }: Sent): 'unconfirmed' | 'step-ended' | 'aborted' {
    switch (state) {
      case 'taken':
        return 'aborted';
      case 'queued':
        return 'step-ended';
      case 'sent':
        // A child that listened may have read it and said nothing.
        return this.#capability === null ? 'step-ended' : 'unconfirmed';
    }
  }

  #problem(code: MailboxProblem['code'], message: string): void {
    const key = `${code} ${message}`;
    if (this.#told.has(key) || this.#told.size >= MAX_PROBLEMS) return;
    this.#told.add(key);
    this.#options.onProblem({ code, message });
  }
}

const MAX_PROBLEMS = 32;

/** Sorted by name they are in the order in which they were sent. */
const fileOf = (count: number, id: string): string => `${String(count).padStart(6, '0')}-${safeId(id)}.json`;
