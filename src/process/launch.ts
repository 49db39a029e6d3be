import type { Readable, Writable } from 'node:stream';
import type { Failure } from '../../machines/protocol.ts';
import { decideDrain } from './drain.ts';
import type { Container } from './container/index.ts';
import { enterFailure, foresee, foreseeProgram, spawnFailure, type Launchable } from './failure.ts';
import { passGate } from './gate.ts';
import { hold, type ChildHandlers, type Started } from './handlers.ts';
import { startTimeOf } from './identity/index.ts';
import { hostPlatform } from './platform.ts';
import { readProcLink } from './proc.ts';
import { ignore, type Spawn, type Spawned } from './spawned.ts';

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
  /** What the child is started in, from its first instruction on. Default none. */
  contain?: Container | null;
}

export interface Child {
  /** Queues text for stdin. Without effect once stdin is closed or the child is gone; says nothing about being read. */
  write(text: string): void;
  /** Closes stdin after what was queued. */
  closeStdin(): void;
}

/** One that is a child of this very process. */
export interface OwnChild extends Child {
  /** Null when it could not be started. In a container it may also be a wrapper's that never began the program: `unstarted` tells. */
  readonly pid: number | null;
  /** Bytes queued for stdin that the system has not taken. */
  readonly blocked: number;
  /** While held nothing is read and no silence counts: what the child writes stays in its pipes, and then it waits. */
  hold(held: boolean): void;
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
 * In a container (`contain`) a few lines of shell go ahead of the program: `started` comes when they are inside,
 * before the program's first instruction, some 2 ms later than otherwise. If they fail to get there, `unstarted` comes
 * after they have ended.
 */
export function launchBy(
  spawn: Spawn,
  spec: LaunchSpec,
  handlers: ChildHandlers,
  options: { clock?: Clock } = {},
): OwnChild {
  const container = spec.contain ?? null;
  const foreseen = foresee(spec) ?? (container === null ? null : foreseeProgram(plainArgv(spec)));
  if (foreseen !== null) return unstarted(Promise.resolve(foreseen), handlers);
  const outcome = spawn({
    ...(container === null ? spec : wrapped(spec, container)),
    stdin: spec.stdin.type === 'none' ? 'ignore' : 'pipe',
    gate: container !== null,
  });
  if (outcome.type === 'refused') {
    return unstarted(
      outcome.why.then((error) => spawnFailure(error, spec)),
      handlers,
    );
  }
  // Read now: until the loop turns, not even a child that has ended can have been reaped, so the pid is its own.
  const started = { pid: outcome.pid, startTime: startTimeOf(outcome.pid), pipes: pipesOf(outcome.pid) };
  const clock = options.clock ?? systemClock;
  if (container === null) queueMicrotask(() => handlers.started(started));
  const holdReading =
    container === null ? follow(outcome, handlers, clock) : enter(outcome, spec, container, started, handlers, clock);
  const child = childOf(outcome.pid, outcome.stdin, holdReading);
  if (spec.stdin.type === 'text') {
    child.write(spec.stdin.text);
    child.closeStdin();
  }
  return child;
}

/** A shell's command line as arguments, since what enters a container takes those only. */
function plainArgv(spec: LaunchSpec): LaunchSpec {
  return spec.shell ? { ...spec, argv: ['/bin/sh', '-c', ...spec.argv], shell: false } : spec;
}

function wrapped(spec: LaunchSpec, container: Container): LaunchSpec {
  const plain = plainArgv(spec);
  return { ...plain, argv: container.enter(plain.argv, plain.env) };
}

/** What happens is kept back until the wrapper is inside, and dropped if it never is. */
function enter(
  outcome: Spawned,
  spec: LaunchSpec,
  container: Container,
  started: Started,
  handlers: ChildHandlers,
  clock: Clock,
): Hold {
  const held = hold(handlers);
  const ended = new Promise((resolve) => outcome.process.once('exit', resolve));
  const holdReading = follow(outcome, held.handlers, clock);
  // Read again here: the program has not begun, so nothing is closed or redirected.
  let pipes = started.pipes;
  const passed =
    outcome.gate === null
      ? Promise.resolve(false)
      : passGate(outcome.gate, () => {
          pipes = pipesOf(started.pid);
          container.entered(started.pid);
        });
  const conclude = async (): Promise<void> => {
    if (await passed) {
      handlers.started({ ...started, pipes });
      held.release();
      return;
    }
    await ended;
    handlers.unstarted(enterFailure(spec, container.kind));
  };
  void conclude();
  return holdReading;
}

/** Only sockets and pipes: what else stands there was opened by the child itself. */
function pipesOf(pid: number): string[] {
  if (hostPlatform().list !== 'proc') return [];
  return ['fd/1', 'fd/2'].flatMap((name) => {
    const link = readProcLink(pid, name);
    return link.type === 'read' && /^(?:socket|pipe):/.test(link.value) ? [link.value] : [];
  });
}

function unstarted(failure: Promise<Failure>, handlers: ChildHandlers): OwnChild {
  void failure.then((value) => handlers.unstarted(value));
  return childOf(null, null, ignore);
}

type Hold = OwnChild['hold'];

function childOf(pid: number | null, stdin: Writable | null, holdReading: Hold): OwnChild {
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
    hold: holdReading,
  };
}

/** Carries output and exit to the handlers, and ends the reading (drain.ts says when). */
function follow(child: Spawned, handlers: ChildHandlers, clock: Clock): Hold {
  const streams = [child.stdout, child.stderr];
  let open = streams.length;
  let exitedAt: number | null = null;
  let lastBytesAt = 0;
  let timer: unknown;
  let done = false;
  let held = false;

  const receive = (deliver: (chunk: Buffer) => void) => (chunk: Buffer) => {
    if (done) return;
    if (exitedAt !== null) lastBytesAt = clock.now();
    deliver(chunk);
  };
  const decide = (): void => {
    if (done || exitedAt === null || (held && open > 0)) return;
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

  return (wanted) => {
    if (wanted === held) return;
    held = wanted;
    for (const stream of streams) {
      if (held) stream.pause();
      else stream.resume();
    }
    // What waited in the pipes comes now: the silence begins anew, and so does the time for it.
    if (exitedAt !== null) exitedAt = lastBytesAt = clock.now();
    decide();
  };
}

function listen(stream: Readable, receive: (chunk: Buffer) => void): void {
  stream.on('data', receive);
  // A broken pipe ends like a closed one.
  stream.on('error', ignore);
}
