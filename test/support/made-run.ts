import { mkdirSync, writeFileSync } from 'node:fs';
import { hostname } from 'node:os';
import type { Owner, Status } from '../../machines/protocol.ts';
import { bootId, startTimeOf } from '../../src/process/identity/index.ts';
import { type RunDir, runDir } from '../../src/record/index.ts';
import { NO_STEERING } from './no-steering.ts';

/** This process, as the owner of a run: it is certainly there. */
export function ownOwner(): Owner {
  return {
    host: hostname(),
    bootId: bootId(),
    pid: process.pid,
    startTime: startTimeOf(process.pid),
    instance: 'test',
  };
}

/** An owner that was there once: this process's number with a start time of long ago. */
export function deadOwner(): Owner {
  return { ...ownOwner(), startTime: 1 };
}

/** The status of a run of one command. */
export function statusOf(id: string, changes: Partial<Status> = {}): Status {
  const at = '2026-12-01T10:00:00.000Z';
  return {
    v: 1,
    id,
    seq: 4,
    epoch: 1,
    name: 'made',
    state: 'running',
    startedAt: at,
    updatedAt: at,
    owner: ownOwner(),
    limits: { concurrency: 4, timeoutMs: null },
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, turns: 0, tools: 0 },
    steps: [{ id: 'command', agent: 'command', needs: [], state: 'running', attempt: 1, startedAt: at }],
    counts: {
      pending: 0,
      preparing: 0,
      running: 1,
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
    ...changes,
  };
}

/** A run directory as a runner would have written it; `status` may be anything. */
export function makeRunDir(root: string, id: string, status: Status | string | null): RunDir {
  const dir = runDir(root, id);
  mkdirSync(root, { recursive: true, mode: 0o700 });
  mkdirSync(dir.path, { recursive: true });
  if (status !== null) writeFileSync(dir.status, typeof status === 'string' ? status : JSON.stringify(status));
  return dir;
}
