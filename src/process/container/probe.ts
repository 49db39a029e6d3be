import { randomBytes } from 'node:crypto';
import { accessSync, constants, readFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { execa } from 'execa';
import { hostPlatform, type Platform } from '../platform.ts';
import { createCgroup, type Opened, reopenCgroup } from './cgroup.ts';
import { cgroupFolder } from './mounts.ts';
import { createPidns } from './pidns.ts';

/** Why a kind of containment is not to be had. `detail` is for people. */
export interface Unavailable {
  type: 'unavailable';
  reason: 'no-proc' | 'no-cgroup2' | 'not-delegated' | 'no-cgroup-kill' | 'cannot-enter' | 'no-unshare' | 'not-allowed';
  detail: string;
}

export type CgroupMeans = { type: 'available'; base: string } | Unavailable;
export type PidnsMeans = { type: 'available'; unshare: readonly string[] } | Unavailable;

/** What this process can put its children into. */
export interface Containment {
  readonly cgroup: CgroupMeans;
  readonly pidns: PidnsMeans;
  /** A control group for one attempt. The name has to be new; `EEXIST` otherwise. */
  openCgroup(name: string): Opened;
  /** A process id namespace for one attempt; it begins with the launch. */
  openPidns(): Opened;
  /** A control group that an earlier process made, by its path: to look again, to kill, to remove. */
  reopenCgroup(path: string): Opened;
}

export interface ProbeOptions {
  platform?: Platform;
  /** Replaces /proc/self/mountinfo and /proc/self/cgroup. */
  read?: (path: string) => string;
  /** Where `unshare` is looked for. Default: the PATH of this process. */
  path?: string;
}

const PROBE_TIMEOUT_MS = 5_000;

let probed: Promise<Containment> | undefined;

/** Finds out once in a process, by trying: takes some 20 ms, starts a few short processes, leaves nothing behind. Never rejects. */
export function probeContainment(): Promise<Containment> {
  probed ??= probeAnew();
  return probed;
}

/** @internal Probes each time. */
export async function probeAnew(options: ProbeOptions = {}): Promise<Containment> {
  const platform = options.platform ?? hostPlatform();
  const none: Unavailable = { type: 'unavailable', reason: 'no-proc', detail: 'there is no /proc of this system' };
  if (platform.list !== 'proc') return containmentOf(none, none);
  const [cgroup, pidns] = await Promise.all([
    probeCgroup(options.read ?? ((path) => readFileSync(path, 'utf8'))),
    probePidns(options.path ?? process.env['PATH'] ?? ''),
  ]);
  return containmentOf(cgroup, pidns);
}

function containmentOf(cgroup: CgroupMeans, pidns: PidnsMeans): Containment {
  return {
    cgroup,
    pidns,
    openCgroup: (name) =>
      cgroup.type === 'available' ? createCgroup(cgroup.base, name) : { type: 'refused', code: cgroup.reason },
    openPidns: () =>
      pidns.type === 'available'
        ? { type: 'opened', container: createPidns(pidns.unshare) }
        : { type: 'refused', code: pidns.reason },
    reopenCgroup,
  };
}

/** Makes a group beside nobody else's, puts one process into it, and removes it. */
async function probeCgroup(read: (path: string) => string): Promise<CgroupMeans> {
  const base = cgroupFolder(textOr(read, '/proc/self/mountinfo'), textOr(read, '/proc/self/cgroup'));
  if (base === null) return unavailable('no-cgroup2', 'no control group (v2) of this process can be seen');
  const opened = createCgroup(base, `probe-${process.pid}-${randomBytes(4).toString('hex')}`);
  if (opened.type === 'refused') {
    return unavailable('not-delegated', `no group can be made in ${base} (${opened.code})`);
  }
  const { container } = opened;
  try {
    const path = container.path ?? '';
    if (!isWritable(join(path, 'cgroup.kill'))) {
      return unavailable('no-cgroup-kill', 'the kernel cannot kill a control group (before 5.14)');
    }
    const entry = 'echo $$ >"$0/cgroup.procs" && exec grep -qx $$ "$0/cgroup.procs"';
    const code = await exitCode(['/bin/sh', '-c', entry, path]);
    if (code !== 0) return unavailable('cannot-enter', `a process cannot be put into a group in ${base}`);
    return { type: 'available', base };
  } finally {
    await removeSoon(() => container.remove());
  }
}

const UNSHARE = ['--pid', '--fork', '--kill-child'];

/** As root, or in a user namespace; with a /proc of its own where mounting is allowed. */
async function probePidns(path: string): Promise<PidnsMeans> {
  const unshare = programOn(path, 'unshare');
  if (unshare === null) return unavailable('no-unshare', 'there is no program "unshare" on the PATH');
  const asUser = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  for (const more of [['--mount-proc'], []]) {
    const argv = [unshare, ...asUser, ...UNSHARE, ...more, '--'];
    // oxlint-disable-next-line no-await-in-loop -- the second only if the first is refused
    if ((await exitCode([...argv, '/bin/sh', '-c', 'exit 0'])) === 0) return { type: 'available', unshare: argv };
  }
  return unavailable('not-allowed', 'this process may not make a process id namespace');
}

async function exitCode([command = '', ...args]: readonly string[]): Promise<number | undefined> {
  const result = await execa(command, args, {
    stdio: 'ignore',
    reject: false,
    timeout: PROBE_TIMEOUT_MS,
    killSignal: 'SIGKILL',
    verbose: 'none',
  });
  return result.exitCode;
}

/** A process that was just reaped may count for a moment longer. */
async function removeSoon(remove: () => boolean): Promise<void> {
  // oxlint-disable-next-line no-await-in-loop -- waiting is the point
  for (let ms = 1; ms < 200 && !remove(); ms *= 2) await sleep(ms);
}

function programOn(path: string, name: string): string | null {
  for (const folder of path.split(delimiter)) {
    const file = join(folder, name);
    if (folder !== '' && isExecutable(file)) return file;
  }
  return null;
}

const isExecutable = (file: string): boolean => may(file, constants.X_OK);
const isWritable = (file: string): boolean => may(file, constants.W_OK);

function may(file: string, mode: number): boolean {
  try {
    accessSync(file, mode);
    return true;
  } catch {
    return false;
  }
}

function textOr(read: (path: string) => string, path: string): string {
  try {
    return read(path);
  } catch {
    return '';
  }
}

function unavailable(reason: Unavailable['reason'], detail: string): Unavailable {
  return { type: 'unavailable', reason, detail };
}
