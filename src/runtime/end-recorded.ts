import { createActor, fromCallback, toPromise } from 'xstate';
import { fill, terminationMachine } from '../../machines/index.ts';
import type { Member, Proof, Rung, TreeCommand, TreeEvent } from '../../machines/protocol.ts';
import { type Sweeper, isSame, note, signalTree } from '../process/index.ts';
import { now } from './kit.ts';
import type { Traces } from './recorded.ts';

/** How often we ask whether those who were signalled have gone. */
const POLL_MS = 10;

/**
 * Ends the processes of a recorded attempt by the rules of a live one: look, ask, force, look until two looks are clean.
 * Each is signalled only while its identity is the one that was found. `graceMs` is the time from TERM to KILL.
 */
export function endRecorded(traces: Traces, sweeper: Sweeper, graceMs: number): Promise<Proof> {
  const machine = terminationMachine.provide({ actors: { tree: fill(tree(traces, sweeper)) } });
  const { step, attempt: n } = traces;
  // The child's protocol is out of reach: only signals are left.
  const ladder: Rung[] = [{ do: 'SIGTERM', graceMs }];
  const actor = createActor(machine, {
    input: { step, n, why: 'leftovers', ladder, policy: 'end', released: false, at: now() },
  });
  const proof = toPromise(actor);
  actor.start();
  return proof;
}

/** The `tree` port, without a child of ours to it. */
const tree = ({ target, leader }: Traces, sweeper: Sweeper) =>
  fromCallback<TreeCommand, { step: string; n: number }>(({ sendBack, receive }) => {
    const tell = (event: TreeEvent): void => sendBack(event);
    let members: Member[] = [];
    let timer: NodeJS.Timeout | undefined;
    const watch = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        if (members.some(({ pid, startTime }) => isSame(pid, startTime))) watch();
        else tell({ type: 'tree.emptied', at: now() });
      }, POLL_MS);
    };
    const apply = (rung: Rung['do']): void => {
      if (rung !== 'SIGINT' && rung !== 'SIGTERM' && rung !== 'SIGKILL') {
        tell({ type: 'tree.refused', at: now(), rung });
        return;
      }
      note(target);
      // A group without its leader may be another's by now.
      const emptied = leader === null || !isSame(leader.pid, leader.startTime);
      const sent = signalTree(target, rung, { members, emptied });
      tell({ type: 'tree.applied', at: now(), rung, ...sent });
      watch();
    };
    const look = async (): Promise<void> => {
      const seen = await sweeper.look(target);
      if (seen.type === 'blind') {
        tell({ type: 'tree.blind', at: now(), reason: seen.reason, level: seen.level });
        return;
      }
      members = seen.members;
      tell({ type: 'tree.looked', at: now(), members, level: seen.level, search: seen.serial });
    };
    receive((command) => {
      switch (command.type) {
        case 'tree.apply':
          apply(command.rung);
          return;
        case 'tree.look':
          void look();
          return;
      }
    });
    return () => clearTimeout(timer);
  });
