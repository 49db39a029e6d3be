import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Kit } from './kit.ts';
import type { Entry } from './table.ts';

/** Names a folder in which a child declares who may outlive it: one empty file a process, called by its pid. */
export const SURVIVORS_ENV = 'COXSWAIN_SURVIVORS_DIR';

/** More than this is no declaration any more. */
const MOST = 64;

export const survivorsDir = (kit: Kit, { step, n }: { step: string; n: number }): string =>
  join(kit.dir.attempt(step, n).path, 'survivors');

/**
 * Pids that the attempt's child has declared, where the plan lets it. Only members of the attempt can be declared:
 * the caller looks them up among those it has found.
 */
export function declaredSurvivors(kit: Kit, entry: Pick<Entry, 'step' | 'n'>): Set<number> {
  if (kit.step(entry.step).survivors !== 'declared') return new Set();
  try {
    const names = readdirSync(survivorsDir(kit, entry)).slice(0, MOST);
    return new Set(names.map(Number).filter((pid) => Number.isSafeInteger(pid) && pid > 1));
  } catch {
    return new Set();
  }
}
