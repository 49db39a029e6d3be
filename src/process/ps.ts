import type { Member } from '../../machines/protocol.ts';
import { execa } from 'execa';
import type { TreeTarget } from './belong.ts';
import type { Platform } from './platform.ts';
import type { Finding, Search } from './search.ts';

/** A line of `ps`. No start time: what `ps` prints is good to a second and for people. */
export interface PsLine {
  pid: number;
  ppid: number;
  pgid: number;
  gone: boolean;
  command: string;
}

const PS_TIMEOUT_MS = 5_000;
const LINE = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s+(.*\S)\s*$/;

/**
 * The poorer search, by process group and living parents, where there is no /proc: it finds nobody who left the group
 * and lost its parent, and says so by its level. A `ps` that fails or answers oddly makes it blind.
 */
export function createPsSearch(platform: Platform, now: () => number): Search {
  return async (targets, busy) => {
    const startedAt = now();
    const lines = await listByPs(platform);
    busy(now() - startedAt);
    return targets.map((target) => (typeof lines === 'string' ? blind(lines) : lookIn(lines, target)));
  };
}

function lookIn(lines: readonly PsLine[], target: TreeTarget): Finding {
  const spared = ancestry(lines);
  const members = new Map<number, Member>();
  for (const line of lines) {
    if (line.pgid === target.pgid && !line.gone && !spared.has(line.pid)) members.set(line.pid, memberOf(line, target));
  }
  for (let size = -1; size < members.size;) {
    size = members.size;
    for (const { pid, ppid, gone, command } of lines) {
      if (!members.has(ppid) || members.has(pid) || gone || spared.has(pid)) continue;
      members.set(pid, { pid, startTime: null, by: 'descent', command });
    }
  }
  return { type: 'looked', members: [...members.values()], level: 'group' };
}

function memberOf({ pid, command }: PsLine, target: TreeTarget): Member {
  return { pid, startTime: null, by: pid === target.leader.pid ? 'leader' : 'group', command };
}

/** The list, or why there is none. */
async function listByPs(platform: Platform): Promise<PsLine[] | string> {
  // `comm`, not `command`: arguments are none of our business.
  const columns = ['pid', 'ppid', 'pgid', 'state', 'comm'].map((name) => `${name}=`).join(',');
  const result = await execa(platform.ps, ['-A', '-o', columns], {
    env: { LC_ALL: 'C' },
    stdin: 'ignore',
    reject: false,
    timeout: PS_TIMEOUT_MS,
    verbose: 'none',
  });
  if (result.failed) return `ps failed (${result.code ?? result.signal ?? `exit ${result.exitCode}`})`;
  const lines = parsePs(result.stdout);
  // A list without ourselves is not the list of this machine's processes.
  return lines.some(({ pid }) => pid === process.pid) ? lines : 'ps gave no usable list';
}

/** @internal */
export function parsePs(text: string): PsLine[] {
  return text.split('\n').flatMap((line) => {
    const match = LINE.exec(line);
    if (match === null) return [];
    const [, pid, ppid, pgid, state, command = ''] = match;
    const name = command.slice(command.lastIndexOf('/') + 1);
    return [
      { pid: Number(pid), ppid: Number(ppid), pgid: Number(pgid), gone: /^[ZX]/.test(state ?? ''), command: name },
    ];
  });
}

function ancestry(lines: readonly PsLine[]): Set<number> {
  const parents = new Map(lines.map(({ pid, ppid }) => [pid, ppid]));
  const pids = new Set([0, 1]);
  for (let pid: number | undefined = process.pid; pid !== undefined && !pids.has(pid); pid = parents.get(pid)) {
    pids.add(pid);
  }
  return pids;
}

function blind(reason: string): Finding {
  return { type: 'blind', reason, level: 'group' };
}
