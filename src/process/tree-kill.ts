import treeKill from 'tree-kill';
import { protectedPids } from './guard.ts';
import type { SignalResult } from './signal.ts';
import { hostPlatform, type Platform } from './platform.ts';

/**
 * Ends a process and those it can be seen to have started, where process groups are not available (Windows: `taskkill /T /F`,
 * which knows no gentle signal). Processes whose parent has already ended are not found; nothing is proved.
 *
 * Refused (`use-groups`) where there are groups: signalGroup is exact and hundreds of times faster.
 * Ask only while the child's handle is live, so that its pid is its own.
 */
export async function endTreeByPid(
  pid: number,
  signal: NodeJS.Signals,
  platform: Platform = hostPlatform(),
): Promise<SignalResult> {
  if (platform.groups) return { targets: 0, error: 'use-groups' };
  if (protectedPids(platform).has(pid)) return { targets: 0, error: 'protected' };
  return new Promise((resolve) => {
    treeKill(pid, signal, (error) => resolve(error ? failureOf(error) : { targets: 1 }));
  });
}

/** `taskkill` exits 128 when there is no such process. */
const NO_SUCH_PROCESS = 128;

function failureOf(error: Error): SignalResult {
  const code = 'code' in error ? error.code : undefined;
  if (code === NO_SUCH_PROCESS) return { targets: 0 };
  return { targets: 0, error: typeof code === 'string' ? code : 'failed' };
}
