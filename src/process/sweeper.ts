import { setImmediate as turn, setTimeout as sleep } from 'node:timers/promises';
import type { TreeTarget } from './belong.ts';
import { hostPlatform, type Platform } from './platform.ts';
import { createPsSearch } from './ps.ts';
import { createProcSearch, type Look, type Search } from './search.ts';

export interface SweeperOptions {
  /** Monotonic milliseconds. */
  now: () => number;
  /** Calls back after so many milliseconds. Default: `setTimeout`, and `setImmediate` for 0. */
  schedule?: (action: () => void, ms: number) => void;
  platform?: Platform;
  /** @internal Replaces the search itself, in tests of the timing. */
  search?: Search;
}

export interface Sweeper {
  /**
   * Who is left of an attempt's tree. The search begins after this call, so what it finds was true later than now.
   * Never rejects; `blind` says that we could not look.
   */
  look(target: TreeTarget): Promise<Look>;
  /** What it has cost so far: searches made, and milliseconds they kept the event loop. */
  readonly totals: { readonly searches: number; readonly busyMs: number };
}

/** Searches that follow each other take at most a fifth of the time, and begin at least this far apart. */
const REST_FACTOR = 4;
const REST_MS = 10;

interface Request {
  target: TreeTarget;
  answer(look: Look): void;
}

/**
 * One search for all attempts that close near together: a request waits for the next search to begin and shares it.
 * The first after a quiet time begins at once.
 */
export function createSweeper(options: SweeperOptions): Sweeper {
  const { now, schedule = systemSchedule } = options;
  const platform = options.platform ?? hostPlatform();
  const search = options.search ?? searchFor(platform, now);
  const totals = { searches: 0, busyMs: 0 };
  let waiting: Request[] = [];
  let busy = false;
  let notBefore = Number.NEGATIVE_INFINITY;

  const arm = (): void => {
    if (busy || waiting.length === 0) return;
    busy = true;
    schedule(() => void sweep(), Math.max(0, notBefore - now()));
  };
  const sweep = async (): Promise<void> => {
    const requests = waiting;
    waiting = [];
    const before = totals.busyMs;
    totals.searches += 1;
    const looks = await seek(search, requests, platform, (ms) => (totals.busyMs += ms));
    notBefore = now() + Math.max(REST_MS, REST_FACTOR * (totals.busyMs - before));
    busy = false;
    requests.forEach((request, index) => request.answer(looks[index] ?? unseen('no answer', platform)));
    arm();
  };

  return {
    look(target) {
      return new Promise((answer) => {
        waiting.push({ target, answer });
        arm();
      });
    },
    totals,
  };
}

async function seek(
  search: Search,
  requests: readonly Request[],
  platform: Platform,
  busy: (ms: number) => void,
): Promise<Look[]> {
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

function searchFor(platform: Platform, now: () => number): Search {
  switch (platform.list) {
    case 'proc':
      return createProcSearch({ now, pause: (ms) => (ms > 0 ? sleep(ms) : turn()) });
    case 'ps':
      return createPsSearch(platform, now);
    case 'none':
      return async (targets) => targets.map(() => unseen('this system gives us no list of processes', platform));
  }
}

function unseen(reason: string, platform: Platform): Look {
  return { type: 'blind', reason, level: platform.list === 'proc' ? 'searched' : 'group' };
}

function systemSchedule(action: () => void, ms: number): void {
  if (ms > 0) setTimeout(action, ms);
  else setImmediate(action);
}
