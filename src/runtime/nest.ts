import { fromCallback } from 'xstate';
import type { RunEvent } from '../../machines/protocol.ts';
import { createNestLooker } from '../nest/index.ts';
import type { Kit } from './kit.ts';

/** How often we look at the runs below. */
const POLL_MS = 1_000;
/** And as long as there has been none: most runs never have one, and there may be thousands in a process. */
const IDLE_MS = 2_000;

/** The `nest` port: tells what has changed of the runs that children of this one have started. */
export const nest = (kit: Kit) =>
  fromCallback<{ type: 'none' }, { look: 'again' | 'once' }>(({ sendBack, input }) => {
    const looker = createNestLooker(kit.nest);
    let timer: NodeJS.Timeout | undefined;
    let every = IDLE_MS;
    const look = kit.guard(() => {
      const runs = looker.look();
      if (runs.length > 0) {
        every = POLL_MS;
        sendBack({ type: 'nested.seen', at: kit.now(), runs } satisfies RunEvent);
      }
      if (input.look === 'again') timer = setTimeout(look, every);
    });
    if (input.look === 'once') look();
    else timer = setTimeout(look, every);
    return () => clearTimeout(timer);
  });
