import { setTimeout as pause } from 'node:timers/promises';
import type { Member, StepId, Verdict } from '../../machines/protocol.ts';
import type { AgentSession } from '../agents/index.ts';
import {
  type Child,
  type SignalResult,
  type Sweeper,
  type TreeTarget,
  endTreeByPid,
  groupState,
  hostPlatform,
  isSame,
  note,
  signalTree,
} from '../process/index.ts';

/** One launched attempt, as far as its processes go. */
export interface Entry {
  readonly step: StepId;
  readonly n: number;
  readonly token: string;
  child: Child | null;
  session: AgentSession | null;
  /** Null until the child runs, and for ever if it could not be started. */
  target: TreeTarget | null;
  exited: boolean;
  /** Its group was seen empty after the leader had gone: the number may be another's by now, and is not signalled. */
  emptied: boolean;
  /** Who was found by the last look. */
  members: Member[];
  /** Somebody may hold its pipes: they have not been seen to close. */
  pipesHeld: boolean;
  /** The attempt has its proof. */
  verdict: Verdict | null;
}

/** How long the last resort kills and looks before it names who is left: the killed take a moment to be gone. */
const LAST_RESORT_MS = 3_000;
/** Between its looks: soon at first. */
const LONGEST_PAUSE_MS = 200;

/**
 * Who was launched and who is proven gone. It lives outside the machines on purpose: when an actor has crashed,
 * its cleanup has not run, and this is what the supervisor ends the children by.
 */
export class ProcessTable {
  readonly #entries = new Map<string, Entry>();
  readonly #sweeper: Sweeper;
  #launches = 0;
  #shut = false;

  constructor(sweeper: Sweeper) {
    this.#sweeper = sweeper;
  }

  open(step: StepId, n: number, token: string): Entry {
    const entry: Entry = {
      step,
      n,
      token,
      child: null,
      session: null,
      target: null,
      exited: false,
      emptied: false,
      members: [],
      pipesHeld: true,
      verdict: null,
    };
    this.#entries.set(key(step, n), entry);
    return entry;
  }

  /** Processes that were started. */
  get launches(): number {
    return this.#launches;
  }

  /** From now on nobody is to be launched: the machines have crashed, and what is below them goes on all the same. */
  shut(): void {
    this.#shut = true;
  }

  get isShut(): boolean {
    return this.#shut;
  }

  started(entry: Entry, target: TreeTarget): void {
    entry.target = target;
    this.#launches += 1;
  }

  get(step: StepId, n: number): Entry | undefined {
    return this.#entries.get(key(step, n));
  }

  /** An attempt that is proven gone needs no watching any more. */
  close(step: StepId, n: number, verdict: Verdict): void {
    const entry = this.get(step, n);
    if (entry === undefined) return;
    entry.verdict = verdict;
    if (verdict !== 'gone') return;
    this.#entries.delete(key(step, n));
    void takeDown(entry);
  }

  /** Attempts that may still have processes. */
  watched(): Entry[] {
    return [...this.#entries.values()].filter((entry) => entry.target !== null && entry.verdict !== 'gone');
  }

  /** The process that was found is still that process, and runs. */
  isThere(member: Member): boolean {
    return member.startTime !== null && isSame(member.pid, member.startTime);
  }

  /** SIGKILL to everyone known, now and without waiting: the second Ctrl-C. Says nothing about what is left. */
  killNow(): void {
    for (const entry of this.watched()) kill(entry);
  }

  /**
   * The last resort: ends everything that was launched, without machines. Resolves with who is not proven gone.
   */
  async endAll(): Promise<Entry[]> {
    await this.#arrivals();
    await Promise.all(this.watched().map((entry) => this.#end(entry)));
    return this.watched();
  }

  /** Who was launched is known a moment later: when it runs, and in a container when it is inside. */
  async #arrivals(): Promise<void> {
    const giveUpAt = performance.now() + LAST_RESORT_MS;
    const onTheWay = (): boolean => [...this.#entries.values()].some(isOnTheWay);
    while (onTheWay() && performance.now() < giveUpAt) await pause(2);
  }

  async #end(entry: Entry): Promise<void> {
    const { target } = entry;
    if (target === null) return;
    const giveUpAt = performance.now() + LAST_RESORT_MS;
    for (let rest = 10; ; rest = Math.min(rest * 2, LONGEST_PAUSE_MS)) {
      kill(entry);
      const look = await this.#sweeper.look(target, { pipes: true });
      if (look.type === 'blind') {
        entry.verdict = 'unknown';
        return;
      }
      if (look.members.length === 0) {
        entry.verdict = 'gone';
        await takeDown(entry);
        return;
      }
      entry.members = look.members;
      if (performance.now() > giveUpAt) {
        entry.verdict = 'survived';
        return;
      }
      await pause(rest);
    }
  }
}

const key = (step: StepId, n: number): string => `${step}/${n}`;

const isOnTheWay = ({ child, target }: Entry): boolean => target === null && child !== null;

function kill(entry: Entry): void {
  signalEntry(entry, 'SIGKILL');
}

/** Signals an attempt's tree and whoever the last look found. Identity is checked right before each. */
export function signalEntry(entry: Entry, signal: NodeJS.Signals): SignalResult {
  const { target, members, emptied } = entry;
  if (target === null) return { targets: 0 };
  if (!hostPlatform().groups) return endByPid(target.pgid, signal);
  // Whose parents are about to be gone is known by them for the last time.
  note(target);
  return signalTree(target, signal, { members, emptied });
}

/** Its control group goes when nobody is inside; one who was just reaped may count for a moment longer. */
async function takeDown({ target }: Entry): Promise<void> {
  const container = target?.container;
  if (container === undefined || container === null) return;
  for (let ms = 1; ms < 500 && !container.remove(); ms *= 2) await pause(ms);
}

function endByPid(pid: number, signal: NodeJS.Signals): SignalResult {
  void endTreeByPid(pid, signal);
  return { targets: 1 };
}

/** Nobody of whom we know is left: the leader was reaped and its group holds no living process. */
export function isEmptied(entry: Entry): boolean {
  if (!entry.exited) return false;
  entry.emptied ||= entry.target === null || !hostPlatform().groups || groupState(entry.target.pgid) !== 'occupied';
  return entry.emptied;
}
