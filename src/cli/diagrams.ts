import { copyFileSync, mkdirSync, readdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { EXIT } from './codes.ts';
import { type Io, fail, printJson } from './io.ts';
import { packageRoot } from './version.ts';
import { count } from './words.ts';

export interface DiagramsOptions {
  out?: string;
  list?: boolean;
  json?: boolean;
}

export function diagramsFolder(): string {
  return join(packageRoot(), 'diagrams');
}

/** The files this package was shipped with, sorted; none where they are missing. */
export function diagramFiles(): string[] {
  try {
    return readdirSync(diagramsFolder()).toSorted();
  } catch {
    return [];
  }
}

export async function diagrams({ out, list, json }: DiagramsOptions, io: Io): Promise<number> {
  if (out !== undefined && list === true)
    return fail(io, EXIT.usage, '--out copies and --list does not: give one of them');
  const files = diagramFiles();
  if (files.length === 0)
    return fail(io, EXIT.missing, `there are no diagrams in ${diagramsFolder()}: install coxswain again`);
  const copied = out === undefined ? null : copyTo(files, resolve(out));
  if (copied?.type === 'failed') return fail(io, EXIT.failed, copied.message);
  const folder = out === undefined ? diagramsFolder() : resolve(out);
  const paths = files.map((file) => join(folder, file));
  if (json === true) await printJson(io, { v: 1, files: paths });
  else if (copied === null) await io.out.write(`${paths.join('\n')}\n`);
  else io.out.line(`${count(files.length, 'file')} copied to ${folder}`);
  return EXIT.ok;
}

function copyTo(files: readonly string[], folder: string): { type: 'ok' } | { type: 'failed'; message: string } {
  try {
    mkdirSync(folder, { recursive: true });
    for (const file of files) copyFileSync(join(diagramsFolder(), file), join(folder, file));
    return { type: 'ok' };
  } catch (error) {
    return {
      type: 'failed',
      message: `the diagrams cannot be copied: ${error instanceof Error ? error.message : String(error)}`,
    };
  }
}
