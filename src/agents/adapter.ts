import type { Failure, SteerMode, StopRung, UndeliveredReason, Usage } from '../../machines/protocol.ts';
import type { MailboxPaths } from '../mailbox/index.ts';
import type { ClientFacts } from './client-facts.ts';
import type { Mode } from './honours.ts';
import type { AgentSettings } from './settings.ts';

export type { AgentSettings, Permission } from './settings.ts';

/**
 * How one kind of agent is launched, spoken to and understood.
 *
 * An adapter does no I/O: `launch` says what to start, and a session turns bytes into events and replies.
 * That makes it testable on captured streams, in chunks of any size.
 */
export interface AgentAdapter {
  readonly id: string;
  readonly capabilities: Capabilities;
  /** Polite first, certain last. Always ends in SIGKILL. */
  readonly stopLadder: readonly StopRung[];
  /**
   * Its wire modes, the default one first, and what of a definition it can honour in each. Definitions that ask for more
   * are refused (`refusalsOf`), and never come to `launch` and `open`.
   */
  readonly modes: readonly [Mode, ...Mode[]];
  /** What its program writes to stdout is its answer, and nothing but that. */
  readonly plain?: true;
  /** What its program is usually called; null: a definition has to say its `command`. */
  readonly program: string | null;
  /**
   * Where the child of this request keeps its conversation, as far as that is known before it runs: one writer at a time
   * may have it. Null, or without this: nobody can say.
   */
  sessionPath?(request: SessionRequest): string | null;
  launch(request: LaunchRequest): Launch;
  open(request: LaunchRequest): AgentSession;
}

/** `task`: the agent is given a text to work on. `run`: the step brings its own command. */
export type AgentUse = 'task' | 'run';

export interface Capabilities {
  /** A message reaches the model at the next tool boundary of the running turn. */
  steerLive: boolean;
  /** Who holds the queue of follow-up messages. */
  followUp: 'native' | 'runner' | 'none';
  abort: 'protocol' | 'signal';
  /** It can go on in the session of an earlier child. */
  resume: boolean;
  /**
   * Whether the child can use a mailbox (docs/mailbox.md): it does (`expected`), it does if it says so (`declared`),
   * or there is no use in making one.
   */
  mailbox: 'expected' | 'declared' | 'none';
  chooseSessionId: boolean;
  /**
   * How a value that fits a schema is got from it. `tool`: it hands the value in, which `submitted` events tell.
   * `schema`: its client holds its last answer to the schema. `none`: it is told the schema, and its last answer is read.
   */
  structured: 'tool' | 'schema' | 'none';
  partialText: boolean;
  cost: boolean;
  /** Empty text at a natural, successful end is a result (commands) or a failure (agents). */
  emptyOutput: 'result' | 'failure';
}

export interface LaunchRequest {
  settings: AgentSettings;
  /** The task for an agent, or null for a command step. In argv only where the settings say `task: argv`. */
  task: string | null;
  /** The command of a command step: an argv, or a string for the shell. */
  run: string[] | string | null;
  /** `provider/id[:thinking]`, or null for the agent's own default. */
  model: string | null;
  cwd: string;
  /** The environment the child gets, already filtered; `launch` may add to it. */
  env: Record<string, string>;
  /**
   * `file`: keep the task out of argv, because an attempt with the task there was killed before it did anything.
   * Default `auto`: as the settings say.
   */
  delivery?: 'auto' | 'file';
  /** A folder of this attempt's own (0700), made before `launch`. */
  privateDir: string;
  /** Where sessions are kept (0700): the run's own, or for a shared one those of the state root. */
  sessionDir: string;
  /**
   * Go on in this session, as a `session` event named it; null: begin afresh. `say`: what it is told there; absent: to go
   * on where it left off.
   */
  resume: { session: string; say?: string } | null;
  /** The value that the work is to end with; absent: its answer is a text. */
  output?: { schema: Readonly<Record<string, unknown>> };
  /** The folders by which this child can be steered and can ask, made before `launch`; null: it has none. */
  mailbox: MailboxPaths | null;
}

/** What decides in which session a child works. */
export type SessionRequest = Pick<LaunchRequest, 'settings' | 'env' | 'privateDir' | 'sessionDir' | 'resume'>;

export interface Launch {
  /** Program and arguments. With `shell: true` the one element is a shell command line. */
  argv: string[];
  /** `argv` for the record, with `{task}` in place of the task; absent when the task is not in it. */
  redactedArgv?: string[];
  shell: boolean;
  env: Record<string, string>;
  cwd: string;
  /** `text`: written and closed at once. `protocol`: stays open for the session's replies. */
  stdin: { type: 'none' } | { type: 'text'; text: string } | { type: 'protocol' };
  /**
   * Written before the child is started (0600, paths under `privateDir`), removed when the attempt has closed.
   * Absent when there are none.
   */
  files?: { path: string; text: string }[];
  /** Folders that the child will write into, made (0700) before it is started. Absent when there are none. */
  folders?: string[];
  /** `own`: the child exits by itself after its work. `asked`: it exits when we close its stdin. */
  exit: 'own' | 'asked';
}

/** The protocol state of one child. Pure: time and bytes come in, events and replies go out. */
export interface AgentSession {
  /** What to say first. */
  start(): Reply;
  /** Events other than `activity` (one a call) do not depend on how the bytes are cut into chunks. */
  push(chunk: Uint8Array): Reply;
  /** Ask the child to exit in good order (two-way: close stdin). */
  finish(): Reply;
  /** Ask the agent to drop what it does. `supported: false` where the protocol has no such thing. */
  abort(): Reply & { supported: boolean };
  /**
   * Tell the agent, while it works, that it has `leftMs` milliseconds left and is to come to an end with what it has.
   * Nothing says that it heeds it, or reads it before the tool that runs now has ended. Nothing is sent once the work
   * has ended. `supported: false` where a working agent cannot be told anything.
   */
  wrapUp(leftMs: number): Reply & { supported: boolean };
  /**
   * A message for the running work; `steer` events tell what becomes of it, a final one at `exited` at the latest.
   * `mailbox`: it is for the child's mailbox, which tells as well. Otherwise this answer is the last of it.
   */
  steer(message: SteerMessage): Reply & { verdict: 'sent' | 'mailbox' | 'unsupported' | 'too-late' };
  /** What somebody has answered to an `asked`; only where a definition can say `ask`. One that is not open is passed over. */
  answer?(ask: string, answer: PermissionAnswer): Reply;
  /**
   * The process has exited and its pipes have been read. Yields the one `final` or `error` event
   * if the stream did not carry it already. Whether an exit that follows a `final` was the expected one
   * is for the caller to judge: only it knows which signals it sent. Anything after this call yields nothing.
   */
  exited(exit: { code: number | null; signal: string | null; stderrTail: string }): Reply;
}

/**
 * `now`: to be read at the next tool boundary. `next`: once the answer has been given, which is not the end then.
 * `auto`: as soon as it can.
 */
export interface SteerMessage {
  id: string;
  text: string;
  mode: SteerMode;
}

/** `why`: for the agent, where it can be told. `cancelled`: the question is moot. */
export type PermissionAnswer = { type: 'allow' } | { type: 'deny'; why: string | null } | { type: 'cancelled' };

export interface Reply {
  events: AgentEvent[];
  /** Written to the child's stdin as they are. */
  send: string[];
  closeStdin: boolean;
}

export type AgentEvent =
  /** What a later child resumes by. */
  | { t: 'session'; session: string }
  | { t: 'model'; model: string }
  /** What the client says that it is and has. */
  | { t: 'client'; client: ClientFacts }
  /** Any record. `progress` is false for keep-alives and repeated noise. */
  | { t: 'activity'; progress: boolean }
  | { t: 'message'; role: 'assistant' | 'user'; text: string }
  | { t: 'toolStart'; id: string; name: string; input: unknown }
  | { t: 'toolEnd'; id: string; name: string; ok: boolean; output: string; truncated: boolean }
  /** It has handed in the value that was asked for, or tried to; several times if it likes. Only for `structured: tool`. */
  | { t: 'submitted'; value: unknown }
  | { t: 'retry'; attempt: number; max?: number; delayMs?: number; reason: string }
  /** The running total of this child, by the client's own counting rules. */
  | { t: 'usage'; usage: Usage }
  /** The work is done as far as the protocol tells. At most once, unless a `resumed` came between. */
  | {
      t: 'final';
      /** Already without its last newline. */
      text: string;
      stop: 'stop' | 'length';
      /** `text` is only the beginning. The whole is the raw stdout where the adapter is `plain`; elsewhere it is lost. */
      truncated: boolean;
    }
  | { t: 'error'; failure: Failure }
  | SteerEvent
  /** The agent asked whether it may use a tool, and was answered. `id` is that of the tool call. */
  | { t: 'permission'; id: string; tool: string; input: unknown; answer: 'allow' | 'deny' | 'cancelled' }
  /** It waits for somebody to say whether it may use a tool; `ask` names the question among those of this child. */
  | { t: 'asked'; ask: string; text: string }
  /** It does not wait any more. */
  | { t: 'ask-gone'; ask: string }
  /** What was said to be the end was not; `final` or `error` will come again. */
  | { t: 'resumed' }
  /** The protocol is broken beyond repair; the child should be ended. */
  | { t: 'broken'; reason: string }
  /** Kept for people, never fatal: banners, unknown records, over-long lines, a second end record. */
  | { t: 'note'; kind: 'text' | 'unknown-record' | 'line-too-long' | 'second-end' | 'bad-record'; text: string };

/**
 * What has become of a message. `queued`: the agent has it. `taken`: it is part of the conversation. `delivered`: and
 * the work went on with it. The last two are final.
 */
export type SteerEvent =
  | { t: 'steer'; id: string; state: 'queued' | 'taken' | 'delivered' }
  /** `failed`: the agent refused it, or its model failed on it. */
  | {
      t: 'steer';
      id: string;
      state: 'undelivered';
      reason: Extract<UndeliveredReason, 'aborted' | 'failed' | 'step-ended'>;
    };
