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
/**
 * A search that has not settled by then is given up: blind. On a machine where processes come and go all the time most rounds
 * do not settle; with four shells that start programs without a pause one search in 30 needed more than a second. The slot is free meanwhile.
 */
const PATIENCE_MS = 5_000;
const LONGEST_PAUSE_MS = 20;

/** For a start time: never ours, whatever comes. Kernel threads, and processes of which nothing runs any more. */
const NEVER = -1;
/** An environment that is empty in so many rounds, at the same place, is empty; see `isBare`. */
const BARE_ROUNDS = 3;

/**
 * What we know of a process for good, by the inode of its /proc folder (another process under the same pid has another).
 * Its start time never changes, so "older than the attempt" stays true. What can change is read every time:
 * environment and command (exec), group and session.
 */
interface Known {
  inode: number;
  startTime: number;
  /** The search that has an answer about it already. */
  settledIn: number;
  /** Where its environment was when it was seen empty, and in how many rounds on end. */
  bareAt: number;
  bareRounds: number;
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
      if (unsettled === 0) return round.found.map(looked);
      if (now() > giveUpAt) return round.found.map(unfinished);
      await pause(rest);
    }
  };
}

function begin(id: number, targets: readonly TreeTarget[]): Round {
  return {
    id,
    targets,
    recycled: targets.map(isRecycled),
    oldest: Math.min(...targets.map(({ leader }) => leader.startTime ?? 0)),
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
  const same = before?.inode === inode ? before : undefined;
  if (same !== undefined && (same.startTime < round.oldest || same.settledIn === round.id)) return true;

  const stat = valueOf(readStat(pid));
  if (stat === 'gone') return false;
  if (stat === 'denied') return true;
  const startTime = stat.gone || stat.kernelThread ? NEVER : stat.startTime;
  const entry: Known = { inode, startTime, settledIn: 0, bareAt: same?.bareAt ?? 0, bareRounds: same?.bareRounds ?? 0 };
  known.set(pid, entry);
  if (stat.kernelThread || stat.startTime < round.oldest || round.spared.has(pid)) return true;
  // It may have ended since it was listed, after it had started another. In the next round it is known.
  if (stat.gone) return false;
  if (!claim(stat, [], round) && !claimByToken(stat, entry, round)) return false;
  entry.settledIn = round.id;
  return true;
}

/** Notes down whose process it is; false when it is nobody's. */
function claim(stat: ProcStat, tokens: readonly string[], round: Round): boolean {
  let claimed = false;
  for (const [index, target] of round.targets.entries()) {
    const by = belongs(stat, tokens, target, round.recycled[index] === true);
    if (by === null) continue;
    claimed = true;
    round.found[index]?.set(stat.pid, { pid: stat.pid, startTime: stat.startTime, by, command: stat.command });
  }
  return claimed;
}

/** False when its environment cannot be told yet. */
function claimByToken(stat: ProcStat, entry: Known, round: Round): boolean {
  const environ = valueOf(readEnviron(stat.pid, stat.headless));
  if (environ === 'gone') return false;
  if (environ === 'denied') return true;
  if (environ.length === 0) return isBare(stat, entry);
  claim(stat, tokensIn(environ), round);
  return true;
}

/**
 * Whether an empty environment is empty for good (`env -i`). In the middle of an exec it looks so too: first without
 * an address, then for an instant with one. Every exec puts it somewhere else, so the same place again and again is no exec.
 */
function isBare(stat: ProcStat, entry: Known): boolean {
  const known = stat.environAt !== 0 && stat.environBytes === 0;
  entry.bareRounds = known && entry.bareAt === stat.environAt ? entry.bareRounds + 1 : 1;
  entry.bareAt = known ? stat.environAt : 0;
  return known && entry.bareRounds >= BARE_ROUNDS;
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

function looked(members: Map<number, Member>): Look {
  return { type: 'looked', members: [...members.values()], level: 'searched' };
}

/** Whom we have seen counts; having seen nobody proves nothing. */
function unfinished(members: Map<number, Member>): Look {
  if (members.size > 0) return looked(members);
  return { type: 'blind', reason: 'processes came and went faster than they could be read', level: 'searched' };
}
