import { existsSync, readdirSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** In the order in which they are named to people. */
const NAMES = ['coxswain.config.json', 'coxswain.config.yaml', 'coxswain.config.yml', 'coxswain.config.mjs'];

export type FoundConfig =
  | { type: 'none' }
  | { type: 'file'; path: string; isCode: boolean }
  /** There is one, and it is not used. */
  | { type: 'passed-over'; path: string; why: string }
  /** It cannot be told what is meant, or the file is not to be trusted. */
  | { type: 'refused'; path: string; why: string };

/**
 * The nearest config file: of `cwd`, else of the folders above it, up to the root of the repository. Outside a repository
 * only of `cwd`. A program (`.mjs`) is taken from the folder only where the user is (`here`): whoever goes into a folder
 * of somebody else's repository has not yet agreed to run what lies at its top.
 */
export function findConfig(cwd: string, here: string): FoundConfig {
  for (const folder of foldersOf(cwd)) {
    const names = configsIn(folder);
    const [first, second] = names;
    if (first === undefined) continue;
    const path = join(folder, first);
    if (second !== undefined) return { type: 'refused', path, why: `beside it lies ${second}: keep one of them` };
    const foreign = distrust(path);
    if (foreign !== null) return { type: 'refused', path, why: `${foreign}: if you trust it, name it with --config` };
    const isCode = first.endsWith('.mjs');
    if (isCode && folder !== here) {
      const why = 'a program is only run where you are: go to its folder, or name it with --config';
      return { type: 'passed-over', path, why };
    }
    return { type: 'file', path, isCode };
  }
  return { type: 'none' };
}

function foldersOf(cwd: string): string[] {
  const folders: string[] = [];
  for (let folder = cwd; ; folder = dirname(folder)) {
    folders.push(folder);
    if (existsSync(join(folder, '.git'))) return folders;
    if (dirname(folder) === folder) return [cwd];
  }
}

function configsIn(folder: string): string[] {
  try {
    const there = new Set(readdirSync(folder));
    return NAMES.filter((name) => there.has(name));
  } catch {
    return [];
  }
}

/** It names programs to start: one that somebody else may write is not taken by chance. */
function distrust(path: string): string | null {
  const uid = process.getuid?.();
  const stat = statSync(path, { throwIfNoEntry: false });
  if (uid === undefined || stat === undefined) return null;
  if (stat.uid !== uid && stat.uid !== 0) return 'it belongs to another user';
  return (stat.mode & 0o002) === 0 ? null : 'everybody may write it';
}
