import { hostname } from 'node:os';
import type { Owner } from '../../machines/protocol.ts';
import { bootId, isSame } from '../process/identity/index.ts';

/**
 * Where the process stands that an owner record names. `rebooted`: nothing of before that is left. `dead`: that very process
 * does not run; what it started may. `elsewhere`: it is another machine's, which cannot be looked at from here.
 */
export type Standing = 'alive' | 'dead' | 'rebooted' | 'elsewhere';

export function standingOf({ host, bootId: boot, pid, startTime }: Owner): Standing {
  if (host !== hostname()) return 'elsewhere';
  if (boot !== bootId()) return 'rebooted';
  return isSame(pid, startTime) ? 'alive' : 'dead';
}
