import { mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join, resolve } from 'node:path';
import { troubleOf } from './trouble.ts';

export interface RootRequest {
  /** What `--root` said; relative paths are taken from the current folder. */
  root?: string | undefined;
  /** The environment to read; nothing else is. */
  env: Readonly<Record<string, string | undefined>>;
  /** @default process.platform */
  platform?: NodeJS.Platform;
  /** Where the user lives if the environment does not say. @default os.homedir() */
  home?: string;
}

export type ResolvedRoot =
  { type: 'ok'; root: string } | { type: 'refused'; reason: 'no-home' | 'bad-path'; message: string };

/**
 * The state root: `root`, else COXSWAIN_HOME, else `$XDG_STATE_HOME/coxswain`, else `~/.local/state/coxswain`
 * (Windows: `%LOCALAPPDATA%\coxswain`). Empty values count as not set, and so does an XDG_STATE_HOME that is not
 * absolute, as its specification asks. Nothing is made or looked at.
 */
export function resolveRoot(request: RootRequest): ResolvedRoot {
  const { env } = request;
  const chosen = request.root || env['COXSWAIN_HOME'];
  const root = chosen ? resolve(chosen) : defaultRoot(request);
  if (root === null) {
    return {
      type: 'refused',
      reason: 'no-home',
      message: 'no home directory is known: give --root or set COXSWAIN_HOME',
    };
  }
  if (root.includes('\0')) {
    return { type: 'refused', reason: 'bad-path', message: 'the state root contains a NUL character' };
  }
  return { type: 'ok', root };
}

function defaultRoot({ env, platform = process.platform, home }: RootRequest): string | null {
  if (platform === 'win32') {
    const local = env['LOCALAPPDATA'];
    if (local) return join(local, 'coxswain');
  } else {
    const state = env['XDG_STATE_HOME'];
    if (state && isAbsolute(state)) return join(state, 'coxswain');
  }
  const user = (platform === 'win32' ? env['USERPROFILE'] : env['HOME']) || home || homedir();
  if (!user) return null;
  return platform === 'win32' ? join(user, 'AppData', 'Local', 'coxswain') : join(user, '.local', 'state', 'coxswain');
}

export type SecuredRoot =
  | { type: 'ok'; root: string }
  | {
      type: 'refused';
      reason: 'not-a-directory' | 'not-ours' | 'writable-by-others' | 'unusable';
      message: string;
    };

/**
 * Makes the state root (0700, parents too) or checks the one that is there. A root that belongs to somebody else or
 * that group or others may write is refused: whoever can write there can hand us a plan. Readable by others is
 * accepted, since every folder we make inside is 0700. On Windows only the folder itself is checked.
 *
 * @param uid Whose root it must be. @default the user of this process
 */
export function secureRoot(root: string, uid: number | undefined = process.getuid?.()): SecuredRoot {
  try {
    mkdirSync(root, { recursive: true, mode: 0o700 });
    const stat = statSync(root);
    if (!stat.isDirectory()) return notADirectory(root);
    if (uid === undefined) return { type: 'ok', root };
    if (stat.uid !== uid) {
      return {
        type: 'refused',
        reason: 'not-ours',
        message: `the state root ${root} belongs to user ${stat.uid}, not to us (${uid}): choose another with --root`,
      };
    }
    if ((stat.mode & 0o022) !== 0) {
      return {
        type: 'refused',
        reason: 'writable-by-others',
        message: `others may write to the state root ${root}: run 'chmod go-w ${root}' or choose another with --root`,
      };
    }
    return { type: 'ok', root };
  } catch (error) {
    const { code, message } = troubleOf(error);
    if (code === 'EEXIST' || code === 'ENOTDIR') return notADirectory(root);
    return { type: 'refused', reason: 'unusable', message: `the state root ${root} cannot be used: ${message}` };
  }
}

function notADirectory(root: string): SecuredRoot {
  return {
    type: 'refused',
    reason: 'not-a-directory',
    message: `the state root ${root} is not a directory: choose another with --root`,
  };
}
