import type { Readable, Writable } from 'node:stream';
import type { Failure } from '../../machines/protocol.ts';
import { decideDrain, type DrainEnd } from './drain.ts';
import { foresee, spawnFailure, type Launchable } from './failure.ts';
import { startTimeOf } from './identity/index.ts';
import { spawnLean, type Spawned } from './spawn.ts';

export interface LaunchSpec extends Launchable {
  /** Program and arguments. With `shell` the one element is a command line for `/bin/sh -c`. */
  argv: string[];
  shell: boolean;
  /** Has to exist; looked at before the start. */
  cwd: string;
  /** The whole environment: nothing is inherited from this process. */
  env: Record<string, string>;
  /** `text` is written and closed at once; `protocol` stays open until `closeStdin`. */
  stdin: { type: 'none' } | { type: 'text'; text: string } | { type: 'protocol' };
}

/**
 * What happens to a child, in this order: `started` or `unstarted`, never both, never before `launch` has returned;
 * after `started`: any output, exactly one `exited`, perhaps more output, exactly one `drained`, then nothing.
 */
export interface ChildHandlers {
  started(process: { pid: number; startTime: number | null }): void;
  /** It could not be started; nothing was left behind, nothing else will come. */
  unstarted(failure: Failure): void;
  /** Bytes as they come. There is no back-pressure: the child never waits for us. */
  stdout(chunk: Buffer): void;
  stderr(chunk: Buffer): void;
  /** The process itself has ended. Says nothing about processes it started. */
  exited(exit: { code: number | null; signal: string | null }): void;
  /** Both streams have been read as far as they will be; the pipes are closed on our side. */
  drained(how: DrainEnd): void;
}

export interface Child {
  /** Null when it could not be started. */
  readonly pid: number | null;
  /** Queues text for stdin. Without effect once stdin is closed or the child is gone; says nothing about being read. */
  write(text: string): void;
  /** Closes stdin after what was queued. */
  closeStdin(): void;
  /** Bytes queued for stdin that the system has not taken. */
  readonly blocked: number;
}

/** Monotonic milliseconds and timers; replaced in tests. */
export interface Clock {
  setTimeout(action: () => void, ms: number): unknown;
  clearTimeout(timer: unknown): void;
  now(): number;
}

const systemClock: Clock = {
  setTimeout: (action, ms) => setTimeout(action, ms),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
  now: () => performance.now(),
};

/**
 * Starts a child in a process group and session of its own, whose number is the child's pid.
 *
 * The child is not ended when this process ends. Handlers must not throw.
 */
export function launch(spec: LaunchSpec, handlers: ChildHandlers, options: { clock?: Clock } = {}): Child {
  const foreseen = foresee(spec);
  if (foreseen !== null) return unstarted(Promise.resolve(foreseen), handlers);
  const outcome = spawnLean({ ...spec, stdin: spec.stdin.type === 'none' ? 'ignore' : 'pipe' });
  if (outcome.type === 'refused') {
    return unstarted(
      outcome.why.then((error) => spawnFailure(error, spec)),
      handlers,
    );
  }
  // Read now: until the loop turns, not even a child that has ended can have been reaped, so the pid is its own.
  const startTime = startTimeOf(outcome.pid);
  queueMicrotask(() => handlers.started({ pid: outcome.pid, startTime }));
  follow(outcome, handlers, options.clock ?? systemClock);
  const child = childOf(outcome.pid, outcome.stdin);
  if (spec.stdin.type === 'text') {
    child.write(spec.stdin.text);
    child.closeStdin();
  }
  return child;
}

function unstarted(failure: Promise<Failure>, handlers: ChildHandlers): Child {
  void failure.then((value) => handlers.unstarted(value));
  return childOf(null, null);
}

function childOf(pid: number | null, stdin: Writable | null): Child {
  // A child that does not read, or has gone, is no error here (EPIPE, ECONNRESET): its exit tells.
  stdin?.on('error', ignore);
  return {
    pid,
    write(text) {
      if (stdin?.writable === true) stdin.write(text);
    },
    closeStdin() {
      if (stdin?.writable === true) stdin.end();
    },
    get blocked() {
      return stdin === null || stdin.destroyed ? 0 : stdin.writableLength;
    },
  };
}

/** Carries output and exit to the handlers, and ends the reading (drain.ts says when). */
function follow(child: Spawned, handlers: ChildHandlers, clock: Clock): void {
  const streams = [child.stdout, child.stderr];
  let open = streams.length;
  let exitedAt: number | null = null;
  let lastBytesAt = 0;
  let timer: unknown;
  let done = false;

  const receive = (deliver: (chunk: Buffer) => void) => (chunk: Buffer) => {
    if (done) return;
    if (exitedAt !== null) lastBytesAt = clock.now();
    deliver(chunk);
  };
  const decide = (): void => {
    if (done || exitedAt === null) return;
    const now = clock.now();
    const decision = decideDrain({ open: open > 0, sinceExitMs: now - exitedAt, quietForMs: now - lastBytesAt });
    clock.clearTimeout(timer);
    if (decision.type === 'wait') {
      timer = clock.setTimeout(onTimer, decision.ms);
      return;
    }
    done = true;
    for (const stream of streams) stream.destroy();
    handlers.drained(decision.how);
  };
  // The loop may have been blocked: what waits in the pipes is read before we call them quiet.
  const onTimer = (): void => void setImmediate(decide);

  listen(child.stdout, receive(handlers.stdout.bind(handlers)));
  listen(child.stderr, receive(handlers.stderr.bind(handlers)));
  for (const stream of streams) {
    stream.on('close', () => {
      open -= 1;
      decide();
    });
  }
  child.process.once('exit', (code, signal) => {
    exitedAt = clock.now();
    lastBytesAt = exitedAt;
    handlers.exited({ code, signal });
    decide();
  });
}

function listen(stream: Readable, receive: (chunk: Buffer) => void): void {
  stream.on('data', receive);
  // A broken pipe ends like a closed one.
  stream.on('error', ignore);
}

function ignore(): void {}
