import { realpathSync } from 'node:fs';
import { sep } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { startedBefore, type TreeTarget } from './belong.ts';
import { protectedPids } from './guard.ts';
import { hostPlatform, type Platform } from './platform.ts';
import { listPids, readProcLink, readStat } from './proc.ts';

/** A process that merely sits in the work tree. Shown to people; never signalled. */
export interface Suspect {
  pid: number;
  startTime: number;
  command: string;
}

const SLICE_MS = 5;

/**
 * Processes that started later than the attempt and have their working directory inside its work tree, without the members
 * (`known`), this process and those above it. Null where nothing can be listed. Reads in slices of about 5 ms.
 */
export async function suspects(
  target: TreeTarget,
  workTree: string,
  known: readonly { pid: number }[] = [],
  platform: Platform = hostPlatform(),
): Promise<Suspect[] | null> {
  const root = realPath(workTree);
  if (platform.list !== 'proc' || root === null) return null;
  const spared = protectedPids(platform);
  for (const { pid } of known) spared.add(pid);
  const sitting: Suspect[] = [];
  let sliceAt = performance.now();
  for (const pid of listPids()) {
    const suspect = spared.has(pid) ? null : suspectOf(pid, target, root);
    if (suspect !== null) sitting.push(suspect);
    if (performance.now() - sliceAt < SLICE_MS) continue;
    // oxlint-disable-next-line no-await-in-loop -- the loop's turn comes between slices
    await turn();
    sliceAt = performance.now();
  }
  return sitting;
}

function suspectOf(pid: number, target: TreeTarget, root: string): Suspect | null {
  const cwd = readProcLink(pid, 'cwd');
  if (cwd.type !== 'read' || (cwd.value !== root && !cwd.value.startsWith(root + sep))) return null;
  const stat = readStat(pid);
  if (stat.type !== 'read' || stat.value.gone || startedBefore(stat.value, target.leader)) return null;
  return { pid, startTime: stat.value.startTime, command: stat.value.command };
}

function realPath(path: string): string | null {
  try {
    return realpathSync(path);
  } catch {
    return null;
  }
}
