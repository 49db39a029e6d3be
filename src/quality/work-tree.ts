import { createHash } from 'node:crypto';
import { lstatSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { execa } from 'execa';
import { isBelow } from './files.ts';

/** What a git work tree was like: two that are equal hold the same. */
export type TreeState = { type: 'seen'; digest: string } | { type: 'unknown'; reason: string };

const GIT_LIMIT_MS = 30_000;
/** Of a tree with more changes than this list has room for nothing can be said. */
const MAX_LIST_BYTES = 16 * 1024 * 1024;
/** A larger file that has changes already is known by its size and its time. */
const MAX_CONTENT_BYTES = 1024 * 1024;

/**
 * What stands in the work tree around `cwd`: the commit, and each file that differs from it or that it does not know, with
 * its content. What git ignores is left out, and so is what lies at `apart` or below it.
 */
export async function readTree(cwd: string, apart: readonly string[]): Promise<TreeState> {
  const top = await git(cwd, ['rev-parse', '--show-toplevel']);
  if (top.type === 'failed') return { type: 'unknown', reason: top.reason };
  const root = top.text.replace(/\n$/, '');
  const head = await git(cwd, ['rev-parse', '--verify', '--quiet', 'HEAD']);
  const list = await git(root, ['status', '--porcelain=v1', '-z', '--untracked-files=all', '--no-renames']);
  if (list.type === 'failed') return { type: 'unknown', reason: list.reason };
  // Before its first commit a repository has no HEAD.
  const hash = createHash('sha256').update(head.type === 'ok' ? head.text : 'no commit');
  for (const entry of list.text.split('\0')) {
    const path = join(root, entry.slice(3));
    if (entry === '' || apart.some((one) => one === path || isBelow(path, one))) continue;
    hash.update(`\0${entry}\0${contentOf(path)}`);
  }
  return { type: 'seen', digest: hash.digest('hex') };
}

function contentOf(path: string): string {
  try {
    const stats = lstatSync(path);
    if (stats.isSymbolicLink()) return `link ${readlinkSync(path)}`;
    if (!stats.isFile()) return 'no file';
    const what = `${stats.mode} ${stats.size}`;
    if (stats.size > MAX_CONTENT_BYTES) return `${what} ${stats.mtimeMs}`;
    return `${what} ${createHash('sha256').update(readFileSync(path)).digest('hex')}`;
  } catch {
    return 'gone';
  }
}

type Said = { type: 'ok'; text: string } | { type: 'failed'; reason: string };

/** Reads only: takes no locks, runs no hook and no watcher of the repository's. */
async function git(cwd: string, args: readonly string[]): Promise<Said> {
  const result = await execa(
    'git',
    ['--no-optional-locks', '-c', 'core.fsmonitor=false', '-c', 'core.quotePath=false', ...args],
    {
      cwd,
      env: withoutRepository(process.env),
      extendEnv: false,
      stdin: 'ignore',
      reject: false,
      timeout: GIT_LIMIT_MS,
      maxBuffer: MAX_LIST_BYTES,
      stripFinalNewline: false,
    },
  );
  if (result.exitCode === 0 && !result.failed) return { type: 'ok', text: result.stdout };
  if (result.timedOut) return { type: 'failed', reason: `git took more than ${GIT_LIMIT_MS / 1_000} s` };
  if (result.isMaxBuffer) return { type: 'failed', reason: 'git lists more changes than are read' };
  const said = typeof result.stderr === 'string' ? result.stderr.split('\n', 1)[0] : '';
  return {
    type: 'failed',
    reason: said || result.originalMessage?.slice(0, 200) || `git ended with exit code ${result.exitCode}`,
  };
}

/** Which repository is meant is said by the folder, and by nothing that the runner was started with. */
function withoutRepository(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith('GIT_')));
}
