import type { ChildProcess } from 'node:child_process';
import { channel } from 'node:diagnostics_channel';
import type { Duplex, Readable, Writable } from 'node:stream';
import { execa } from 'execa';
import { GATE_FD } from './container/index.ts';
import type { Launchable } from './failure.ts';

export interface Spawned {
  type: 'spawned';
  pid: number;
  process: ChildProcess;
  stdin: Writable | null;
  stdout: Readable;
  stderr: Readable;
  /** Descriptor 3 of the child, both ways, if one was asked for. */
  gate: Duplex | null;
}

export type SpawnSpec = Launchable & { stdin: 'ignore' | 'pipe'; gate: boolean };

/** `why` settles, soon and always, with what the system said. */
export type SpawnOutcome = Spawned | { type: 'refused'; why: Promise<unknown> };

/** Node announces each child here as soon as it exists, before the system is asked for a process. */
const births = channel('child_process');

/**
 * Starts one child through execa, lean, in a session and process group of its own.
 *
 * execa's promise is not used for the lifecycle: it waits for the pipes, which a grandchild may hold for ever.
 * It is used where nothing else speaks: a refusal that Node throws (E2BIG) reaches us only there.
 */
export function spawnLean(spec: SpawnSpec): SpawnOutcome {
  let born: ChildProcess | undefined;
  const notice = (message: unknown): void => {
    born = (message as { process: ChildProcess }).process;
  };
  births.subscribe(notice);
  try {
    return start(spec);
  } catch (error) {
    // Out of descriptors (EMFILE), Node leaves the child without streams and reports later, by an event. execa stumbles
    // over the missing streams before it listens, and the event would end the whole process. So we listen.
    return { type: 'refused', why: born === undefined ? Promise.resolve(error) : lastWords(born, error) };
  } finally {
    births.unsubscribe(notice);
  }
}

function start(spec: SpawnSpec): SpawnOutcome {
  const [command, ...args] = spec.argv;
  const child = execa(command ?? '', args, {
    cwd: spec.cwd,
    env: spec.env,
    extendEnv: false,
    shell: spec.shell,
    stdio: spec.gate ? [spec.stdin, 'pipe', 'pipe', 'pipe'] : [spec.stdin, 'pipe', 'pipe'],
    detached: true,
    reject: false,
    buffer: false,
    cleanup: false,
    verbose: 'none',
  });
  // An error after the start has no consequence of its own: the exit is what counts. Never let it be unhandled.
  child.on('error', ignore);
  const settled = child.then(
    (result: unknown) => result,
    (error: unknown) => error,
  );
  if (child.pid === undefined) return { type: 'refused', why: Promise.race([errorOf(child), settled]) };
  return {
    type: 'spawned',
    pid: child.pid,
    process: child,
    stdin: child.stdin,
    stdout: child.stdout,
    stderr: child.stderr,
    // libuv makes its pipes as pairs of sockets: every one of them can be read and written.
    gate: spec.gate ? (child.stdio[GATE_FD] ?? null) : null,
  };
}

/** The event comes on the next tick or never; then what was thrown is all there is. */
function lastWords(born: ChildProcess, thrown: unknown): Promise<unknown> {
  const never = new Promise((resolve) => setImmediate(resolve, thrown));
  return Promise.race([errorOf(born), never]);
}

function errorOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once('error', resolve));
}

function ignore(): void {}
