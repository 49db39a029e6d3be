import { existsSync } from 'node:fs';
import { CoxswainError } from '../errors.ts';
import { type RunDir, findRun, resolveRoot, secureRoot } from '../record/light.ts';

/** Where the runs are. */
export interface Place {
  /** State root. Default: COXSWAIN_HOME, else `$XDG_STATE_HOME/coxswain`, else `~/.local/state/coxswain`. */
  root?: string | undefined;
  /** Read for the state root only. Default: this process's environment. */
  env?: Readonly<Record<string, string | undefined>>;
}

export type NotFound = { type: 'missing'; id: string; root: string } | { type: 'ambiguous'; id: string; ids: string[] };

export type Found = { type: 'found'; id: string; dir: RunDir } | NotFound;

/**
 * The state root. It is not made: where there is none, there are no runs.
 * @throws CoxswainError `root-refused` when it is not ours, or others may write to it.
 */
export function rootOf({ root, env = process.env }: Place): string {
  const resolved = resolveRoot({ root, env });
  if (resolved.type === 'refused') throw new CoxswainError('root-refused', resolved.message);
  if (!existsSync(resolved.root)) return resolved.root;
  const secured = secureRoot(resolved.root);
  if (secured.type === 'refused') throw new CoxswainError('root-refused', secured.message);
  return secured.root;
}

/** The run with this id, or the only one whose id begins so; an exact id wins. @throws CoxswainError `root-refused` */
export function find(idOrPrefix: string, place: Place = {}): Found {
  const root = rootOf(place);
  const found = findRun(root, idOrPrefix);
  switch (found.type) {
    case 'found':
      return found;
    case 'none':
      return { type: 'missing', id: idOrPrefix, root };
    case 'ambiguous':
      return { type: 'ambiguous', id: idOrPrefix, ids: found.ids };
  }
}
