import { closeSync, openSync, readlinkSync, readSync, readdirSync, statSync } from 'node:fs';

/**
 * Reading /proc. Synchronous on purpose: these files are made by the kernel on the spot (about 4 us each),
 * and a trip through the thread pool costs ten times that. Callers who read many do so in slices.
 */

/** `gone`: no such process any more. `denied`: it is there and we may not look. `failed`: we could not look, for a reason of our own. */
export type ProcRead<T> =
  { type: 'read'; value: T } | { type: 'gone' } | { type: 'denied' } | { type: 'failed'; code: string };

export interface ProcStat {
  pid: number;
  /** Name of the executable, at most 15 bytes; never its arguments. */
  command: string;
  ppid: number;
  pgid: number;
  session: number;
  /** Clock ticks since boot. Never changes in a process's life, not even by exec. */
  startTime: number;
  /**
   * Nothing of it runs any more: a zombie or dead, and no other thread left. (A process whose main thread
   * has ended while others go on is shown as a zombie too.)
   */
  gone: boolean;
  /** Its main thread has ended, other threads run on: the environment has to be read through one of those. */
  headless: boolean;
  kernelThread: boolean;
  /** Address and size of the environment; 0 in the middle of an exec, and where we may not look. */
  environAt: number;
  environBytes: number;
}

const PF_KTHREAD = 0x0020_0000;
const READ: { bytes: Buffer } = { bytes: Buffer.allocUnsafeSlow(64 * 1024) };

export function readStat(pid: number): ProcRead<ProcStat> {
  const read = readProcFile(`/proc/${pid}/stat`);
  if (read.type !== 'read') return read;
  const stat = parseStat(read.value);
  return stat === null ? { type: 'failed', code: 'unreadable-stat' } : { type: 'read', value: stat };
}

/** The environment block: `NAME=value` entries, each ended by a zero byte. Valid until the next read. */
export function readEnviron(pid: number, headless = false): ProcRead<Buffer> {
  if (!headless) return readProcFile(`/proc/${pid}/environ`);
  for (const thread of numericNames(`/proc/${pid}/task`)) {
    if (thread === pid) continue;
    const read = readProcFile(`/proc/${pid}/task/${thread}/environ`);
    if (read.type === 'failed' || (read.type === 'read' && read.value.length > 0)) return read;
  }
  return { type: 'gone' };
}

/** Pids in rising order. Throws where /proc cannot be listed. */
export function listPids(): number[] {
  const pids: number[] = [];
  for (const name of readdirSync('/proc')) {
    const first = name.charCodeAt(0);
    if (first >= 0x30 && first <= 0x39) pids.push(Number(name));
  }
  return pids;
}

/**
 * Children of a process that still runs, by the kernel's own list: one short file for each of its threads.
 * Null where the kernel keeps no such list (CONFIG_PROC_CHILDREN) or the process has gone.
 */
export function childrenOf(pid: number): number[] | null {
  const children: number[] = [];
  let listed = false;
  for (const thread of numericNames(`/proc/${pid}/task`)) {
    const read = readProcFile(`/proc/${pid}/task/${thread}/children`);
    if (read.type !== 'read') continue;
    listed = true;
    for (const child of read.value.toString('latin1').split(' ')) if (child !== '') children.push(Number(child));
  }
  return listed ? children : null;
}

/** Where a link of a process leads: `cwd`, `fd/1`, `ns/pid`. */
export function readProcLink(pid: number, name: string): ProcRead<string> {
  try {
    return { type: 'read', value: readlinkSync(`/proc/${pid}/${name}`) };
  } catch (error) {
    return readFailure(error);
  }
}

/** Whether a process has one of these files open (`pipe:[1]`, `socket:[2]`). About 30 us a process. */
export function holdsOneOf(pid: number, links: ReadonlySet<string>): ProcRead<boolean> {
  try {
    for (const fd of readdirSync(`/proc/${pid}/fd`)) {
      const link = readProcLink(pid, `fd/${fd}`);
      if (link.type === 'failed') return link;
      if (link.type === 'read' && links.has(link.value)) return { type: 'read', value: true };
    }
    return { type: 'read', value: false };
  } catch (error) {
    return readFailure(error);
  }
}

/** A number that another process under the same pid does not have; undefined when nobody has the pid. */
export function inodeOf(pid: number): number | undefined {
  return statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.ino;
}

/** @internal The name may hold spaces and brackets, hence the last `)`. Null when the bytes are no stat line. */
export function parseStat(bytes: Buffer): ProcStat | null {
  const open = bytes.indexOf(0x28);
  const close = bytes.lastIndexOf(0x29);
  if (open < 0 || close < open) return null;
  // The first field after the name is number 3 of proc_pid_stat(5).
  const fields = bytes.toString('latin1', close + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  const ended = fields[0] === 'Z' || fields[0] === 'X';
  const stat: ProcStat = {
    pid: Number(bytes.toString('latin1', 0, open)),
    command: bytes.toString('utf8', open + 1, close),
    ppid: field(4),
    pgid: field(5),
    session: field(6),
    startTime: field(22),
    gone: ended && field(20) <= 1,
    headless: ended && field(20) > 1,
    kernelThread: (field(9) & PF_KTHREAD) !== 0,
    environAt: field(50),
    environBytes: Math.max(0, field(51) - field(50)),
  };
  return Number.isInteger(stat.pid) && Number.isInteger(stat.startTime) ? stat : null;
}

function numericNames(folder: string): number[] {
  try {
    return readdirSync(folder).map(Number);
  } catch {
    return [];
  }
}

/** One buffer for all reads: a search makes hundreds, and 64 KiB holds nearly every environment. */
function readProcFile(path: string): ProcRead<Buffer> {
  let file: number | undefined;
  try {
    file = openSync(path, 'r');
    let length = 0;
    for (;;) {
      const count = readSync(file, READ.bytes, length, READ.bytes.length - length, length);
      length += count;
      if (length < READ.bytes.length) return { type: 'read', value: READ.bytes.subarray(0, length) };
      READ.bytes = Buffer.concat([READ.bytes], READ.bytes.length * 2);
    }
  } catch (error) {
    return readFailure(error);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

function readFailure(error: unknown): { type: 'gone' } | { type: 'denied' } | { type: 'failed'; code: string } {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  if (code === 'ENOENT' || code === 'ESRCH') return { type: 'gone' };
  if (code === 'EACCES' || code === 'EPERM') return { type: 'denied' };
  return { type: 'failed', code };
}
