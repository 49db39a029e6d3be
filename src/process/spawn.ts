import type { ChildProcess } from 'node:child_process';
import { channel } from 'node:diagnostics_channel';
import { execa } from 'execa';
import { GATE_FD } from './container/index.ts';
import { errorOf, ignore, lastWords, type Spawn, type SpawnOutcome, type SpawnSpec } from './spawned.ts';

/** Node announces each child here as soon as it exists, before the system is asked for a process. */
const births = channel('child_process');

/**
 * Starts one child through execa, lean, in a session and process group of its own.
 *
 * execa's promise is not used for the lifecycle: it waits for the pipes, which a grandchild may hold for ever.
 * It is used where nothing else speaks: a refusal that Node throws (E2BIG) reaches us only there.
 */
export const spawnLean: Spawn = (spec) => {
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
};

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
