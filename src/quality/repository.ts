import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A folder in a git work tree, as far as its looks go: `.git` is there or above it. */
export function looksVersioned(folder: string): boolean {
  for (let at = folder; ; at = dirname(at)) {
    if (existsSync(join(at, '.git'))) return true;
    if (dirname(at) === at) return false;
  }
}
