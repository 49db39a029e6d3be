import type { Member } from '../../machines/protocol.ts';
import type { Identity } from './identity/index.ts';
import type { ProcStat } from './proc.ts';

/** One attempt's tree, as it can be recognised. */
export interface TreeTarget {
  /** Process group and session: the leader's pid. */
  pgid: number;
  token: string;
  leader: Identity;
}

export type Belonging = Member['by'];

/**
 * How a process belongs to an attempt; null when it does not.
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
  if (leader.startTime !== null && stat.startTime < leader.startTime) return null;
  if (stat.pid === leader.pid && stat.startTime === leader.startTime) return 'leader';
  // A group lies within one session, and the session has the leader's number.
  if (!recycled && stat.session === target.pgid) return 'group';
  return tokens.includes(target.token) ? 'token' : null;
}
