import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { execa } from 'execa';
import treeKill from 'tree-kill';
import { start } from '../../src/index.ts';
import { TOKEN_ENV, createSweeper, groupState, newToken, startTimeOf } from '../../src/process/index.ts';
import { type Tree, grown } from './stopped-tree.ts';

/** Starts a tree, stops it, and gives the milliseconds from the stop to the moment it says that it has ended. */
export type Stopper = (tree: Tree, root: string) => Promise<Times>;
/** `part`: of one that does more than end the tree, the time for that alone. */
export type Times = { ms: number; part?: number };

/** What the peers start: a process group of its own, its output on a pipe, as ours has. */
async function startBare(
  { argv }: Tree,
  token = '',
): Promise<{ pid: number; exited: Promise<unknown>; kill: () => void }> {
  const [command = '', ...args] = argv;
  const env = { ...process.env, ...(token === '' ? {} : { [TOKEN_ENV]: token }) };
  const child = spawn(command, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env });
  // The strays keep the pipes open: nobody waits for their end.
  const { pid } = child;
  if (pid === undefined) throw new Error('no tree');
  const exited = once(child, 'exit').finally(() => {
    child.stdout.destroy();
    child.stderr.destroy();
  });
  return { pid, exited, kill: () => void child.kill('SIGKILL') };
}

async function timed(work: () => Promise<unknown>): Promise<Times> {
  const begun = performance.now();
  await work();
  return { ms: performance.now() - begun };
}

/** Zombies are gone: somebody else is to reap them, and may take a second. */
async function groupGone(pgid: number): Promise<void> {
  while (groupState(pgid) === 'occupied') await pause(1);
}

/** A whole run with its record. `ms`: to `run.settled`; `part`: to the end of the attempt, proof included. */
const coxswain =
  (contain: 'none' | 'cgroup'): Stopper =>
  async (tree, root) => {
    const plan = { version: 1 as const, steps: [{ id: 'a', run: tree.argv, contain }] };
    const run = await start({ plan }, { root });
    await grown(tree);
    const begun = performance.now();
    const times = { ms: Number.NaN, part: Number.NaN };
    const watching = (async () => {
      for await (const { type } of run.events()) {
        if (type === 'attempt.closed') times.part = performance.now() - begun;
        if (type === 'run.settled') times.ms = performance.now() - begun;
      }
    })();
    await run.stop({ source: 'bench' });
    await Promise.all([run.ended(), watching]);
    return times;
  };

export const stoppers = {
  coxswain: coxswain('none'),
  'coxswain in a control group': coxswain('cgroup'),
  'kill(-pgid) and one search': async (tree) => {
    const token = newToken();
    const { pid, exited } = await startBare(tree, token);
    const leader = { pid, startTime: startTimeOf(pid) };
    const sweeper = createSweeper({ now: () => performance.now() });
    await grown(tree);
    return timed(async () => {
      process.kill(-pid, 'SIGKILL');
      await Promise.all([exited, groupGone(pid)]);
      await sweeper.look({ pgid: pid, token, leader });
    });
  },
  'kill(-pgid)': async (tree) => {
    const { pid, exited } = await startBare(tree);
    await grown(tree);
    return timed(async () => {
      process.kill(-pid, 'SIGKILL');
      await Promise.all([exited, groupGone(pid)]);
    });
  },
  'tree-kill': async (tree) => {
    const { pid, exited } = await startBare(tree);
    await grown(tree);
    return timed(async () => {
      await new Promise<void>((resolve) => treeKill(pid, 'SIGKILL', () => resolve()));
      await exited;
    });
  },
  'kill of execa': async (tree) => {
    const [command = '', ...args] = tree.argv;
    const child = execa(command, args, { reject: false, stdin: 'ignore', buffer: false });
    const exited = new Promise((resolve) => child.once('exit', resolve));
    await grown(tree);
    const times = await timed(async () => {
      child.kill('SIGKILL');
      await exited;
    });
    child.stdout.destroy();
    child.stderr.destroy();
    return times;
  },
  'child.kill': async (tree) => {
    const { exited, kill } = await startBare(tree);
    await grown(tree);
    return timed(async () => {
      kill();
      await exited;
    });
  },
} satisfies Record<string, Stopper>;
