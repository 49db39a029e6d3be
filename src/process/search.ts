import type { Member, ProofLevel } from '../../machines/protocol.ts';
import { belongs, type TreeTarget } from './belong.ts';
import { protectedPids } from './guard.ts';
import { inodeOf, listPids, readEnviron, readStat, type ProcRead, type ProcStat } from './proc.ts';
import { tokensIn } from './token.ts';

/** What a search found of one attempt's tree. `blind`: no answer, and why; never to be read as "nobody". */
export type Look =
  { type: 'looked'; members: Member[]; level: ProofLevel } | { type: 'blind'; reason: string; level: ProofLevel };

/** Lets the event loop turn, for at least so many milliseconds. */
export type Pause = (ms: number) => Promise<void>;

/** Searches for several trees at once. `busy` gets the milliseconds it kept the loop, slice by slice. */
export type Search = (targets: readonly TreeTarget[], busy: (ms: number) => void) => Promise<Look[]>;

export interface SearchOptions {
  /** Monotonic milliseconds. */
  now: () => number;
  pause: Pause;
}

const SLICE_MS = 5;
/** A search that has not settled by then is given up: blind. */
const PATIENCE_MS = 1_000;
const LONGEST_PAUSE_MS = 20;

/** Never ours, whatever comes: kernel threads, and processes of which nothing runs any more. */
const NEVER = -1;

/**
 * What we know of a process for good, by the inode of its /proc folder (another process under the same pid has another).
 * Its start time never changes, so "older than the attempt" stays true. What can change is read every time:
 * environment and command (exec), group and session.
 */
interface Known {
  inode: number;
  startTime: number;
  /** The search that found it to be nobody's. */
  settledIn: number;
}

interface Round {
  id: number;
  targets: readonly TreeTarget[];
  recycled: boolean[];
  /** Start time of the oldest leader: whoever started before it is nobody's. */
  oldest: number;
  spared: Set<number>;
  found: Map<number, Member>[];
}

/**
 * A search of /proc by session, group and environment token.
 *
 * It goes round until nobody on its list vanished unexamined: a process that forks and ends while we look would
 * otherwise hide its child. A process in the middle of an exec shows no environment for a moment; it is asked again.
 * What it cannot see: a process that left the session and shed the token, or whose environment may not be read.
 */
export function createProcSearch({ now, pause }: SearchOptions): Search {
  const known = new Map<number, Known>();
  let searches = 0;

  return async (targets, busy) => {
    const round = begin((searches += 1), targets);
    const giveUpAt = now() + PATIENCE_MS;
    for (let rest = 0; ; rest = rest === 0 ? 1 : Math.min(rest * 2, LONGEST_PAUSE_MS)) {
      let sliceAt = now();
      const pids = listPids();
      let unsettled = 0;
      for (const pid of pids) {
        if (!examine(pid, round, known)) unsettled += 1;
        if (now() - sliceAt < SLICE_MS) continue;
        busy(now() - sliceAt);
        await pause(0);
        sliceAt = now();
      }
      if (unsettled === 0) forget(known, pids);
      busy(now() - sliceAt);
      if (unsettled === 0) return round.found.map((members) => looked([...members.values()]));
      if (now() > giveUpAt) return targets.map(() => blind('processes came and went faster than they could be read'));
      await pause(rest);
    }
  };
}

function begin(id: number, targets: readonly TreeTarget[]): Round {
  return {
    id,
    targets,
    recycled: targets.map(isRecycled),
    oldest: Math.min(...targets.map(({ leader }) => leader.startTime ?? Number.NEGATIVE_INFINITY)),
    spared: protectedPids(),
    found: targets.map(() => new Map<number, Member>()),
  };
}

/** Another process has the leader's number now, so groups and sessions of that number are not the attempt's. */
function isRecycled({ leader, pgid }: TreeTarget): boolean {
  const stat = readStat(pgid);
  return stat.type === 'read' && leader.startTime !== null && stat.value.startTime !== leader.startTime;
}

/** False: it vanished or changed under our eyes, so this round proves nothing. Throws when /proc cannot be read. */
function examine(pid: number, round: Round, known: Map<number, Known>): boolean {
  const inode = inodeOf(pid);
  if (inode === undefined) return false;
  const before = known.get(pid);
  if (before?.inode === inode && (before.startTime < round.oldest || before.settledIn === round.id)) return true;

  const stat = valueOf(readStat(pid));
  if (stat === 'gone') return false;
  if (stat === 'denied') return true;
  const startTime = stat.gone || stat.kernelThread ? NEVER : stat.startTime;
  const settled = startTime < round.oldest || round.spared.has(pid) || claim(stat, round);
  known.set(pid, { inode, startTime, settledIn: settled ? round.id : 0 });
  return settled;
}

/** Notes down whose process it is. False when that could not be told. */
function claim(stat: ProcStat, round: Round): boolean {
  const tokens = tokensOf(stat);
  if (tokens === 'unsettled') return false;
  round.targets.forEach((target, index) => {
    const by = belongs(stat, tokens, target, round.recycled[index] === true);
    if (by === null) return;
    round.found[index]?.set(stat.pid, { pid: stat.pid, startTime: stat.startTime, by, command: stat.command });
  });
  return true;
}

function tokensOf(stat: ProcStat): string[] | 'unsettled' {
  const environ = valueOf(readEnviron(stat.pid, stat.headless));
  if (environ === 'gone') return 'unsettled';
  if (environ === 'denied') return [];
  if (environ.length > 0) return tokensIn(environ);
  // Empty: really so (`env -i`), ending, or in the middle of an exec, when its end is not set yet.
  const again = valueOf(readStat(stat.pid));
  if (again === 'gone') return 'unsettled';
  if (again === 'denied' || again.gone) return [];
  if (again.environEnd === 0) return 'unsettled';
  const second = valueOf(readEnviron(stat.pid, again.headless));
  if (second === 'gone') return 'unsettled';
  return second === 'denied' ? [] : tokensIn(second);
}

/** A failure that is ours (no descriptors left, …) ends the search: skipping would look like "nobody". */
function valueOf<T>(read: ProcRead<T>): T | 'gone' | 'denied' {
  switch (read.type) {
    case 'read':
      return read.value;
    case 'failed':
      throw new Error(`/proc cannot be read: ${read.code}`);
    case 'gone':
    case 'denied':
      return read.type;
  }
}

function forget(known: Map<number, Known>, alive: readonly number[]): void {
  if (known.size <= alive.length) return;
  const pids = new Set(alive);
  for (const pid of known.keys()) if (!pids.has(pid)) known.delete(pid);
}

function looked(members: Member[]): Look {
  return { type: 'looked', members, level: 'searched' };
}

function blind(reason: string): Look {
  return { type: 'blind', reason, level: 'searched' };
}
