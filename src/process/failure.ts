import { accessSync, constants, statSync } from 'node:fs';
import { resolve } from 'node:path';
import type { Failure } from '../../machines/protocol.ts';
import type { ContainerKind } from './container/types.ts';
import { troubleWithProgram } from './program.ts';

/** What is looked at to tell failures apart. Arguments and values are never quoted: they may be secrets. */
export interface Launchable {
  argv: string[];
  shell: boolean;
  cwd: string;
  env: Record<string, string>;
}

type SpawnCode = Extract<
  Failure['code'],
  | 'command-missing'
  | 'command-not-executable'
  | 'argument-list-too-long'
  | 'argument-invalid'
  | 'resources-exhausted'
  | 'spawn-failed'
>;

/** What is wrong with a launch before anything is started; null when nothing is. */
export function foresee(spec: Launchable): Failure | null {
  return argumentFailure(spec) ?? cwdFailure(spec.cwd);
}

/** What would be wrong with starting this program through a wrapper: the same answers as without one. */
export function foreseeProgram(spec: Launchable): Failure | null {
  // The wrapper's `exec` would take it for an option of its own.
  if (spec.argv[0]?.startsWith('-') === true) return invalid('A command cannot begin with "-" here. Give its path.');
  const errno = troubleWithProgram(spec);
  return errno === null ? null : spawnFailure(Object.assign(new Error(errno), { code: errno }), spec);
}

/** The wrapper ended before it was inside the container: the program was never begun. */
export function enterFailure(spec: Launchable, kind: ContainerKind): Failure {
  return {
    code: 'spawn-failed',
    message: `"${commandOf(spec)}" was not started, because its process could not be put into its container. Look at what contains it, or run without.`,
    detail: { command: commandOf(spec), container: kind },
  };
}

/** A launch that the system refused, as one of our codes. */
export function spawnFailure(error: unknown, spec: Launchable): Failure {
  const errno = errnoOf(error);
  // The folder may have gone after we looked; the system reports that like a missing program.
  const moved = errno === 'ENOENT' ? cwdFailure(spec.cwd) : null;
  if (moved !== null) return moved;
  const code = codeOf(errno);
  return { code, message: messageFor(code, spec), detail: { command: commandOf(spec), errno } };
}

function codeOf(errno: string): SpawnCode {
  switch (errno) {
    case 'ENOENT':
    case 'ENOTDIR':
    case 'ENAMETOOLONG':
    case 'ELOOP':
      return 'command-missing';
    case 'EACCES':
    case 'EPERM':
    case 'ENOEXEC':
      return 'command-not-executable';
    case 'E2BIG':
      return 'argument-list-too-long';
    case 'ERR_INVALID_ARG_VALUE':
    case 'ERR_INVALID_ARG_TYPE':
      return 'argument-invalid';
    case 'EMFILE':
    case 'ENFILE':
    case 'EAGAIN':
    case 'ENOMEM':
      return 'resources-exhausted';
    default:
      return 'spawn-failed';
  }
}

function messageFor(code: SpawnCode, spec: Launchable): string {
  const command = commandOf(spec);
  switch (code) {
    case 'command-missing':
      return interpreterMissing(spec)
        ? `"${command}" exists, but the interpreter its first line names does not. Correct that line or install the interpreter.`
        : `There is no program "${command}". Install it, correct its name, or give its full path.`;
    case 'command-not-executable':
      return `"${command}" may not be executed. Make it executable (chmod +x), or name the program that runs it.`;
    case 'argument-list-too-long':
      return `The arguments and environment for "${command}" are larger than the system allows. Pass the data by stdin or in a file.`;
    case 'argument-invalid':
      return `The arguments or environment for "${command}" hold something that cannot be passed to a program.`;
    case 'resources-exhausted':
      return `The system has no room to start "${command}" (processes, open files or memory). Lower the concurrency or raise the limits (ulimit -n, -u).`;
    case 'spawn-failed':
      return `"${command}" could not be started. The detail holds the system's error code.`;
  }
}

function argumentFailure(spec: Launchable): Failure | null {
  const command = spec.argv[0];
  if (command === undefined || command === '') return invalid('There is no command: give a program to start.');
  const argument = spec.argv.findIndex((text) => text.includes('\0'));
  if (argument === 0) return invalid('The command holds a zero byte. Remove it.');
  if (argument > 0) return invalid(`Argument ${argument} of "${commandOf(spec)}" holds a zero byte. Remove it.`);
  if (spec.cwd.includes('\0')) return invalid('The working directory holds a zero byte. Remove it.');
  for (const [name, value] of Object.entries(spec.env)) {
    if (name.includes('\0')) return invalid('The name of an environment variable holds a zero byte. Remove it.');
    if (value.includes('\0')) return invalid(`The environment variable ${name} holds a zero byte. Remove it.`);
  }
  return null;
}

function cwdFailure(cwd: string): Failure | null {
  try {
    if (!statSync(cwd).isDirectory()) {
      return cwdMissing(cwd, 'ENOTDIR', `The working directory "${cwd}" is not a directory. Name one.`);
    }
    accessSync(cwd, constants.X_OK);
    return null;
  } catch (error) {
    const errno = errnoOf(error);
    const denied = errno === 'EACCES' || errno === 'EPERM';
    const message = denied
      ? `The working directory "${cwd}" may not be entered. Change its permissions or name another.`
      : `The working directory "${cwd}" does not exist. Make it or name another.`;
    return cwdMissing(cwd, errno, message);
  }
}

function cwdMissing(cwd: string, errno: string, message: string): Failure {
  return { code: 'cwd-missing', message, detail: { cwd, errno } };
}

function invalid(message: string): Failure {
  return { code: 'argument-invalid', message };
}

/** The text of a shell command is not shown: it may hold secrets, and what is started is the shell. */
function commandOf(spec: Launchable): string {
  if (spec.shell) return process.platform === 'win32' ? 'cmd.exe' : '/bin/sh';
  return spec.argv[0] ?? '';
}

function interpreterMissing(spec: Launchable): boolean {
  const command = commandOf(spec);
  if (!command.includes('/')) return false;
  try {
    return statSync(resolve(spec.cwd, command)).isFile();
  } catch {
    return false;
  }
}

function errnoOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
