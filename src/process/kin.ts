import type { Member } from '../../machines/protocol.ts';
import { protectedPids } from './guard.ts';
import type { Identity } from './identity/index.ts';
import { hostPlatform, type Platform } from './platform.ts';
import { childrenOf, listPids, readStat, type ProcStat } from './proc.ts';

/**
 * Who has been seen to belong to an attempt. A process that sheds token, session and parent afterwards stays a member:
 * its identity does not change. Holds living processes only, as of the last look or note.
 */
export interface Kin {
  /** How this very process became a member; null when it was never seen as one. */
  recall(pid: number, startTime: number): Member['by'] | null;
  add(pid: number, startTime: number, by: Member['by']): void;
  /** Everybody now remembered. */
  all(): { pid: number; startTime: number }[];
  /** Forgets those of whom nothing runs any more. */
  prune(): void;
}

export function createKin(): Kin {
  const seen = new Map<number, { startTime: number; by: Member['by'] }>();
  return {
    recall(pid, startTime) {
      const one = seen.get(pid);
      return one?.startTime === startTime ? one.by : null;
    },
    add(pid, startTime, by) {
      // Leader and group are told anew each time; whoever leaves the group is known by descent.
      const how = by === 'leader' || by === 'group' ? 'descent' : by;
      if (seen.get(pid)?.startTime !== startTime) seen.set(pid, { startTime, by: how });
    },
    all: () => [...seen].map(([pid, { startTime }]) => ({ pid, startTime })),
    prune() {
      for (const [pid, { startTime }] of seen) if (isOver(pid, startTime)) seen.delete(pid);
    },
  };
}

/**
 * Remembers who descends from the attempt's leader and from everybody remembered, at this moment. Meant for the moment
 * before the first signal: afterwards parents end, and their children are handed to others.
 *
 * Blocks for about 0.1 ms a descendant. Where the kernel keeps no lists of children, for one pass over /proc.
 * Does nothing without /proc, or for a target without `kin`. Returns how many are remembered.
 */
export function note(target: { leader: Identity; kin?: Kin }, platform: Platform = hostPlatform()): number {
  const { kin, leader } = target;
  if (kin === undefined || platform.list !== 'proc' || leader.startTime === null) return 0;
  kin.add(leader.pid, leader.startTime, 'leader');
  kin.prune();
  const spared = protectedPids(platform);
  const children = childrenLister();
  const open = kin.all();
  for (let parent = open.pop(); parent !== undefined; parent = open.pop()) {
    for (const pid of children(parent.pid)) {
      const child = childStat(pid, parent.pid);
      if (child === null || spared.has(pid) || child.startTime < leader.startTime) continue;
      if (kin.recall(pid, child.startTime) !== null) continue;
      kin.add(pid, child.startTime, 'descent');
      open.push({ pid, startTime: child.startTime });
    }
  }
  return kin.all().length;
}

/**
 * Whether the process still is a child of that very parent. The child is read first: while it names its parent,
 * the parent is there, and nobody else has its number.
 */
export function isChildOf(child: ProcStat, parent: Identity): boolean {
  const now = childStat(child.pid, parent.pid);
  if (now?.startTime !== child.startTime) return false;
  const above = readStat(parent.pid);
  return above.type === 'read' && above.value.startTime === parent.startTime;
}

function isOver(pid: number, startTime: number): boolean {
  const stat = readStat(pid);
  return stat.type === 'gone' || (stat.type === 'read' && (stat.value.gone || stat.value.startTime !== startTime));
}

function childStat(pid: number, parent: number): ProcStat | null {
  const stat = readStat(pid);
  return stat.type === 'read' && stat.value.ppid === parent ? stat.value : null;
}

/** The kernel's lists; where there are none, one pass over everybody's parents. */
function childrenLister(): (pid: number) => readonly number[] {
  let byParent: Map<number, number[]> | undefined;
  return (pid) => {
    const listed = childrenOf(pid);
    if (listed !== null) return listed;
    if (childrenOf(process.pid) !== null) return [];
    byParent ??= everybodyByParent();
    return byParent.get(pid) ?? [];
  };
}

function everybodyByParent(): Map<number, number[]> {
  const byParent = new Map<number, number[]>();
  for (const pid of listPids()) {
    const stat = readStat(pid);
    if (stat.type !== 'read') continue;
    const siblings = byParent.get(stat.value.ppid);
    if (siblings === undefined) byParent.set(stat.value.ppid, [pid]);
    else siblings.push(pid);
  }
  return byParent;
}
