import type { Member } from '../../machines/protocol.ts';
import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import type { TreeTarget } from './belong.ts';
import type { Container, Inside } from './container/types.ts';
import { hostPlatform, type Platform } from './platform.ts';
import { createPsSearch } from './ps.ts';
import { createProcSearch, type Finding, type Search } from './search.ts';

export interface SweeperOptions {
  /** Monotonic milliseconds. */
  now: () => number;
  /** Calls back after so many milliseconds. Default: `setTimeout`, and `setImmediate` for 0. */
  schedule?: (action: () => void, ms: number) => void;
  platform?: Platform;
  /** @internal Replaces the search itself, in tests of the timing. */
  search?: Search;
}

/**
 * An answer about one attempt's tree. `serial` counts what was looked at: two looks with different numbers were different
 * searches, begun one after the other. `search` tells, for a tree in a container, what became of the search besides:
 * `blind` leaves the container's word alone.
 */
export type Look = Finding & { serial: number; search?: 'done' | 'blind' | 'unneeded' };

export interface LookOptions {
  /**
   * Also who holds the attempt's stdout or stderr. Costs another 30 us for each process younger than the attempt: ask when the pipes
   * had not closed after the exit, and in the look after a kill. Default false.
   */
  pipes?: boolean;
}

export interface Sweeper {
  /**
   * Who is left of an attempt's tree. The search begins after this call, so what it finds was true later than now.
   * Never rejects; `blind` says that we could not look.
   *
   * A tree in a container is answered from there, level `contained`: at once while somebody is inside. When nobody is,
   * and one could have left, the search is made as well, and whom it finds counts.
   */
  look(target: TreeTarget, options?: LookOptions): Promise<Look>;
  /** What it has cost so far: searches made, and milliseconds they kept the event loop. */
  readonly totals: { readonly searches: number; readonly busyMs: number };
}

/** Searches take at most this share of the time, and begin at least so far apart. */
const SHARE = 0.2;
const REST_MS = 10;
/**
 * What a quiet time earns: so much may be spent in advance. A tree that is ended is looked at three times in a row, and whoever
 * waits for that need not wait for the rests too.
 */
const MOST_CREDIT_MS = 40;

/** Processes that are just ending may keep a container occupied, and be nobody. */
const SETTLE_MS = 1_000;

interface Request {
  target: TreeTarget;
  answer(answer: { finding: Finding; serial: number }): void;
}

/**
 * One search for all attempts that close near together: a request waits for the next search to begin and shares it.
 * The first after a quiet time begins at once.
 */
export function createSweeper(options: SweeperOptions): Sweeper {
  const { now, schedule = systemSchedule } = options;
  const platform = options.platform ?? hostPlatform();
  const search = options.search ?? systemSearch(platform, now);
  const totals = { searches: 0, busyMs: 0 };
  let waiting: Request[] = [];
  let busy = false;
  let ended = Number.NEGATIVE_INFINITY;
  let credit = MOST_CREDIT_MS;
  let credited = now();
  let serial = 0;
  const asked = new WeakMap<Container, number>();

  const arm = (): void => {
    if (busy || waiting.length === 0) return;
    busy = true;
    earn();
    schedule(() => void sweep(), Math.max(0, ended + REST_MS - now(), -credit / SHARE));
  };
  const earn = (): void => {
    credit = Math.min(MOST_CREDIT_MS, credit + (now() - credited) * SHARE);
    credited = now();
  };
  const sweep = async (): Promise<void> => {
    const requests = waiting;
    waiting = [];
    const before = totals.busyMs;
    totals.searches += 1;
    const number = (serial += 1);
    const findings = await seek(search, requests, platform, (ms) => (totals.busyMs += ms));
    earn();
    credit -= totals.busyMs - before;
    ended = now();
    busy = false;
    requests.forEach((request, index) =>
      request.answer({ finding: findings[index] ?? unseen('no answer', platform), serial: number }),
    );
    arm();
  };
  const searchFor = (target: TreeTarget): Promise<{ finding: Finding; serial: number }> =>
    new Promise((answer) => {
      waiting.push({ target, answer });
      arm();
    });

  /** Looks into one container are as far apart as searches are: whoever kills in between gives the kernel time to do it. */
  const lookInside = async (container: Container): Promise<Inside> => {
    const rest = (asked.get(container) ?? Number.NEGATIVE_INFINITY) + REST_MS - now();
    if (rest > 0) await sleep(rest);
    const inside = await settled(() => container.look(), now);
    asked.set(container, now());
    return inside;
  };

  return {
    async look(target, { pipes = false } = {}) {
      const { container } = target;
      const inside = container ? await lookInside(container) : null;
      if (inside?.type === 'occupied')
        return { ...contained(inside.members), serial: (serial += 1), search: 'unneeded' };
      if (inside?.type === 'empty' && container?.leavable === false) {
        return { ...contained([]), serial: (serial += 1), search: 'unneeded' };
      }
      const { finding, serial: number } = await searchFor(pipes ? target : { ...target, pipes: [] });
      if (inside?.type !== 'empty') return { ...finding, serial: number };
      const found = finding.type === 'looked' ? finding.members : [];
      return { ...contained(found), serial: number, search: finding.type === 'looked' ? 'done' : 'blind' };
    },
    totals,
  };
}

async function seek(
  search: Search,
  requests: readonly Request[],
  platform: Platform,
  busy: (ms: number) => void,
): Promise<Finding[]> {
  try {
    return await search(
      requests.map(({ target }) => target),
      busy,
    );
  } catch (error) {
    const reason = error instanceof Error ? error.message : 'the search failed';
    return requests.map(() => unseen(reason, platform));
  }
}

function systemSearch(platform: Platform, now: () => number): Search {
  switch (platform.list) {
    case 'proc':
      return createProcSearch({ now, pause: (ms) => (ms > 0 ? sleep(ms) : turn()) });
    case 'ps':
      return createPsSearch(platform, now);
    case 'none':
      return async (targets) => targets.map(() => unseen('this system gives us no list of processes', platform));
  }
}

function unseen(reason: string, platform: Platform): Finding {
  return { type: 'blind', reason, level: platform.list === 'proc' ? 'searched' : 'group' };
}

/** Asks again while the container is occupied by nobody that can be named. */
async function settled(look: () => Inside, now: () => number): Promise<Inside> {
  const giveUpAt = now() + SETTLE_MS;
  for (let rest = 1; ; rest = Math.min(rest * 2, 20)) {
    const inside = look();
    if (inside.type !== 'unseen' || inside.passing !== true || now() > giveUpAt) return inside;
    // oxlint-disable-next-line no-await-in-loop -- waiting is the point
    await sleep(rest);
  }
}

function contained(members: Member[]): Finding {
  return { type: 'looked', members, level: 'contained' };
}

function systemSchedule(action: () => void, ms: number): void {
  if (ms > 0) setTimeout(action, ms);
  else setImmediate(action);
}
