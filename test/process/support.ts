import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect } from 'vitest';
import type { Failure } from '../../machines/protocol.ts';
import {
  launch,
  newToken,
  TOKEN_ENV,
  tokenValue,
  type Container,
  treeOf,
  type LaunchSpec,
  type OwnChild,
  type Started,
  type TreeTarget,
} from '../../src/process/index.ts';

const groups = new Set<number>();
const folders: string[] = [];

afterEach(() => {
  for (const pgid of groups) quietly(() => process.kill(-pgid, 'SIGKILL'));
  groups.clear();
  for (const made of folders.splice(0)) rmSync(made, { recursive: true, force: true });
});

export const plainEnv: Record<string, string> = { PATH: process.env['PATH'] ?? '/usr/bin:/bin' };

export interface Recording {
  child: OwnChild;
  token: string;
  /** Names of what the handlers got, in order. */
  log: string[];
  stdout(): Buffer;
  stderr(): Buffer;
  started: Promise<Started>;
  unstarted: Promise<Failure>;
  exited: Promise<{ code: number | null; signal: string | null; at: number }>;
  drained: Promise<{ how: string; at: number }>;
}

const keepIn = (kept: Buffer[]) => (chunk: Buffer) => void kept.push(chunk);

/** Launches and writes down everything; a tap gets the bytes instead. The child's group is ended after the test. */
export function record(
  argv: string[],
  spec: Partial<LaunchSpec> = {},
  taps: { stdout?: (chunk: Buffer) => void; stderr?: (chunk: Buffer) => void } = {},
): Recording {
  const token = newToken();
  const started = deferred<Started>();
  const unstarted = deferred<Failure>();
  const exited = deferred<{ code: number | null; signal: string | null; at: number }>();
  const drained = deferred<{ how: string; at: number }>();
  const log: string[] = [];
  const out: Buffer[] = [];
  const err: Buffer[] = [];
  const child = launch(
    {
      argv,
      shell: false,
      cwd: tmpdir(),
      stdin: { type: 'none' },
      ...spec,
      env: { ...plainEnv, [TOKEN_ENV]: tokenValue(process.env[TOKEN_ENV], token), ...spec.env },
    },
    {
      started: (process) => (log.push('started'), started.resolve(process)),
      unstarted: (failure) => (log.push('unstarted'), unstarted.resolve(failure)),
      stdout: (chunk) => (log.push('stdout'), (taps.stdout ?? keepIn(out))(chunk)),
      stderr: (chunk) => (log.push('stderr'), (taps.stderr ?? keepIn(err))(chunk)),
      exited: (exit) => (log.push('exited'), exited.resolve({ ...exit, at: performance.now() })),
      drained: (how) => (log.push('drained'), drained.resolve({ how, at: performance.now() })),
    },
  );
  if (child.pid !== null) groups.add(child.pid);
  return {
    child,
    token,
    log,
    stdout: () => Buffer.concat(out),
    stderr: () => Buffer.concat(err),
    started: started.promise,
    unstarted: unstarted.promise,
    exited: exited.promise,
    drained: drained.promise,
  };
}

export async function targetOf(recording: Recording): Promise<TreeTarget> {
  const leader = await recording.started;
  return { pgid: leader.pid, token: recording.token, leader };
}

/** With memory and pipes, as an attempt keeps it. */
export async function treeOfRun(recording: Recording, container: Container | null = null): Promise<TreeTarget> {
  return treeOf(await recording.started, recording.token, container);
}

/** Ended after the test too: for processes that left the child's group. */
export function endLater(pgid: number): void {
  groups.add(pgid);
}

export function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'coxswain-process-'));
  folders.push(made);
  return made;
}

export function script(name: string, text: string, mode = 0o755): string {
  const path = join(folder(), name);
  writeFileSync(path, text, { mode });
  return path;
}

function deferred<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let settle: ((value: T) => void) | undefined;
  const promise = new Promise<T>((resolve) => (settle = resolve));
  return { promise, resolve: (value) => settle?.(value) };
}

/** Waits until the condition gives a value; fails loudly after the deadline. */
export async function until<T>(what: string, condition: () => T | false | null | undefined, ms = 10_000): Promise<T> {
  for (const end = performance.now() + ms; ;) {
    const value = condition();
    if (value !== false && value !== null && value !== undefined) return value;
    if (performance.now() > end) expect.fail(`in vain waited for: ${what}`);
    await sleep(5);
  }
}

/** The first line of stdout, as soon as it is there. */
export function firstLine(recording: Recording): Promise<string> {
  return until('a line on stdout', () => {
    const text = recording.stdout().toString();
    return text.includes('\n') && text.slice(0, text.indexOf('\n'));
  });
}

function quietly(action: () => void): void {
  try {
    action();
  } catch {
    // Gone already.
  }
}
