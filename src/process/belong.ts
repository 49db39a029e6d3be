import type { Member } from '../../machines/protocol.ts';
import type { Container } from './container/types.ts';
import type { Identity } from './identity/index.ts';
import { createKin, type Kin } from './kin.ts';
import type { ProcStat } from './proc.ts';

/** One attempt's tree, as it can be recognised. Made by `treeOf`; the shorter form without memory is good for a single look. */
export interface TreeTarget {
  /** Process group and session: the leader's pid. */
  pgid: number;
  token: string;
  leader: Identity;
  /** Who was seen to belong to it. Without it, descent is only seen while the parents live. */
  kin?: Kin;
  /** The child's ends of its stdout and stderr, as `/proc/<pid>/fd` names them. */
  pipes?: readonly string[];
  /** What it was started in, if it was. */
  container?: Container | null;
}

/** The tree of a child that was started, with a memory of its own. */
export function treeOf(
  started: { pid: number; startTime: number | null; pipes: readonly string[] },
  token: string,
  container: Container | null = null,
): TreeTarget {
  const { pid, startTime, pipes } = started;
  return { pgid: pid, token, leader: { pid, startTime }, kin: createKin(), pipes, container };
}

export type Belonging = Member['by'];

/**
 * How a process belongs to an attempt, by what it shows itself or was seen to be before; null when it does not.
 * (Parents, pipes and containers are looked at elsewhere.)
 *
 * A process that started before the attempt's leader never does, whatever its environment says: descendants
 * start later, and a start time never changes. Group and session count only while their number is the leader's
 * (`recycled` false).
 */
export function belongs(
  stat: ProcStat,
  tokens: readonly string[],
  target: TreeTarget,
  recycled: boolean,
): Belonging | null {
  const { leader } = target;
  if (startedBefore(stat, leader)) return null;
  if (stat.pid === leader.pid && stat.startTime === leader.startTime) return 'leader';
  // A group lies within one session, and the session has the leader's number.
  if (!recycled && stat.session === target.pgid) return 'group';
  if (tokens.includes(target.token)) return 'token';
  return target.kin?.recall(stat.pid, stat.startTime) ?? null;
}

/** Whoever started before the leader cannot descend from it. */
export function startedBefore(stat: { startTime: number }, leader: Identity): boolean {
  return leader.startTime !== null && stat.startTime < leader.startTime;
}
