import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Identity, isSame, startTimeOf } from '../../process/identity/index.ts';

const POLL_MS = 5;

/** Asks again until it is so; false when it is not within `patienceMs`. */
export async function until(isSo: () => boolean | Promise<boolean>, patienceMs: number): Promise<boolean> {
  const deadline = performance.now() + patienceMs;
  while (!(await isSo())) {
    if (performance.now() > deadline) return false;
    await sleep(POLL_MS);
  }
  return true;
}

/** Whether that very process runs. A zombie does not. */
export function runs({ pid, startTime }: Identity): boolean {
  return isSame(pid, startTime);
}

/** Who has this pid now; only to be asked while that cannot be anybody else. */
export function identityOf(pid: number): Identity {
  return { pid, startTime: startTimeOf(pid) };
}

/** False when that very process was not there to be signalled. Without start times nobody is sure to be, and none is sent. */
export function signal(target: Identity, name: NodeJS.Signals): boolean {
  if (target.startTime === null || !runs(target)) return false;
  try {
    return process.kill(target.pid, name);
  } catch {
    return false;
  }
}

/** Linux only: stopped by a signal. */
export async function isStopped({ pid }: Identity): Promise<boolean> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return stat.slice(stat.lastIndexOf(')') + 2).startsWith('T');
}
