import type { Member } from '../../../machines/protocol.ts';
import type { Identity } from '../identity/index.ts';
import { childrenOf, readStat } from '../proc.ts';
import { send } from '../signal.ts';
import { passGate, shellFor } from './enter.ts';
import type { Container, Inside } from './types.ts';

/**
 * A process id namespace, made by `unshare` (its command is given). Two processes stand above the program: `unshare`, the
 * leader as we see it, and a shell, the namespace's first process. A program that were the first one itself would not
 * notice signals it does not handle, and would be left with everybody's orphans. Its end by a signal is seen as exit code 128+n.
 *
 * When the first process ends, the kernel ends everybody inside, and lets it go only after them. It ends with the leader.
 */
export function createPidns(unshare: readonly string[]): Container {
  let leader: Identity | null = null;
  let first: Identity | null = null;
  return {
    kind: 'pidns',
    path: null,
    leavable: false,
    enter(argv, env) {
      // In a subshell, which becomes the program: the shell's own commands are not taken for programs.
      const script = `${passGate(env)}; (exec "$@"); exit $?`;
      return [...unshare, ...shellFor(env), '-c', script, 'coxswain', ...argv];
    },
    entered(pid) {
      leader = identityOf(pid);
      first = (childrenOf(pid) ?? []).map(identityOf).find((one) => one !== null) ?? null;
    },
    look: () => lookInside(first, leader),
    kill() {
      if (leader === null) return { targets: 0 };
      if (first === null) return { targets: 0, error: 'unseen' };
      if (!isOver(first)) return send(first.pid, 'SIGKILL');
      return isOver(leader) ? { targets: 0 } : send(leader.pid, 'SIGKILL');
    },
    remove: () => lookInside(first, leader).type === 'empty',
  };
}

function lookInside(first: Identity | null, leader: Identity | null): Inside {
  // Never entered: no program was begun in it.
  if (leader === null) return { type: 'empty' };
  if (first === null) return { type: 'unseen', reason: 'the first process of the namespace was not seen' };
  // Read before the inside is: the leader ends after it, and on a busy machine some time after.
  const above = [leader].flatMap(memberBy('leader'));
  if (!isOver(first)) return { type: 'occupied', members: [...above, ...inside(first).flatMap(memberBy('namespace'))] };
  return above.length === 0 ? { type: 'empty' } : { type: 'occupied', members: above };
}

/** Orphans are handed to the first process, so all are its descendants. A walk in a moving tree may miss some; the kill does not. */
function inside(first: Identity): Identity[] {
  const all = [first];
  for (const one of all) {
    for (const pid of childrenOf(one.pid) ?? []) {
      const child = identityOf(pid);
      if (child !== null) all.push(child);
    }
  }
  return all;
}

/** A zombie is over: the first process becomes one after everybody else has gone. */
function isOver({ pid, startTime }: Identity): boolean {
  const stat = readStat(pid);
  if (stat.type === 'read') return stat.value.gone || stat.value.startTime !== startTime;
  return stat.type === 'gone';
}

function identityOf(pid: number): Identity | null {
  const stat = readStat(pid);
  return stat.type === 'read' ? { pid, startTime: stat.value.startTime } : null;
}

const memberBy =
  (by: Member['by']) =>
  ({ pid, startTime }: Identity): Member[] => {
    const stat = readStat(pid);
    if (stat.type !== 'read' || stat.value.gone || stat.value.startTime !== startTime) return [];
    return [{ pid, startTime, by, command: stat.value.command }];
  };
