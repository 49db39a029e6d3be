import { hostPlatform, type Platform } from './platform.ts';
import { readStat } from './proc.ts';

/** Whom we never signal and never count as a member: this process, those above it, and the first one. */
export function protectedPids(platform: Platform = hostPlatform()): Set<number> {
  const pids = new Set([0, 1, process.pid, process.ppid]);
  if (platform.list !== 'proc') return pids;
  // Read each time: parents change when one of them dies. A chain is a handful of processes.
  for (let pid = process.ppid; pid > 1;) {
    const stat = readStat(pid);
    if (stat.type !== 'read' || pids.has(stat.value.ppid)) break;
    pid = stat.value.ppid;
    pids.add(pid);
  }
  return pids;
}

/** The process group this process runs in; null where it cannot be read. */
export function ownGroup(platform: Platform = hostPlatform()): number | null {
  if (platform.list !== 'proc') return null;
  const stat = readStat(process.pid);
  return stat.type === 'read' ? stat.value.pgid : null;
}
