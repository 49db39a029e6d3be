import type { Member } from '../../machines/protocol.ts';
import type { TreeTarget } from './belong.ts';
import { signalGroup, signalMember } from './groups.ts';
import { hostPlatform, type Platform } from './platform.ts';
import { readStat } from './proc.ts';
import type { SignalResult } from './signal.ts';

export interface TreeSignal {
  /** The members of the last look: those the group does not reach are signalled one by one. */
  members?: readonly Member[];
  /** The group was seen empty after the leader had gone: its number may be another's by now and is left alone. */
  emptied?: boolean;
  platform?: Platform;
}

/**
 * Signals an attempt's tree: its group, and every known member outside of it, each at most once and each after its identity
 * was checked. SIGKILL goes through the container where there is one, so forks under way are caught too; a container that
 * cannot be killed does not keep the rest from being signalled.
 *
 * `targets` counts groups, processes and what the container held; `error` is the first that occurred.
 */
export function signalTree(target: TreeTarget, signal: NodeJS.Signals, options: TreeSignal = {}): SignalResult {
  const { members = [], emptied = false, platform = hostPlatform() } = options;
  const inside = signal === 'SIGKILL' ? target.container?.kill() : undefined;
  const group = emptied ? { targets: 0 } : signalGroup(target, signal, platform);
  const reached = group.targets > 0 ? target.pgid : null;
  const others = [...outside(target, members, signal)]
    .filter(({ pid }) => reached === null || !isInGroup(pid, reached))
    .map((member) => signalMember(member, signal, platform));
  return sum([inside ?? { targets: 0 }, group, ...others]);
}

/** The last look's members; for a gentle signal also whoever is in the container now. */
function outside(target: TreeTarget, members: readonly Member[], signal: NodeJS.Signals): Iterable<Member> {
  const byPid = new Map(members.map((member) => [member.pid, member]));
  const inside = signal === 'SIGKILL' ? undefined : target.container?.look();
  if (inside?.type === 'occupied') for (const member of inside.members) byPid.set(member.pid, member);
  return byPid.values();
}

function isInGroup(pid: number, pgid: number): boolean {
  const stat = readStat(pid);
  return stat.type === 'read' && stat.value.pgid === pgid;
}

function sum(results: readonly SignalResult[]): SignalResult {
  const targets = results.reduce((total, one) => total + one.targets, 0);
  const error = results.find((one) => one.error !== undefined)?.error;
  return error === undefined ? { targets } : { targets, error };
}
