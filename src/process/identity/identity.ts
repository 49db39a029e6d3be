import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { hostPlatform, type Platform } from '../platform.ts';
import { readStat } from '../proc.ts';

/** A process on this boot. A bare pid is no identity: the system hands it out again. */
export interface Identity {
  pid: number;
  /** Clock ticks since boot; null where the platform does not tell. */
  startTime: number | null;
}

let boot: string | undefined;

/**
 * Names this boot of the machine; pids and start times mean nothing across two boots.
 * `unknown` where the system has no such name (Windows).
 */
export function bootId(): string {
  boot ??= readBootId();
  return boot;
}

/** Start time of a process that is there, zombies included. Null when it is not, or the platform does not tell. */
export function startTimeOf(pid: number, platform: Platform = hostPlatform()): number | null {
  if (platform.list !== 'proc') return null;
  const stat = readStat(pid);
  return stat.type === 'read' ? stat.value.startTime : null;
}

/** The identity of a running process; null when nothing runs under this pid (a zombie does not run). */
export function identify(pid: number, platform: Platform = hostPlatform()): Identity | null {
  if (platform.list !== 'proc') return answers(pid) ? { pid, startTime: null } : null;
  const stat = readStat(pid);
  return stat.type === 'read' && !stat.value.gone ? { pid, startTime: stat.value.startTime } : null;
}

/**
 * Whether that very process still runs: same pid, same start time, no zombie.
 *
 * Without /proc the start time cannot be compared, and the answer says only that some process has the pid.
 * Good enough to go on believing in an owner; never a licence to send a signal.
 */
export function isSame(pid: number, startTime: number | null, platform: Platform = hostPlatform()): boolean {
  if (platform.list !== 'proc') return answers(pid);
  return startTime !== null && identify(pid, platform)?.startTime === startTime;
}

function answers(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM';
  }
}

function readBootId(): string {
  try {
    if (process.platform === 'darwin') {
      return execFileSync('sysctl', ['-n', 'kern.bootsessionuuid'], { encoding: 'utf8' }).trim();
    }
    return readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
  } catch {
    return 'unknown';
  }
}
