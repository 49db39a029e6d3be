import { readlinkSync } from 'node:fs';

/**
 * What this machine lets us see and do about processes. The one place that asks which system this is.
 * Everything that depends on it takes a `Platform`, so the poorer ways are tested on the richer systems too.
 */
export interface Platform {
  /** How processes are listed: `/proc` (identity, environment, group), `ps` (group only), or not at all. */
  readonly list: 'proc' | 'ps' | 'none';
  /** A negative pid reaches a whole process group. */
  readonly groups: boolean;
  /** What `ps` is called; looked up on the PATH of this process. */
  readonly ps: string;
}

let host: Platform | undefined;

/** This machine. Looked at once: it does not change under a running process. */
export function hostPlatform(): Platform {
  host ??= detectPlatform(process.platform);
  return host;
}

/** @internal */
export function detectPlatform(system: NodeJS.Platform): Platform {
  if (system === 'win32') return { list: 'none', groups: false, ps: 'ps' };
  return { list: system === 'linux' && procIsOurs() ? 'proc' : 'ps', groups: true, ps: 'ps' };
}

/** A /proc that is missing, or that belongs to another pid namespace, would answer about other processes. */
function procIsOurs(): boolean {
  try {
    return readlinkSync('/proc/self') === String(process.pid);
  } catch {
    return false;
  }
}
