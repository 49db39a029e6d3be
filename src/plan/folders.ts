import { statSync } from 'node:fs';
import { isAbsolute, resolve } from 'node:path';
import type { Finding, Path } from './types.ts';
import type { PlanView } from './view.ts';

export type FolderState = 'directory' | 'missing' | 'other';

/** Looks at the disk, following links. What cannot be looked at is as good as missing. */
export function folderState(path: string): FolderState {
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    return found === undefined ? 'missing' : found.isDirectory() ? 'directory' : 'other';
  } catch {
    return 'missing';
  }
}

/** The working directory of the plan is relative to `base`, the others to the plan's. */
export function checkFolders(view: PlanView, base: string, look: (path: string) => FolderState): Finding[] {
  const seen = new Map<string, FolderState>();
  const check = (path: Path, folder: string): Finding[] => {
    const state = seen.get(folder) ?? look(folder);
    seen.set(folder, state);
    if (state === 'directory') return [];
    return state === 'missing'
      ? [{ path, code: 'cwd-missing', message: `there is no directory ${folder}: make it first, or correct the path` }]
      : [{ path, code: 'cwd-not-a-directory', message: `${folder} is not a directory: correct the path` }];
  };
  const plan = resolve(base, view.cwd ?? '.');
  const wrong = check(['cwd'], plan);
  // Below a folder that is not there nothing can be right.
  const worthIt = (cwd: string): boolean => wrong.length === 0 || isAbsolute(cwd);
  const inner = (cwd: string | null, path: Path): Finding[] =>
    cwd === null || !worthIt(cwd) ? [] : check(path, resolve(plan, cwd));
  return [
    ...wrong,
    ...inner(view.defaults.cwd, ['defaults', 'cwd']),
    ...view.steps.flatMap((step) => inner(step.cwd, ['steps', step.index, 'cwd'])),
  ];
}
