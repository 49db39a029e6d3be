import { ulid } from 'ulid';
import type { Command, RejectReason, SteerMode } from '../../machines/protocol.ts';
import { parseDeadline, parseDuration } from '../plan/index.ts';
import { digest } from '../record/index.ts';
import type { Answered } from './callers.ts';
import type { Opened } from './open.ts';

/** A message longer than this is no message: write a file, and say where it is. */
const MOST_TEXT_BYTES = 128 * 1024;

export interface CommandOptions {
  /** Who sends it; goes on record. Default `library`. */
  source?: string;
  /** Aborting it ends the waiting, with the signal's reason; the command stands. */
  signal?: AbortSignal;
  /** `first`: resolves as soon as the run has taken the command. Default `final`: with its one final verdict. */
  until?: 'first' | 'final';
}

export interface StepCommandOptions extends CommandOptions {
  /** Only this step. */
  step?: string;
}

export interface EndOptions extends StepCommandOptions {
  /** For people. */
  reason?: string;
}

export interface SteerOptions extends StepCommandOptions {
  /** `now`: at the next tool boundary. `next`: after the answer. Default `auto`: as the agent finds right. */
  mode?: SteerMode;
  /** When it is too late for it: a duration. Default: when the step ends. */
  expires?: string | number;
}

/** What can be asked of a run. Each is answered once it has been acted on, and says what came of it. */
export interface RunCommands {
  /**
   * Asks for an orderly stop, of the run or of one step. Answered when it has been acted on; `ended()` says when
   * everything is gone.
   */
  stop(options?: EndOptions): Promise<Answered>;
  /** Pauses the run or a step: what runs is ended, and can be gone on with, in the agent's session where it has one. */
  interrupt(options?: EndOptions): Promise<Answered>;
  /** Goes on with a paused step, or with all that are paused, while the run goes on. */
  resume(options?: StepCommandOptions): Promise<Answered>;
  /**
   * A message for the agents that work, or for that of one step. `delivered`: each of them took it into its conversation
   * and went on with it. Waits for that, or for why not.
   */
  steer(text: string, options?: SteerOptions): Promise<Answered>;
  /** More steps for this run, as a plan has them; they may need those that are there. */
  append(steps: readonly unknown[], options?: CommandOptions): Promise<Answered>;
  /**
   * Moves a live deadline: of the run, or the limit of a step that runs. A duration (`10m`, or milliseconds) counts
   * from now; an ISO instant is taken as it is; `now`, or what is over already, ends it at once.
   */
  extend(deadline: string | number, options?: StepCommandOptions): Promise<Answered>;
  /** Answers what a child has asked; `status().asks` has the ids. */
  answer(ask: string, text: string, options?: CommandOptions): Promise<Answered>;
}

/** The commands of a run as functions. What cannot be a command is answered here, as an inbox does with its files. */
export function commandsOf(opened: Opened): RunCommands {
  const send = (command: Command, options: CommandOptions, text: string | null = null): ReturnType<Opened['send']> => {
    const wrong = text === null ? null : faultIn(text);
    return wrong === null ? opened.send(command, text, options) : refuse(command, ...wrong);
  };
  const refuse = async (command: Pick<Command, 'type' | 'id'>, reason: RejectReason, detail: string) =>
    opened.reject(command, reason, detail);
  return {
    stop: async (options = {}) => {
      const { reason } = options;
      const because = reason === undefined ? {} : { reason };
      return send({ type: 'stop', ...from(options), ...ofStep(options), ...because }, options);
    },
    interrupt: async (options = {}) => {
      const { reason } = options;
      const because = reason === undefined ? {} : { reason };
      return send({ type: 'interrupt', ...from(options), ...ofStep(options), ...because }, options);
    },
    resume: async (options = {}) => send({ type: 'resume', ...from(options), ...ofStep(options) }, options),
    async steer(text, options = {}) {
      const { mode = 'auto', expires } = options;
      const { id, source } = from(options);
      const time = expires === undefined ? null : parseDuration(expires);
      if (time !== null && time.type !== 'ok')
        return refuse({ type: 'steer', id }, 'invalid', 'expires: it must be a duration like 10m');
      const limit = time === null ? {} : { expiresMs: time.ms };
      return send({ type: 'steer', id, source, ...ofStep(options), mode, text: digest(text), ...limit }, options, text);
    },
    append: async (steps, options = {}) => opened.append({ ...from(options), steps }, options),
    async extend(deadline, options = {}) {
      const { id, source } = from(options);
      const time = parseDeadline(deadline, Date.now());
      if (time.type === 'bad')
        return refuse(
          { type: 'extend', id },
          'invalid',
          `deadline: it must be a duration like 30m or an instant like 2026-12-01T10:00:00Z; ${time.reason}`,
        );
      const { at: deadlineAt, limitMs } = time;
      return send({ type: 'extend', id, source, ...ofStep(options), deadlineAt, limitMs }, options);
    },
    answer: async (ask, text, options = {}) =>
      send({ type: 'answer', ...from(options), ask, text: digest(text) }, options, text),
  };
}

const from = ({ source = 'library' }: CommandOptions): { id: string; source: string } => ({ id: ulid(), source });
const ofStep = ({ step }: StepCommandOptions): { step?: string } => (step === undefined ? {} : { step });

function faultIn(text: string): [RejectReason, string] | null {
  if (text.trim() === '') return ['invalid', 'text: there is none'];
  return Buffer.byteLength(text) > MOST_TEXT_BYTES
    ? ['too-large', `text: it has more than ${MOST_TEXT_BYTES / 1024} KiB`]
    : null;
}
