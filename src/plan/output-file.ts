import { posix, win32 } from 'node:path';
import type { ResolvedOutput } from './types.ts';

/** All that a step has to write. */
export function outputFiles(output: ResolvedOutput | null): string[] {
  return output === null ? [] : [...(output.file === null ? [] : [output.file]), ...output.files];
}

/** Why a path cannot be that of an output file; null: it can. */
export function badOutputFile(file: string): string | null {
  if (posix.isAbsolute(file) || win32.isAbsolute(file)) return "must be relative to the step's working directory";
  const plain = posix.normalize(file.replaceAll('\\', '/'));
  if (plain === '..' || plain.startsWith('../')) return "leads out of the step's working directory";
  return plain === '.' || plain.endsWith('/') ? 'must name a file, not a folder' : null;
}
