import { accessSync, closeSync, constants, openSync, readSync, statSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';

interface Program {
  argv: readonly string[];
  cwd: string;
  env: Readonly<Record<string, string>>;
}

/** The system's error code that starting this program would give, as far as it can be told before; null when it looks startable. */
export type ProgramTrouble = 'ENOENT' | 'EACCES' | 'ELOOP' | null;

/**
 * Looks a program up the way the system does when it starts one: on the child's PATH, or by its path from the child's folder.
 * Needed where a wrapper starts it, whose failure would come too late and say too little.
 */
export function troubleWithProgram({ argv, cwd, env }: Program): ProgramTrouble {
  const name = argv[0] ?? '';
  if (name.includes('/')) return troubleWith(resolve(cwd, name));
  let trouble: ProgramTrouble = 'ENOENT';
  // An empty entry means the current folder.
  for (const folder of (env['PATH'] ?? '/usr/local/bin:/bin:/usr/bin').split(delimiter)) {
    const found = troubleWith(resolve(cwd, folder, name));
    if (found === null) return null;
    if (found === 'EACCES') trouble = found;
  }
  return trouble;
}

function troubleWith(file: string): ProgramTrouble {
  try {
    if (!statSync(file).isFile()) return 'EACCES';
    accessSync(file, constants.X_OK);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : '';
    return code === 'EACCES' || code === 'EPERM' ? 'EACCES' : code === 'ELOOP' ? 'ELOOP' : 'ENOENT';
  }
  const interpreter = interpreterOf(file);
  return interpreter === null ? null : troubleWithInterpreter(interpreter);
}

function troubleWithInterpreter(path: string): ProgramTrouble {
  try {
    accessSync(path, constants.X_OK);
    return null;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EACCES' ? 'EACCES' : 'ENOENT';
  }
}

/** What a script's first line names; null for anything else, and for what may be executed but not read. */
function interpreterOf(file: string): string | null {
  const bytes = Buffer.alloc(256);
  let descriptor: number | undefined;
  try {
    descriptor = openSync(file, 'r');
    const count = readSync(descriptor, bytes, 0, bytes.length, 0);
    return /^#![ \t]*(\/[^\s\0]*)/.exec(bytes.toString('latin1', 0, count))?.[1] ?? null;
  } catch {
    return null;
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}
