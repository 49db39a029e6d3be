import { join } from 'node:path';
import { isSafeId } from '../ids.ts';
import { type Folder, MAX_NAMES, empty, folderAt, namesIn, readSmall, remove, writeInto } from './files.ts';
import type { MailboxProblem } from './problem.ts';
import { type AnswerFile, type AskRequest, type DeclineReason, MAX_ASK_BYTES, askSchema } from './schemas.ts';

export type Answer = { text: string } | { declined: DeclineReason };

/** Questions of one child that wait at the same time; one more is declined. */
export const MAX_OPEN_ASKS = 16;
/** Ids that are remembered so that none is asked twice. */
const MAX_ANSWERED = 1000;

export interface AsksOptions {
  paths: { ask: string; requests: string; answers: string };
  onAsk: (ask: { id: string; text: string; expiresMs: number | null }) => void;
  onAskGone: (id: string) => void;
  problem: (code: MailboxProblem['code'], message: string) => void;
  /** Watch this folder as well. */
  follow: (folder: string) => void;
}

/** The questions of one child. */
export class Asks {
  readonly #options: AsksOptions;
  readonly #ask: Folder;
  readonly #requests: Folder;
  readonly #answers: Folder;
  readonly #open = new Set<string>();
  readonly #answered = new Set<string>();

  constructor(options: AsksOptions) {
    this.#options = options;
    const { ask, requests, answers } = options.paths;
    this.#ask = folderAt(ask);
    this.#requests = folderAt(requests, this.#ask);
    this.#answers = folderAt(answers, this.#ask);
  }

  look(): void {
    const { problem } = this.#options;
    const requests = this.#requests;
    const state = requests.state();
    if (state === 'replaced') problem('folder-replaced', `${requests.path} is not the folder it was`);
    if (state !== 'here') return;
    this.#options.follow(requests.path);
    const { names, more } = namesIn(requests);
    if (more) problem('too-many', `more than ${MAX_NAMES} files lie in ${requests.path}`);
    const here = new Set(names.map((name) => name.slice(0, -'.json'.length)));
    // What was not read for want of room is not gone.
    if (!more) for (const id of this.#open) if (!here.has(id)) this.#gone(id);
    for (const id of here) if (!this.#open.has(id)) this.#take(id);
  }

  answer(id: string, answer: Answer): 'answered' | 'gone' | 'failed' {
    if (!this.#open.has(id)) return 'gone';
    const file: AnswerFile =
      'text' in answer
        ? { v: 1, id, state: 'answered', text: answer.text }
        : { v: 1, id, state: 'declined', reason: answer.declined };
    if (!this.#write(file)) return 'failed';
    this.#open.delete(id);
    return 'answered';
  }

  /** The child has ended: nobody waits any more. */
  close(): void {
    for (const id of this.#open) this.#gone(id);
    for (const folder of [this.#requests, this.#answers]) empty(folder);
    empty(this.#ask, ['requests', 'answers']);
  }

  #take(id: string): void {
    const { problem, onAsk } = this.#options;
    const path = join(this.#requests.path, `${id}.json`);
    if (!isSafeId(id) || this.#answered.has(id)) {
      problem('bad-file', isSafeId(id) ? 'an ask uses the id of an earlier one' : 'an ask has a name that is no id');
      remove(path);
      return;
    }
    const read = readSmall(path, askSchema, MAX_ASK_BYTES);
    switch (read.type) {
      case 'missing':
        return;
      case 'bad':
        problem('bad-file', `an ask: ${read.reason}`);
        this.#write({ v: 1, id, state: 'declined', reason: 'invalid' });
        return;
      case 'ok':
        if (read.value.id !== id) {
          problem('bad-file', 'an ask carries another id than its file');
          this.#write({ v: 1, id, state: 'declined', reason: 'invalid' });
        } else if (this.#open.size >= MAX_OPEN_ASKS) {
          this.#write({ v: 1, id, state: 'declined', reason: 'too-many' });
        } else {
          this.#open.add(id);
          onAsk(told(read.value));
        }
    }
  }

  /** Puts the answer there and takes the question away. */
  #write(file: AnswerFile): boolean {
    const { problem } = this.#options;
    const written = writeInto(this.#answers, `${file.id}.json`, file);
    if (written.type === 'trouble') {
      problem('unwritable', `an answer could not be given to the child (${written.code})`);
      return false;
    }
    this.#remember(file.id);
    if (this.#requests.state() === 'here') remove(join(this.#requests.path, `${file.id}.json`));
    return true;
  }

  #remember(id: string): void {
    this.#answered.add(id);
    for (const oldest of this.#answered) {
      if (this.#answered.size <= MAX_ANSWERED) break;
      this.#answered.delete(oldest);
    }
  }

  #gone(id: string): void {
    this.#open.delete(id);
    this.#remember(id);
    this.#options.onAskGone(id);
  }
}

function told({ id, text, expiresMs }: AskRequest): { id: string; text: string; expiresMs: number | null } {
  return { id, text, expiresMs: expiresMs ?? null };
}
