import { join, sep } from 'node:path';
import type { StepId } from '../../machines/protocol.ts';
import { safeId } from '../ids.ts';

/** Where everything of one run lies. Only paths: nothing is looked at or made. */
export interface RunDir extends ControlPaths {
  readonly root: string;
  readonly id: string;
  readonly path: string;
  readonly plan: string;
  /** What was appended to the plan: `plan/<n>.json`. */
  readonly planParts: string;
  readonly status: string;
  readonly journal: string;
  readonly result: string;
  /** The result of one epoch, kept when a later one replaces `result`. */
  resultOf(epoch: number): string;
  readonly report: string;
  readonly proof: string;
  readonly runnerLog: string;
  readonly owners: string;
  owner(epoch: number): string;
  readonly attempts: string;
  attempt(step: StepId, n: number): AttemptPaths;
  readonly sessions: string;
  readonly artifacts: string;
  /** Only of a top run that has nested runs. */
  readonly nest: string;
  slot(n: number): string;
  /** `<root>/active/<id>`. */
  readonly activeMarker: string;
}

/** The part of a run directory through which commands come in and receipts go out. */
export interface ControlPaths {
  readonly control: string;
  /** Commands are written here and moved into `control` by rename. */
  readonly controlTemp: string;
  /** What the inbox has taken and not answered yet. */
  readonly claimed: string;
  readonly receipts: string;
  receipt(id: string): string;
  readonly rejected: string;
  readonly closed: string;
}

export interface AttemptPaths {
  readonly path: string;
  readonly launch: string;
  readonly stdout: string;
  readonly stderr: string;
  readonly transcript: string;
  readonly proof: string;
  /** The value it has handed in, as JSON. */
  readonly value: string;
}

export function runsDir(root: string): string {
  return join(root, 'runs');
}

/** Sessions of agents that runs share. */
export function sharedSessionsDir(root: string): string {
  return join(root, 'sessions');
}

/** Who has which session of an agent, of all runs. */
export function leasesDir(root: string): string {
  return join(root, 'leases');
}

export function activeDir(root: string): string {
  return join(root, 'active');
}

/** Paths of the run `id`. An id that is no safe name is mapped to one: no path leaves the root. */
export function runDir(root: string, id: string): RunDir {
  const name = safeId(id);
  const path = join(runsDir(root), name);
  const owners = join(path, 'owner');
  const attempts = join(path, 'attempts');
  const nest = join(path, 'nest');
  return {
    root,
    id,
    path,
    plan: join(path, 'plan.json'),
    planParts: join(path, 'plan'),
    status: join(path, 'status.json'),
    journal: join(path, 'events.jsonl'),
    result: join(path, 'result.json'),
    resultOf: (epoch) => join(path, 'results', `${epoch}.json`),
    report: join(path, 'report.md'),
    proof: join(path, 'proof.json'),
    runnerLog: join(path, 'runner.log'),
    owners,
    owner: (epoch) => join(owners, `${epoch}.json`),
    attempts,
    attempt: (step, n) => attemptPaths(join(attempts, safeId(step), String(n))),
    sessions: join(path, 'sessions'),
    artifacts: join(path, 'artifacts'),
    nest,
    slot: (n) => join(nest, `${n}.json`),
    activeMarker: join(activeDir(root), name),
    ...controlPaths(path),
  };
}

function controlPaths(path: string): ControlPaths {
  const control = join(path, 'control');
  const receipts = join(control, 'receipts');
  return {
    control,
    controlTemp: join(path, 'control.tmp'),
    claimed: join(control, 'claimed'),
    receipts,
    // Asked for with each command, and joined already.
    receipt: (id) => `${receipts}${sep}${safeId(id)}.json`,
    rejected: join(control, 'rejected'),
    closed: join(control, 'closed.json'),
  };
}

function attemptPaths(path: string): AttemptPaths {
  // Asked for at each step, and joined already.
  const file = (name: string): string => `${path}${sep}${name}`;
  return {
    path,
    launch: file('launch.json'),
    stdout: file('stdout.jsonl'),
    stderr: file('stderr.log'),
    transcript: file('transcript.jsonl'),
    proof: file('proof.json'),
    value: file('output.json'),
  };
}
