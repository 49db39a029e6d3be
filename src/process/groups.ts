import { belongs, type TreeTarget } from './belong.ts';
import { ownGroup, protectedPids } from './guard.ts';
import type { Identity } from './identity/index.ts';
import { hostPlatform, type Platform } from './platform.ts';
import { listPids, readEnviron, readStat, type ProcStat } from './proc.ts';
import { send, type SignalResult } from './signal.ts';
import { tokensIn } from './token.ts';

/** `occupied` is also the answer where we could not look: it never says "empty" too early. */
export type GroupState = 'empty' | 'occupied' | 'zombies';

/** Who is left in a process group. A group of nothing but zombies counts as gone, but its number is still taken. */
export function groupState(pgid: number, platform: Platform = hostPlatform()): GroupState {
  if (!platform.groups) return 'occupied';
  // The usual answer costs one system call. Zombies answer too, so "yes" needs a look.
  if (!groupAnswers(pgid)) return 'empty';
  if (platform.list !== 'proc') return 'occupied';
  const leader = readStat(pgid);
  if (leader.type === 'read' && leader.value.pgid === pgid && !leader.value.gone) return 'occupied';
  const members = groupMembers(pgid, 1);
  return members === null || members.length > 0 ? 'occupied' : 'zombies';
}

/**
 * Signals an attempt's whole process group, after making sure that the group is still the attempt's.
 *
 * While the leader is there, its start time has to match. After it was reaped, every member left has to be
 * recognised by session or token. Errors: `protected`, `recycled`, `not-ours`, `unseen` (we could not look),
 * `no-groups`, or the system's own (`EPERM`).
 * Without /proc nothing can be compared: the caller must not ask once the group has been seen empty.
 */
export function signalGroup(
  target: TreeTarget,
  signal: NodeJS.Signals,
  platform: Platform = hostPlatform(),
): SignalResult {
  const { pgid } = target;
  if (!platform.groups) return { targets: 0, error: 'no-groups' };
  if (protectedPids(platform).has(pgid) || pgid === ownGroup(platform)) return { targets: 0, error: 'protected' };
  if (!groupAnswers(pgid)) return { targets: 0 };
  const claim = platform.list === 'proc' ? claimOf(target) : 'ours';
  switch (claim) {
    case 'ours':
      return send(-pgid, signal);
    case 'nobody':
      return { targets: 0 };
    case 'recycled':
    case 'not-ours':
    case 'unseen':
      return { targets: 0, error: claim };
  }
}

/**
 * Signals one process if it still is the one that was found. Errors: `protected`, `recycled`, `unseen`
 * (its identity cannot be read here), or the system's own.
 */
export function signalMember(
  member: Identity,
  signal: NodeJS.Signals,
  platform: Platform = hostPlatform(),
): SignalResult {
  if (protectedPids(platform).has(member.pid)) return { targets: 0, error: 'protected' };
  if (platform.list !== 'proc' || member.startTime === null) return { targets: 0, error: 'unseen' };
  const stat = readStat(member.pid);
  if (stat.type === 'gone') return { targets: 0 };
  if (stat.type !== 'read') return { targets: 0, error: 'unseen' };
  if (stat.value.startTime !== member.startTime) return { targets: 0, error: 'recycled' };
  return stat.value.gone ? { targets: 0 } : send(member.pid, signal);
}

type Claim = 'ours' | 'nobody' | 'recycled' | 'not-ours' | 'unseen';

/** Whose group this is now. Node has no pidfd: between this answer and the signal microseconds stay. */
function claimOf(target: TreeTarget): Claim {
  const leader = readStat(target.pgid);
  // A zombie leader still holds its number, so the group cannot be another's.
  if (leader.type === 'read') return leader.value.startTime === target.leader.startTime ? 'ours' : 'recycled';
  if (leader.type !== 'gone' || target.leader.startTime === null) return 'unseen';
  const members = groupMembers(target.pgid, Number.POSITIVE_INFINITY);
  if (members === null) return 'unseen';
  if (members.length === 0) return 'nobody';
  const protectedOnes = protectedPids();
  return members.every((stat) => !protectedOnes.has(stat.pid) && isOurs(stat, target)) ? 'ours' : 'not-ours';
}

function isOurs(stat: ProcStat, target: TreeTarget): boolean {
  if (belongs(stat, [], target, false) !== null) return true;
  const environ = readEnviron(stat.pid, stat.headless);
  return environ.type === 'read' && belongs(stat, tokensIn(environ.value), target, false) !== null;
}

/**
 * Up to `enough` members that still run, youngest pids first (a group's members are mostly young). Null: we could not look.
 * Blocks for about 4 us a process; asked only for a group that answers and whose leader has gone.
 */
function groupMembers(pgid: number, enough: number): ProcStat[] | null {
  const members: ProcStat[] = [];
  const pids = pidsOrNull();
  if (pids === null) return null;
  for (const pid of pids.toReversed()) {
    const stat = readStat(pid);
    if (stat.type === 'failed') return null;
    if (stat.type !== 'read' || stat.value.pgid !== pgid || stat.value.gone) continue;
    members.push(stat.value);
    if (members.length >= enough) return members;
  }
  return members;
}

function pidsOrNull(): number[] | null {
  try {
    return listPids();
  } catch {
    return null;
  }
}

/** Anybody there, zombies included; also when we may not signal them. */
function groupAnswers(pgid: number): boolean {
  const result = send(-pgid, 0);
  return result.targets > 0 || result.error !== undefined;
}
