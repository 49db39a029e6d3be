import type { ChildProcess } from 'node:child_process';
import type { Duplex, Readable, Writable } from 'node:stream';
import type { Launchable } from './failure.ts';

export type SpawnSpec = Launchable & { stdin: 'ignore' | 'pipe'; gate: boolean };

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

/** `why` settles, soon and always, with what the system said. */
export type SpawnOutcome = Spawned | { type: 'refused'; why: Promise<unknown> };

/** Starts one child in a session and process group of its own, its output in pipes. Blocks until it runs or is refused. */
export type Spawn = (spec: SpawnSpec) => SpawnOutcome;

/** The event comes on the next tick or never; then what was thrown is all there is. */
export function lastWords(born: ChildProcess, thrown: unknown): Promise<unknown> {
  const never = new Promise((resolve) => setImmediate(resolve, thrown));
  return Promise.race([errorOf(born), never]);
}

export function errorOf(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve) => child.once('error', resolve));
}

/** An error after the start has no consequence of its own: the exit is what counts. Never let it be unhandled. */
export function ignore(): void {}
