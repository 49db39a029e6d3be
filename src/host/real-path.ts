import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { codeOf } from '../record/index.ts';

/**
 * Where a file really lies, or would: links are followed as far as there is something. So two names of one session
 * are one session, also before its agent has made it.
 */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch (error) {
    const parent = dirname(resolve(path));
    if (codeOf(error) !== 'ENOENT' || parent === resolve(path)) throw error;
    return join(realPathOf(parent), basename(path));
  }
}
