import { lstatSync, statfsSync } from 'node:fs';
import { watch } from 'chokidar';

export interface Watch {
  close(): Promise<void>;
}

/** Tells that something may have changed in a folder. `failed` comes once at most; hints may be lost after it. */
export type StartWatch = (folder: string, on: { hint: () => void; failed: (error: unknown) => void }) => Watch;

/**
 * chokidar on the folder alone. Its raw events come before it has read the folder itself, so a command is taken
 * within a millisecond. What lies in the folder it need not know: each file would be looked at, and watched.
 */
export const watchFolder: StartWatch = (folder, { hint, failed }) => {
  const watcher = watch(folder, {
    depth: 0,
    ignored: (path) => path.length > folder.length,
    ignoreInitial: false,
    followSymlinks: false,
    // Otherwise it listens to no errors of the system's watcher, and one would end the process.
    persistent: true,
  });
  watcher.on('raw', hint);
  watcher.on('all', hint);
  // What came between its first look and the moment it began to listen.
  watcher.on('ready', hint);
  watcher.on('error', failed);
  return { close: () => watcher.close() };
};

/** A folder as one look at it shows it. */
export interface Seen {
  /** Another folder under the same name has another one. */
  identity: string;
  /** When something was last put into it or taken out, by the clock of its disk. */
  changedMs: number;
}

/** Null when there is no folder at the path itself: a link to one is none. */
export function seeFolder(path: string): Seen | null {
  const stat = lstatSync(path, { throwIfNoEntry: false });
  return stat?.isDirectory() === true ? { identity: `${stat.dev}:${stat.ino}`, changedMs: stat.mtimeMs } : null;
}

/** The same for paths that cannot be looked at for whatever reason. */
export function trySee(path: string): Seen | null {
  try {
    return seeFolder(path);
  } catch {
    return null;
  }
}

/** Of file systems that other machines write to without this one being told (statfs(2)). */
const NETWORK: ReadonlySet<number> = new Set([
  0x69_69, // NFS
  0x51_7b, // SMB 1
  0xfe_53_4d_42, // SMB 2
  0xff_53_4d_42, // CIFS
  0x01_02_19_97, // 9p
  0x65_73_55_46, // FUSE, sshfs among them
  0x00_c3_64_00, // Ceph
  0x53_46_41_4f, // AFS
  0x47_50_46_53, // GPFS
  0x0b_d0_0b_d0, // Lustre
  0x78_6f_42_56, // VirtualBox shared folders
]);

/** Whether a folder lies where changes made elsewhere are not told of. */
export function isRemote(path: string): boolean {
  if (process.platform === 'win32') return path.startsWith(String.raw`\\`);
  if (process.platform !== 'linux') return false;
  try {
    // Some platforms give the number with its sign.
    return NETWORK.has(Number(BigInt.asUintN(32, BigInt(statfsSync(path).type))));
  } catch {
    return false;
  }
}
