import { EventEmitter, once } from 'node:events';
import type { Socket } from 'node:net';
import type { Identity } from '../../process/identity/index.ts';
import { type Control, type News, createControl, inTime } from './control.ts';
import { identityOf, isStopped, runs, signal, until } from './processes.ts';
import type {
  AckState,
  FakeAnswer,
  FakeMode,
  FakeUsage,
  Ignorable,
  Offspring,
  SeenSignal,
  SteerMode,
  StopReason,
} from './wire.ts';

/** What `say` and `finish` claim to have used when they are not told otherwise. */
export const FAKE_USAGE: FakeUsage = { input: 100, output: 20, cacheRead: 30, cacheWrite: 0, costUsd: 0.001 };

/**
 * One running fake agent. Every method resolves when the agent has done it and the system has taken the bytes;
 * that somebody has read them is not said. It rejects when the agent has ended, or does not answer in time
 * (a frozen one never does).
 */
export interface FakeChild {
  readonly pid: number;
  readonly mode: FakeMode;
  /** Arguments, without node and the program. */
  readonly argv: readonly string[];
  readonly cwd: string;
  /** Names of its environment variables, sorted. */
  readonly envNames: readonly string[];
  /** The last task it was given; '' before the first. */
  readonly task: string;

  /** An assistant message after which the work goes on. */
  say(text: string, usage?: FakeUsage): Promise<void>;
  /** A `message_update`: the beginning of an answer. */
  partial(text: string): Promise<void>;
  toolStart(name: string, input?: unknown): Promise<void>;
  /** Ends the tool of that name that was started last. */
  toolEnd(name: string, end?: { ok?: boolean; output?: string }): Promise<void>;
  /** An assistant message without text that says what was used; it counts as a turn. */
  usage(usage: FakeUsage): Promise<void>;
  /** The last message and the records of the end. The process lives on. A `say` afterwards opens a new run. */
  finish(end?: { text?: string; stopReason?: StopReason; errorMessage?: string; usage?: FakeUsage }): Promise<void>;
  /**
   * The first message that waits becomes part of the conversation, those for now before those for later (`rpc`, `json`).
   * What follows delivers it, unless it is an `abort`.
   */
  take(): Promise<void>;
  /** From now on it can be steered by its mailbox; a `json` agent does that by itself. */
  listen(modes?: SteerMode[]): Promise<void>;
  /** Acknowledges a message in the mailbox, by the id of its request. */
  ack(id: string, state: AckState): Promise<void>;
  /** Puts a question into the mailbox. */
  ask(question: { id: string; text: string; expiresMs?: number }): Promise<void>;
  /** Takes a question back. */
  withdraw(id: string): Promise<void>;
  /** Says by its mailbox that its work is reviewed in the background, or is not any more; `seq` grows with each report. */
  review(report: { seq: number; active: boolean }): Promise<void>;
  /** Resolves with the answer to a question, now or when it comes. */
  answered(id: string): Promise<FakeAnswer>;
  /** Bytes on stdout, as they are. */
  raw(bytes: string | Uint8Array): Promise<void>;
  stderr(text: string): Promise<void>;
  /** Exactly `bytes` on stdout, in lines of `lineBytes` (newline included): progress records, or text where none fits. */
  flood(size: { bytes: number; lineBytes: number }): Promise<void>;
  /**
   * From now on: a signal, an `abort`, the end of stdin or of the rig has no effect; of a message (`steer`) it says nothing.
   * Signals and messages are still noted.
   */
  ignore(what: Ignorable): Promise<void>;

  /** Starts a grandchild in the same group that keeps stdout and stderr open, whatever becomes of the agent. */
  holdPipes(): Promise<number>;
  /** Starts a grandchild without pipes; by default in a session of its own, with the token of its attempt. */
  stray(options?: { setsid?: boolean; keepToken?: boolean }): Promise<number>;
  /** Starts grandchildren without pipes in the same group. */
  fork(options: { count: number }): Promise<number[]>;

  /** Stops the process as SIGSTOP does; resolves when it stands still (at once where there is no /proc). */
  freeze(): Promise<void>;
  /** Exits at once; resolves when the connection has closed. Output that nobody has awaited may be lost. */
  exit(code: number): Promise<void>;
  /** Dies of that signal, ignored or not; resolves when the connection has closed. */
  die(signal: Exclude<NodeJS.Signals, 'SIGSTOP'>): Promise<void>;

  /** Signals it has seen, oldest first. Complete once `closed`. */
  signals(): SeenSignal[];
  /** Commands that came on stdin (`rpc`), by type, oldest first. Complete once `closed`. */
  commands(): string[];
  /** Messages for the running work that came on stdin (`rpc`) or into the mailbox, oldest first. They wait for `take`. */
  steered(): string[];
  /** Resolves with the first of them that nobody has asked for yet, now or when it comes. */
  nextSteer(): Promise<string>;
  /** Resolves with the task, now or when it comes. In plain mode that is all of stdin, at its end. */
  tasked(): Promise<string>;
  /** The control connection has closed: it has ended, or is about to. Never rejects. */
  readonly closed: Promise<void>;
  /** Resolves when the process has gone; a zombie has. */
  gone(): Promise<void>;
}

/** What only the rig does with a child. */
export interface Handle {
  child: FakeChild;
  /** The agent, then every process it started. */
  family(): Identity[];
}

/** Resolves when the agent has said who it is. */
export function meetChild(socket: Socket, patienceMs: number, met: (handle: Handle) => void): void {
  const seen: Seen = {
    signals: [],
    commands: [],
    steered: [],
    answers: new Map(),
    task: null,
    tasked: () => {},
    told: new EventEmitter(),
  };
  const tasked = new Promise<string>((resolve) => (seen.tasked = resolve));
  const control = createControl(socket, patienceMs, (news) => {
    if (news.t === 'hello') met(createHandle(news, control, seen, tasked, patienceMs));
    else note(seen, news);
  });
}

interface Seen {
  signals: SeenSignal[];
  commands: string[];
  steered: string[];
  answers: Map<string, FakeAnswer>;
  task: string | null;
  tasked(task: string): void;
  /** Emits `told` when one of the others has grown. */
  told: EventEmitter;
}

function note(seen: Seen, news: Exclude<News, { t: 'hello' }>): void {
  switch (news.t) {
    case 'task':
      seen.task = news.text;
      seen.tasked(news.text);
      return;
    case 'command':
      seen.commands.push(news.name);
      return;
    case 'steer':
      seen.steered.push(news.text);
      seen.told.emit('told');
      return;
    case 'answer':
      seen.answers.set(news.ask, news.answer);
      seen.told.emit('told');
      return;
    case 'signal':
      seen.signals.push(news.name);
  }
}

function createHandle(
  hello: Extract<News, { t: 'hello' }>,
  control: Control,
  seen: Seen,
  tasked: Promise<string>,
  patienceMs: number,
): Handle {
  // The agent waits for our orders, so this pid is still its own.
  const self = identityOf(hello.pid);
  const offspring: Identity[] = [];
  const child: FakeChild = {
    pid: hello.pid,
    mode: hello.mode,
    argv: hello.argv,
    cwd: hello.cwd,
    envNames: hello.envNames,
    get task() {
      return seen.task ?? '';
    },
    ...speech(control),
    ...correspondence(control, seen, patienceMs),
    ...family(control, offspring),
    ...ending(control, self, patienceMs),
    signals: () => [...seen.signals],
    commands: () => [...seen.commands],
    steered: () => [...seen.steered],
    tasked: () => inTime(Promise.race([tasked, endedUntasked(control)]), patienceMs, 'to be given its task'),
    closed: control.closed,
  };
  return { child, family: () => [self, ...offspring] };
}

async function endedUntasked({ closed }: Control): Promise<never> {
  await closed;
  throw new Error('the fake agent ended before it was given a task');
}

type Speech = 'say' | 'partial' | 'toolStart' | 'toolEnd' | 'usage' | 'finish' | 'raw' | 'stderr' | 'flood' | 'ignore';

function speech(control: Control): Pick<FakeChild, Speech> {
  const order = async (...what: Parameters<Control['order']>): Promise<void> => {
    await control.order(...what);
  };
  return {
    say: (text, usage = FAKE_USAGE) => order({ do: 'say', text, usage }),
    partial: (text) => order({ do: 'partial', text }),
    toolStart: (name, input = {}) => order({ do: 'toolStart', name, input }),
    toolEnd: (name, { ok = true, output = '' } = {}) => order({ do: 'toolEnd', name, ok, output }),
    usage: (usage) => order({ do: 'say', text: '', usage }),
    finish({ errorMessage, usage = FAKE_USAGE, ...end } = {}) {
      const { stopReason = errorMessage === undefined ? 'stop' : 'error' } = end;
      const { text = stopReason === 'stop' ? 'done' : '' } = end;
      return order({ do: 'finish', text, stopReason, errorMessage: errorMessage ?? null, usage });
    },
    raw: (bytes) => order({ do: 'raw', base64: Buffer.from(bytes).toString('base64') }),
    stderr: (text) => order({ do: 'stderr', text }),
    flood: (size) => order({ do: 'flood', ...size }),
    ignore: (what) => order({ do: 'ignore', what }),
  };
}

type Correspondence = 'take' | 'listen' | 'ack' | 'ask' | 'withdraw' | 'review' | 'answered' | 'nextSteer';

function correspondence(control: Control, seen: Seen, patienceMs: number): Pick<FakeChild, Correspondence> {
  const order = async (...what: Parameters<Control['order']>): Promise<void> => {
    await control.order(...what);
  };
  /** What `find` finds, now or when it is there. */
  const wait = async <T>(find: () => T | undefined, what: string): Promise<T> => {
    for (;;) {
      const found = find();
      if (found !== undefined) return found;
      await inTime(Promise.race([once(seen.told, 'told'), endedUntold(control, what)]), patienceMs, what);
    }
  };
  let asked = 0;
  return {
    take: () => order({ do: 'take' }),
    listen: (modes = ['now', 'next']) => order({ do: 'listen', modes }),
    ack: (id, state) => order({ do: 'ack', message: id, ...state }),
    ask: ({ id, ...question }) => order({ do: 'ask', ask: id, ...question }),
    withdraw: (id) => order({ do: 'withdraw', ask: id }),
    review: (report) => order({ do: 'review', ...report }),
    answered: (id) => wait(() => seen.answers.get(id), `to be answered "${id}"`),
    nextSteer() {
      const at = asked;
      asked += 1;
      return wait(() => seen.steered[at], 'to be steered');
    },
  };
}

async function endedUntold({ closed }: Control, what: string): Promise<never> {
  await closed;
  throw new Error(`the fake agent has ended: nobody is there ${what}`);
}

function family(control: Control, known: Identity[]): Pick<FakeChild, 'holdPipes' | 'stray' | 'fork'> {
  const start = async (offspring: Partial<Offspring>): Promise<number[]> => {
    const plain = { count: 1, setsid: false, holdPipes: false, keepToken: true };
    const pids = await control.order({ do: 'spawn', ...plain, ...offspring });
    known.push(...pids.map(identityOf));
    return pids;
  };
  const one = async (offspring: Partial<Offspring>): Promise<number> => {
    const [pid] = await start(offspring);
    if (pid === undefined) throw new Error('the fake agent started nothing');
    return pid;
  };
  return {
    holdPipes: () => one({ holdPipes: true }),
    stray: ({ setsid = true, keepToken = true } = {}) => one({ setsid, keepToken }),
    fork: ({ count }) => start({ count }),
  };
}

function ending(
  control: Control,
  self: Identity,
  patienceMs: number,
): Pick<FakeChild, 'freeze' | 'exit' | 'die' | 'gone'> {
  return {
    async freeze() {
      if (!signal(self, 'SIGSTOP')) throw new Error('the fake agent is not there to be frozen');
      if (!(await until(() => isStopped(self), patienceMs))) throw new Error('the fake agent does not stand still');
    },
    exit: (code) => control.last({ do: 'exit', code }),
    die: (name) => control.last({ do: 'die', signal: name }),
    async gone() {
      if (!(await until(() => !runs(self), patienceMs))) {
        throw new Error(`the fake agent (pid ${self.pid}) is still there after ${patienceMs} ms`);
      }
    },
  };
}
