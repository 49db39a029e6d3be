import { readFileSync, readdirSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import {
  createSweeper,
  groupState,
  note,
  signalTree,
  type Containment,
  type Container,
  type Look,
  type Sweeper,
  type TreeTarget,
} from '../../../src/process/index.ts';
import { folder, record, treeOfRun, until, type Recording } from '../support.ts';

/** Name of the script, and how many processes have reported when it is ready. */
export const ANIMALS = {
  'ignores-term': 2,
  'double-fork': 2,
  'new-session': 2,
  nohup: 2,
  'job-control': 2,
  'shed-with-parent': 2,
  'shed-with-pipe': 2,
  'shed-all': 2,
  'forks-on-term': 1,
  'fork-chain': 3,
  frozen: 2,
  'zombie-parent': 1,
} as const;
export type Animal = keyof typeof ANIMALS;
export type Mode = 'search' | 'cgroup' | 'pidns';

export const now = (): number => performance.now();

export interface Captive {
  run: Recording;
  target: TreeTarget;
  container: Container | null;
  /** The folder that all its processes have in their command lines. */
  zoo: string;
}

let cages = 0;

/** Starts an animal and waits until all its processes have reported. */
export async function capture(animal: Animal, mode: Mode, containment: Containment): Promise<Captive> {
  const zoo = folder();
  symlinkSync('/bin/sleep', join(zoo, 'sleep'));
  const container = containerFor(mode, containment);
  const script = new URL(`${animal}.sh`, import.meta.url).pathname;
  const run = record(['/bin/sh', script, zoo], { contain: container });
  const target = await treeOfRun(run, container);
  let ended = false;
  void run.exited.then(() => (ended = mode === 'pidns'));
  // A namespace ends with its program, and whoever else was to report may not have come to it.
  await until(`${animal} to be ready`, () => ended || reported(zoo).length >= ANIMALS[animal]);
  return { run, target, container, zoo };
}

function containerFor(mode: Mode, containment: Containment): Container | null {
  if (mode === 'search') return null;
  cages += 1;
  const opened = mode === 'cgroup' ? containment.openCgroup(`zoo-${process.pid}-${cages}`) : containment.openPidns();
  if (opened.type === 'refused') throw new Error(opened.code);
  return opened.container;
}

/** What the animals wrote: pids as they see them themselves. */
export function reported(zoo: string): number[] {
  try {
    return readFileSync(join(zoo, 'pids'), 'latin1').split('\n').filter(Boolean).map(Number);
  } catch {
    return [];
  }
}

/** Every running process that has the folder in its command line; found without any of what is tested here. */
export function census(zoo: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && contentOf(`/proc/${name}/cmdline`).includes(zoo))
    .map(Number);
}

export function contentOf(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

export interface Ending {
  verdict: 'gone' | 'survived';
  look: Look;
  /** How those were found that the looks found, in order. */
  found: string[];
}

const GRACE_MS = 30;
const ROUNDS = 60;

/** The shortest way a termination can go: TERM, a short grace, then KILL and look until two looks are clean. */
export async function end({ run, target }: Captive, sweeper: Sweeper = createSweeper({ now })): Promise<Ending> {
  let exited = false;
  void run.exited.then(() => (exited = true));
  const emptied = (): boolean => exited && groupState(target.pgid) !== 'occupied';
  note(target);
  signalTree(target, 'SIGTERM', { emptied: emptied() });
  const graceEnds = now() + GRACE_MS;
  await until('the grace', () => emptied() || now() > graceEnds);
  const found: string[] = [];
  let clean: number | null = null;
  for (let round = 0; ; round += 1) {
    // oxlint-disable-next-line no-await-in-loop -- one look after the other is the case
    const look = await sweeper.look(target, { pipes: true });
    const members = look.type === 'looked' ? look.members : [];
    found.push(...members.map(({ by }) => by));
    if (look.type === 'looked' && members.length === 0) {
      if (clean !== null && clean !== look.serial) return { verdict: 'gone', look, found };
      clean = look.serial;
      continue;
    }
    clean = null;
    if (round >= ROUNDS) return { verdict: 'survived', look, found };
    note(target);
    signalTree(target, 'SIGKILL', { members, emptied: emptied() });
  }
}
