import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';

/** How many processes a tree has: a shell, eight children in its group, and two that left for sessions of their own. */
export const TREE_SIZE = 11;

/** One of the two has lost its parent too: only what it carries tells whose it is. */
const SCRIPT = `
i=0; while [ $i -lt 8 ]; do "$0" 600 & i=$((i+1)); done
setsid "$0" 600 &
(setsid "$0" 600 &)
wait`;

/** A tree that is to be stopped. Every process of it has the folder in its command line, so that others can count them. */
export interface Tree {
  argv: string[];
  folder: string;
}

export function newTree(parent: string, name: string): Tree {
  const folder = join(parent, name);
  mkdirSync(folder);
  const sleep = join(folder, 'sleep');
  symlinkSync('/bin/sleep', sleep);
  return { argv: ['/bin/sh', '-c', SCRIPT, sleep], folder };
}

/** Waits until all of it sleeps. */
export async function grown(tree: Tree): Promise<void> {
  const giveUpAt = performance.now() + 10_000;
  // Before they sleep, some are still on their way out of the group.
  while (alive(tree).filter((pid) => commandOf(pid).startsWith(tree.folder)).length < TREE_SIZE - 1) {
    if (performance.now() > giveUpAt) throw new Error('the tree does not grow');
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/** Its processes, by their command lines; those of which nothing runs any more have none. */
function alive({ folder }: Tree): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name) && commandOf(name).includes(folder))
    .map(Number);
}

function commandOf(pid: string | number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}

/** How many are left of it; they are ended now. */
export function clear(tree: Tree): number {
  const left = alive(tree);
  for (const pid of left) process.kill(pid, 'SIGKILL');
  rmSync(tree.folder, { recursive: true, force: true });
  return left.length;
}

/** Processes that have nothing to do with it. */
export async function crowd(size: number): Promise<ChildProcess & { pid: number }> {
  const script = `i=0; while [ $i -lt ${size} ]; do sleep 600 & i=$((i+1)); done; echo ready; wait`;
  const child = spawn('/bin/sh', ['-c', script], { detached: true, stdio: ['ignore', 'pipe', 'ignore'] });
  await once(child.stdout, 'data');
  if (child.pid === undefined) throw new Error('no crowd');
  return Object.assign(child, { pid: child.pid });
}
