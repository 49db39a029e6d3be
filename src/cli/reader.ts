import { fstatSync, lstatSync, readdirSync, readlinkSync } from 'node:fs';

/**
 * Whether a pipe that this process writes to still has a reader. Node tells only with the next write, which may never
 * come. Works on Linux, and only if the reader could be seen at the first look: one of another user cannot.
 */
export class PipeReader {
  readonly #pipe: string | null;
  /** The reader's end as /proc shows it; null before the first look. */
  #end: string | null = null;
  #blind = false;

  constructor(fd: number) {
    this.#pipe = process.platform === 'linux' && fstatSync(fd).isFIFO() ? linkOf(`/proc/self/fd/${fd}`) : null;
  }

  /** True when there was one, and there is none any more. */
  gone(): boolean {
    if (this.#pipe === null || this.#blind) return false;
    if (this.#end !== null && linkOf(this.#end) === this.#pipe) return false;
    // It may have been handed on, as a shell does with the pipes it makes.
    const first = this.#end === null;
    this.#end = readingEnd(this.#pipe);
    if (this.#end !== null) return false;
    this.#blind = first;
    return !first;
  }
}

/** Where somebody holds that pipe for reading. */
function readingEnd(pipe: string): string | null {
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    for (const fd of fdsOf(pid)) {
      const path = `/proc/${pid}/fd/${fd}`;
      if (linkOf(path) === pipe && isReading(path)) return path;
    }
  }
  return null;
}

/** None where the process has gone or belongs to somebody else. */
function fdsOf(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`);
  } catch {
    return [];
  }
}

function linkOf(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

/** The link's own mode tells how the file was opened. */
function isReading(path: string): boolean {
  try {
    return (lstatSync(path).mode & 0o400) !== 0;
  } catch {
    return false;
  }
}
