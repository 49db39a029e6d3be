import type { Readable } from 'node:stream';

/** What a test's rig and a fake agent say to each other: one JSON value a line, over the control socket. */

/** `rpc` and `json` speak pi's records; `plain` is any program. */
export type FakeMode = 'rpc' | 'json' | 'plain';

/** What an assistant message says it has used. Without `costUsd` it says 0, as pi does of a model without a price: unknown. */
export interface FakeUsage {
  input?: number;
  output?: number;
  cacheRead?: number;
  cacheWrite?: number;
  costUsd?: number;
}

/** Signals an agent sees before it acts on them. */
export const SEEN_SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;
export type SeenSignal = (typeof SEEN_SIGNALS)[number];

/** What an agent can be told to take no notice of. `control-close`: the end of its rig. */
export type Ignorable = SeenSignal | 'abort' | 'steer' | 'stdin-close' | 'control-close';

export type StopReason = 'stop' | 'length' | 'toolUse' | 'error' | 'aborted';

export interface Offspring {
  count: number;
  /** In a session (and group) of its own. */
  setsid: boolean;
  /** Keeps stdout and stderr of the agent open. */
  holdPipes: boolean;
  /** Keeps the environment variable by which coxswain knows its processes. */
  keepToken: boolean;
}

export type SteerMode = 'now' | 'next' | 'auto';
/** What a child says of a message in its mailbox. */
export type AckState =
  | { state: 'queued' | 'taken' | 'delivered' }
  | { state: 'undelivered'; reason: 'aborted' | 'failed' | 'step-ended' | 'unsupported' };

export type Order =
  | { do: 'say'; text: string; usage: FakeUsage }
  | { do: 'partial'; text: string }
  | { do: 'toolStart'; name: string; input: unknown }
  | { do: 'toolEnd'; name: string; ok: boolean; output: string }
  | { do: 'finish'; text: string; stopReason: StopReason; errorMessage: string | null; usage: FakeUsage }
  /** The first message that waits becomes part of the conversation. */
  | { do: 'take' }
  /** Says that it listens to its mailbox. */
  | { do: 'listen'; modes: SteerMode[] }
  | ({ do: 'ack'; message: string } & AckState)
  | { do: 'ask'; ask: string; text: string; expiresMs?: number }
  | { do: 'withdraw'; ask: string }
  | { do: 'review'; seq: number; active: boolean }
  | { do: 'raw'; base64: string }
  | { do: 'stderr'; text: string }
  | { do: 'flood'; bytes: number; lineBytes: number }
  | { do: 'ignore'; what: Ignorable }
  | ({ do: 'spawn' } & Offspring)
  | { do: 'exit'; code: number }
  | { do: 'die'; signal: NodeJS.Signals };

export type FakeAnswer = { state: 'answered'; text: string } | { state: 'declined'; reason: string };

export type Numbered = Order & { id: number };

export type Notice =
  | { t: 'hello'; pid: number; mode: FakeMode; argv: string[]; cwd: string; envNames: string[] }
  | { t: 'task'; text: string }
  /** A command of the two-way mode arrived on stdin. */
  | { t: 'command'; name: string }
  /** A message for the running work arrived, on stdin or in the mailbox. */
  | { t: 'steer'; text: string }
  | { t: 'answer'; ask: string; answer: FakeAnswer }
  | { t: 'signal'; name: SeenSignal }
  | { t: 'done'; id: number; pids: number[] }
  | { t: 'failed'; id: number; message: string };

/** Cuts at newlines only: what JSON leaves unescaped (U+2028) is no end of a line. A last line without one is dropped. */
export function readLines(stream: Readable, line: (text: string) => void): void {
  let open: string[] = [];
  stream.setEncoding('utf8');
  stream.on('data', (chunk: string) => {
    const pieces = chunk.split('\n');
    const rest = pieces.pop() ?? '';
    for (const piece of pieces) {
      line(open.join('') + piece);
      open = [];
    }
    open.push(rest);
  });
}
