import type { JournalBody, Owner, Status } from '../../machines/protocol.ts';
import { NO_STEERING } from '../support/no-steering.ts';

export const at = '2026-12-01T10:00:00.000Z';

export const owner: Owner = { host: 'here', bootId: 'boot-1', pid: 4242, startTime: 99, instance: 'i-1' };

/** A journal body that is told apart by its number. */
export function body(n: number): JournalBody {
  return { type: 'step.started', at, step: `s${n}` };
}

export function statusOf(id: string, seq = 1): Status {
  return {
    v: 1,
    id,
    seq,
    epoch: 1,
    name: 'a run',
    state: 'running',
    startedAt: at,
    updatedAt: at,
    owner,
    limits: { concurrency: 4, timeoutMs: null },
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, turns: 0, tools: 0 },
    steps: [],
    counts: {
      pending: 0,
      preparing: 0,
      running: 0,
      'backing-off': 0,
      completed: 0,
      failed: 0,
      stopped: 0,
      paused: 0,
      skipped: 0,
    },
    labels: {},
    steering: NO_STEERING,
    asks: [],
  };
}
