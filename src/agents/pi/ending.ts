import type { ChildExit } from '../exit.ts';
import type { Outbox } from '../outbox.ts';
import { type UnendedChild, type Verdict, failed, modelFailure, verdictOfExit } from '../verdict.ts';
import { ONE_MORE, askState, prompt } from './commands.ts';
import { type Course, type CourseEvent, START, type Turn, follow, isAtEnd } from './course.ts';
import type { Messages } from './messages.ts';
import type { AssistantMessage, PiState } from './records.ts';
import { endsRun, verdictOf } from './verdict.ts';
import { ONE_MORE_FOLLOWS } from './words.ts';

export type PiMode = 'rpc' | 'json';

/** Finds out whether an end that pi tells is the end of the work, and tells that once. */
export class Ending {
  readonly #mode: PiMode;
  readonly #out: Outbox;
  readonly #messages: Messages;
  #course: Course = START;
  /** A `get_state` is on its way. */
  #asked = false;
  /** The prompt that takes along what lies in the queue of a pi at rest. */
  #oneMore: 'none' | 'sent' | 'refused' = 'none';

  constructor(mode: PiMode, out: Outbox, messages: Messages) {
    this.#mode = mode;
    this.#out = out;
    this.#messages = messages;
  }

  get told(): boolean {
    return this.#course.told;
  }

  /** Its run has ended; whether that is the end may still be open. */
  get isNear(): boolean {
    return isAtEnd(this.#course);
  }

  /* ---------------------------------------------------------------- what its records tell */

  runStarted(): void {
    this.#oneMore = 'none';
    // A run after the end that only answers our own message takes nothing back.
    const isLateWrapUp = this.told && this.#messages.count().own > 0;
    if (isLateWrapUp) this.#out.note('text', 'the work had ended before the message to wrap up was read');
    else this.follow({ type: 'run-started' });
  }

  follow(event: CourseEvent): void {
    const { course, turn } = follow(this.#course, event);
    this.#course = course;
    this.#turn(turn);
  }

  /** An agent_end repeats the whole conversation, so after an ending message it is what can be a line too long. */
  tooLong(): void {
    if (this.#course.phase === 'running' && endsRun(this.#course.last)) {
      this.follow({ type: 'run-ended', willRetry: null, last: null });
    }
  }

  #turn(turn: Turn): void {
    switch (turn) {
      case 'nothing':
        return;
      case 'resumed':
        this.#out.put({ t: 'resumed' });
        return;
      case 'ended':
        // One-shot, the exit confirms it, and `resumed` takes it back.
        if (this.#mode === 'json') this.#tellLast();
        return;
      case 'settled':
        if (this.#isAwaited()) this.#ask();
        else this.#tellLast();
        return;
      case 'second-end':
        this.#out.noteSecondEnd();
    }
  }

  /** A message lies in pi's queue, or is on its way there: then this end is none. */
  #isAwaited(): boolean {
    const { unanswered, queued } = this.#messages.count();
    return unanswered + queued > 0;
  }

  /* ---------------------------------------------------------------- what it answers when it is asked */

  /** Asks whether it is at rest, where its records alone do not say so. */
  confirm(): void {
    const { phase, told, settles } = this.#course;
    if (this.#mode !== 'rpc' || told) return;
    if (phase === 'settled' || (phase === 'ended' && !settles)) this.#ask();
  }

  #ask(): void {
    if (this.#asked) return;
    this.#asked = true;
    this.#out.send(askState());
  }

  /** It has answered the task. */
  prompted({ success, error }: { success: boolean; error: string }): void {
    if (!success) this.#settle({ t: 'error', failure: modelFailure(error, this.#out.told) });
    // A task that an extension handled by itself (a slash command) starts no run: the state will show it.
    else if (this.#course.phase === 'idle') this.#ask();
  }

  /** Null: it did not say. */
  state(state: PiState | null): void {
    this.#asked = false;
    if (state === null || state.busy || this.told) return;
    const { phase, last } = this.#course;
    // Our own message to wrap up may have come too late: then it lies in the queue, and nothing goes on with it.
    const { unanswered, queued, own } = this.#messages.count();
    if (phase === 'idle' && state.pending <= own + queued && state.messages === 0) {
      this.#settle(failed('empty-output', 'pi took the task for a command of its own and asked no model'));
      return;
    }
    if (!this.isNear) return;
    // What is queued after a failure stays in the queue; after an answer pi goes on with it.
    if (last?.stop === 'error' || last?.stop === 'aborted') this.#tellLast();
    else if (unanswered > 0) return;
    else if (queued > 0) this.#takeAlong();
    else if (state.pending <= own) this.#tellLast();
  }

  /** A message came between pi's last look into its queue and its end: pi reads it with the next prompt only. */
  #takeAlong(): void {
    switch (this.#oneMore) {
      case 'none':
        this.#oneMore = 'sent';
        this.#out.send(prompt(ONE_MORE_FOLLOWS, ONE_MORE));
        return;
      case 'sent':
        return;
      case 'refused':
        this.#out.put(...this.#messages.refused());
        this.#tellLast();
    }
  }

  oneMoreAnswered(success: boolean): void {
    if (success) return;
    this.#oneMore = 'refused';
    this.confirm();
  }

  /* ---------------------------------------------------------------- the end */

  /** The child is gone: tells the end, unless it is told. The last message of the assistant, where there was one. */
  exited(exit: ChildExit, child: UnendedChild): AssistantMessage | null {
    if (this.told) this.#out.noteExitAfterEnd(exit);
    else this.#tell(this.#verdictAt(exit, child));
    return this.#course.last;
  }

  #verdictAt(exit: ChildExit, child: UnendedChild): Verdict {
    const { phase, last } = this.#course;
    const gaveUp = phase === 'between' && last?.stop === 'error';
    return this.isNear || gaveUp ? verdictOf(last, this.#out.told) : verdictOfExit(exit, child, this.#out.told);
  }

  #settle(verdict: Verdict): void {
    if (this.told) return;
    this.#course = { ...this.#course, phase: 'settled' };
    this.#tell(verdict);
  }

  #tellLast(): void {
    this.#tell(verdictOf(this.#course.last, this.#out.told));
  }

  #tell(verdict: Verdict): void {
    this.#course = { ...this.#course, told: true };
    this.#out.put(verdict);
  }
}
