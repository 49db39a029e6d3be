import type { Member, ProofLevel } from '../../machines/protocol.ts';
import { belongs, startedBefore, type TreeTarget } from './belong.ts';
import { protectedPids } from './guard.ts';
import { isChildOf } from './kin.ts';
import { holdsOneOf, inodeOf, listPids, readEnviron, readStat, type ProcRead, type ProcStat } from './proc.ts';
import { tokensIn } from './token.ts';

/** What a search found of one attempt's tree. `blind`: no answer, and why; never to be read as "nobody". */
export type Finding =
  { type: 'looked'; members: Member[]; level: ProofLevel } | { type: 'blind'; reason: string; level: ProofLevel };

/** Lets the event loop turn, for at least so many milliseconds. */
export type Pause = (ms: number) => Promise<void>;

/** Searches for several trees at once. `busy` gets the milliseconds it kept the loop, slice by slice. */
export type Search = (targets: readonly TreeTarget[], busy: (ms: number) => void) => Promise<Finding[]>;

export interface SearchOptions {
  /** Monotonic milliseconds. */
  now: () => number;
  pause: Pause;
}

const SLICE_MS = 5;
/** A search that has not settled by then is judged by what it has seen; see `wouldHaveShown`. */
const PATIENCE_MS = 1_000;
const LONGEST_PAUSE_MS = 20;
/** How unlikely it has to be that somebody of ours has escaped every round. */
const NEGLIGIBLE = 1e-6;
const LEAST_ROUNDS = 20;
const ROUNDS_AT_ONCE = 8;

/** For a start time: never ours, whatever comes. Kernel threads, and processes of which nothing runs any more. */
const NEVER = -1;
/** An environment that is empty so many times, at the same place, is empty; see `isBare`. */
const BARE_ROUNDS = 3;

/**
 * What we know of a process for good, by the inode of its /proc folder (another process under the same pid has another).
 * Its start time never changes, so "older than the attempt" stays true. What can change is read every time:
 * environment and command (exec), group and session.
 */
interface Known {
  inode: number;
  startTime: number;
  /** Where its environment was when it was seen empty, and in how many rounds on end. */
  bareAt: number;
  bareRounds: number;
  /** When it was last seen so: rounds within one slice are too close to each other to count. */
  bareSeen: number;
}

interface Round {
  id: number;
  /** How often the list was gone through; and of those who were new on it, how many were read, and how many were gone. */
  rounds: number;
  caught: number;
  escaped: number;
  /** Who has been asked in this search: what somebody who is nobody's does afterwards is nobody's too. */
  answered: Set<number>;
  /** Slices so far; never the same in two searches. */
  breaths: number;
  targets: readonly TreeTarget[];
  recycled: boolean[];
  /** Start time of the oldest leader: whoever started before it is nobody's. */
  oldest: number;
  spared: Set<number>;
  found: Map<number, Member>[];
  /** Young enough, looked at, and nobody's so far: their parents may still turn out to be members. */
  loose: Map<number, ProcStat>;
  /** Which pipes are searched for, by target. */
  pipes: ReadonlySet<string>[];
}

/**
 * A search of /proc by session, group, environment token, descent, and (for targets that name pipes) by who holds those.
 *
 * It goes round until nobody on its list vanished unexamined: a process that forks and ends while we look would
 * otherwise hide its child. Where others come and go all the time it may never get there: after `PATIENCE_MS` it is
 * complete only if it is all but impossible that a member escaped every round (`wouldHaveShown`), and incomplete
 * otherwise. A process in the middle of an exec shows no environment for a moment; it is asked again.
 * What it cannot see: a process that left the session, shed the token and lost its parent before anybody had seen it, and
 * holds none of the pipes; or one of another user, which may not be read.
 */
export function createProcSearch({ now, pause }: SearchOptions): Search {
  const known = new Map<number, Known>();
  let searches = 0;

  return async (targets, busy) => {
    const round = begin((searches += 1), targets);
    const giveUpAt = now() + PATIENCE_MS;
    let sliceAt = now();
    const breathe = async (ms: number): Promise<void> => {
      busy(now() - sliceAt);
      await pause(ms);
      sliceAt = now();
    };
    for (let rest = 0; ;) {
      const pids = listPids();
      round.rounds += 1;
      let unsettled = 0;
      // The youngest first: they are those that may be gone in a moment.
      for (const pid of pids.toReversed()) {
        if (round.answered.has(pid)) continue;
        if (examine(pid, round, known)) round.answered.add(pid);
        else unsettled += 1;
        if (now() - sliceAt >= SLICE_MS) await breathe(0);
      }
      if (unsettled === 0) {
        forget(known, pids);
        busy(now() - sliceAt);
        return conclude(round);
      }
      // The next round asks only who is new, so it is short: within one slice there are several, and one may be quiet.
      if (now() - sliceAt < SLICE_MS && round.rounds % ROUNDS_AT_ONCE !== 0) continue;
      await breathe(rest);
      round.breaths += 1;
      rest = rest === 0 ? 1 : Math.min(rest * 2, LONGEST_PAUSE_MS);
      if (now() > giveUpAt) return wouldHaveShown(round) ? conclude(round) : round.found.map(unfinished);
    }
  };
}

function begin(id: number, targets: readonly TreeTarget[]): Round {
  return {
    id,
    rounds: 0,
    caught: 0,
    escaped: 0,
    answered: new Set(),
    breaths: id * 1e6,
    targets,
    recycled: targets.map(isRecycled),
    oldest: Math.min(...targets.map(({ leader }) => leader.startTime ?? 0)),
    spared: protectedPids(),
    found: targets.map(() => new Map<number, Member>()),
    loose: new Map(),
    pipes: targets.map(({ pipes = [] }) => new Set(pipes)),
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
  const before = known.get(pid);
  if (inode === undefined) return isOlder(before, round) || escaped(round);
  const same = before?.inode === inode ? before : undefined;
  if (isOlder(same, round)) return true;

  const stat = valueOf(readStat(pid));
  if (stat === 'gone') return escaped(round);
  round.caught += 1;
  if (stat === 'denied') return true;
  const startTime = stat.gone || stat.kernelThread ? NEVER : stat.startTime;
  const entry: Known = {
    inode,
    startTime,
    bareAt: same?.bareAt ?? 0,
    bareRounds: same?.bareRounds ?? 0,
    bareSeen: same?.bareSeen ?? 0,
  };
  known.set(pid, entry);
  if (stat.kernelThread || stat.startTime < round.oldest || round.spared.has(pid)) return true;
  // It may have ended since it was listed, after it had started another. In the next round it is known.
  if (stat.gone) return false;
  const answer = whose(stat, entry, round);
  if (answer === 'unsettled') return false;
  if (answer === 'nobodys') round.loose.set(stat.pid, stat);
  return true;
}

/** Started before every leader, or never ours at all: nobody's for good. */
const isOlder = (entry: Known | undefined, round: Round): boolean =>
  entry !== undefined && entry.startTime < round.oldest;

function escaped(round: Round): false {
  round.escaped += 1;
  return false;
}

/**
 * On a machine where others come and go all the time no round may ever be quiet. A chain of ours that forks and ends
 * would have had to be gone in every round before it was read, at the rate at which others were.
 */
function wouldHaveShown({ rounds, caught, escaped: gone }: Round): boolean {
  return rounds >= LEAST_ROUNDS && (gone / Math.max(1, gone + caught)) ** rounds < NEGLIGIBLE;
}

type Whose = 'claimed' | 'nobodys' | 'unsettled';

/** From cheap to dear. */
function whose(stat: ProcStat, entry: Known, round: Round): Whose {
  if (claim(stat, [], round)) return 'claimed';
  const byToken = claimByToken(stat, entry, round);
  if (byToken === 'claimed' || claimByParent(stat, round)) return 'claimed';
  return byToken === 'unsettled' ? 'unsettled' : claimByPipe(stat, round);
}

/** Notes down whose process it is; false when it is nobody's. */
function claim(stat: ProcStat, tokens: readonly string[], round: Round): boolean {
  let claimed = false;
  for (const [index, target] of round.targets.entries()) {
    const by = belongs(stat, tokens, target, round.recycled[index] === true);
    if (by === null) continue;
    claimed = true;
    found(stat, by, index, round);
  }
  return claimed;
}

function found(stat: ProcStat, by: Member['by'], index: number, round: Round): void {
  const { pid, startTime, command } = stat;
  round.found[index]?.set(pid, { pid, startTime, by, command });
}

function claimByToken(stat: ProcStat, entry: Known, round: Round): Whose {
  const environ = valueOf(readEnviron(stat.pid, stat.headless));
  if (environ === 'gone') return 'unsettled';
  if (environ === 'denied') return 'nobodys';
  if (environ.length === 0) return isBare(stat, entry, round) ? 'nobodys' : 'unsettled';
  return claim(stat, tokensIn(environ), round) ? 'claimed' : 'nobodys';
}

/** Its parent is a member, and still is its parent. */
function claimByParent(stat: ProcStat, round: Round): boolean {
  for (const [index, members] of round.found.entries()) {
    const parent = members.get(stat.ppid);
    const target = round.targets[index];
    if (parent === undefined || target === undefined || startedBefore(stat, target.leader)) continue;
    if (!isChildOf(stat, parent)) continue;
    found(stat, 'descent', index, round);
    return true;
  }
  return false;
}

function claimByPipe(stat: ProcStat, round: Round): Whose {
  for (const [index, pipes] of round.pipes.entries()) {
    const target = round.targets[index];
    if (pipes.size === 0 || target === undefined || startedBefore(stat, target.leader)) continue;
    const holds = valueOf(holdsOneOf(stat.pid, pipes));
    if (holds === 'gone') return 'unsettled';
    if (holds !== true) continue;
    found(stat, 'pipe', index, round);
    return 'claimed';
  }
  return 'nobodys';
}

/** Parents may have been read after their children: goes on until no loose process has a member for a parent. */
function conclude(round: Round): Finding[] {
  for (let changed = true; changed;) {
    changed = false;
    for (const stat of round.loose.values()) {
      if (!claimByParent(stat, round)) continue;
      round.loose.delete(stat.pid);
      changed = true;
    }
  }
  for (const [index, { kin }] of round.targets.entries()) {
    const members = round.found[index];
    if (kin === undefined || members === undefined) continue;
    kin.prune();
    for (const { pid, startTime, by } of members.values()) {
      // Who merely holds the pipe now is asked again next time: it may have been handed to a stranger.
      if (startTime !== null && by !== 'pipe') kin.add(pid, startTime, by);
    }
  }
  return round.found.map(looked);
}

/**
 * Whether an empty environment is empty for good (`env -i`). In the middle of an exec it looks so too: first without
 * an address, then for an instant with one. Every exec puts it somewhere else, so the same place again and again is no exec.
 */
function isBare(stat: ProcStat, entry: Known, { breaths }: Round): boolean {
  const known = stat.environAt !== 0 && stat.environBytes === 0;
  if (known && entry.bareAt === stat.environAt) {
    if (entry.bareSeen !== breaths) entry.bareRounds += 1;
  } else entry.bareRounds = 1;
  entry.bareSeen = breaths;
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

function looked(members: Map<number, Member>): Finding {
  return { type: 'looked', members: [...members.values()], level: 'searched' };
}

/** Whom we have seen counts; having seen nobody proves nothing. */
function unfinished(members: Map<number, Member>): Finding {
  if (members.size > 0) return looked(members);
  return { type: 'blind', reason: 'processes came and went faster than they could be read', level: 'searched' };
}
