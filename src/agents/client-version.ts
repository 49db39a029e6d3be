import { readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Agent } from './registry.ts';
import { readVersion } from './version.ts';

/** Folders above a program that are looked through for the package it belongs to. */
const MOST_LEVELS = 6;

export interface ClientVersions {
  /** Of the client of this agent; null: not known. One look a program, whoever asks how often. */
  of(agent: Agent): Promise<string | null>;
  /** Nobody will ask any more: a program that has been started for it is ended. */
  close(): void;
}

/**
 * The versions of clients, for the record of launches: what their package says, else what the program says itself. Only a
 * program that was found on PATH by its usual name is started for that: what a definition or a variable names may be
 * anything, and take the question for work.
 */
export function createClientVersions(env: Readonly<Record<string, string>>): ClientVersions {
  const known = new Map<string, Promise<string | null>>();
  const closing = new AbortController();
  return {
    of({ adapter, settings, foundBy }) {
      const { command = [] } = settings;
      if (adapter.program === null || command.length === 0) return Promise.resolve(null);
      const key = JSON.stringify(command);
      const before = known.get(key);
      if (before !== undefined) return before;
      const looked = versionOf(command, foundBy === 'path', env, closing.signal);
      known.set(key, looked);
      return looked;
    },
    close: () => closing.abort(),
  };
}

async function versionOf(
  command: readonly string[],
  mayStart: boolean,
  env: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<string | null> {
  const ofPackage = await packagedVersion(command);
  return ofPackage ?? (mayStart ? readVersion(command, { ...env }, { signal, timeoutMs: 5_000 }) : null);
}

/** What the package says that has the program among its own; or the program's own name, where that is a version. */
async function packagedVersion([program = '', script]: readonly string[]): Promise<string | null> {
  const file = /^node(?:\.exe)?$/.test(basename(program)) ? script : program;
  if (file === undefined || !file.includes('/')) return null;
  try {
    const path = await realpath(file);
    if (/^\d+\.\d+\.\d+/.test(basename(path))) return basename(path);
    let folder = dirname(path);
    for (let level = 0; level < MOST_LEVELS && dirname(folder) !== folder; level++, folder = dirname(folder)) {
      const version = await versionIn(folder, path);
      if (version !== null) return version;
    }
  } catch {
    // It is not there, or not ours to read: then it is not known.
  }
  return null;
}

async function versionIn(folder: string, program: string): Promise<string | null> {
  const text = await readFile(join(folder, 'package.json'), 'utf8').catch(() => null);
  if (text === null) return null;
  const { version, bin } = JSON.parse(text) as { version?: unknown; bin?: unknown };
  const programs = typeof bin === 'string' ? [bin] : Object.values((bin ?? {}) as Record<string, unknown>);
  const isOurs = programs.some((name) => typeof name === 'string' && resolve(folder, name) === program);
  return isOurs && typeof version === 'string' ? version : null;
}
