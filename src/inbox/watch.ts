import { statSync } from 'node:fs';
import { watch } from 'chokidar';

export interface Watch {
  close(): Promise<void>;
}

/** Tells that something may have changed in a folder. `failed` comes once at most; hints may be lost after it. */
export type StartWatch = (folder: string, on: { hint: () => void; failed: (error: unknown) => void }) => Watch;

/**
 * chokidar on the folder alone. Its raw events come before it has read the folder itself, so a command is taken
 * within a millisecond; its own events are the net below.
 */
export const watchFolder: StartWatch = (folder, { hint, failed }) => {
  // Persistent: otherwise it listens to no errors of the system's watcher, and one would end the process.
  const watcher = watch(folder, { depth: 0, ignoreInitial: false, followSymlinks: false, persistent: true });
  watcher.on('raw', hint);
  watcher.on('all', hint);
  // What came between its first look and the moment it began to listen.
  watcher.on('ready', hint);
  watcher.on('error', failed);
  return { close: () => watcher.close() };
};

/** Which folder lies at a path now: null when none does. Another one under the same name is another identity. */
export function folderIdentity(path: string): string | null {
  try {
    const stat = statSync(path);
    return stat.isDirectory() ? `${stat.dev}:${stat.ino}` : null;
  } catch {
    return null;
  }
}
