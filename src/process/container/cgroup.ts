import { mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Member } from '../../../machines/protocol.ts';
import { readStat } from '../proc.ts';
import type { SignalResult } from '../signal.ts';
import { passGate, shellFor } from './enter.ts';
import type { Container, Inside } from './types.ts';

/** Every group of ours is called so; no other is ever written to or removed. */
export const CGROUP_PREFIX = 'coxswain-';

/** Made, or why not: the system's error code. */
export type Opened = { type: 'opened'; container: Container } | { type: 'refused'; code: string };

/** Makes a control group under `base` and returns it as a container. `name` is made safe for a file name. */
export function createCgroup(base: string, name: string): Opened {
  const path = join(base, CGROUP_PREFIX + name.replaceAll(/[^A-Za-z0-9_.-]/g, '_').slice(0, 200));
  try {
    mkdirSync(path, { mode: 0o700 });
    return { type: 'opened', container: cgroupAt(path) };
  } catch (error) {
    return { type: 'refused', code: codeOf(error) };
  }
}

/** A group that an earlier process made. Refused unless it has one of our names and is a control group that can be killed. */
export function reopenCgroup(path: string): Opened {
  if (!basename(path).startsWith(CGROUP_PREFIX)) return { type: 'refused', code: 'not-ours' };
  try {
    readFileSync(join(path, 'cgroup.events'));
    return { type: 'opened', container: cgroupAt(path) };
  } catch (error) {
    return { type: 'refused', code: codeOf(error) };
  }
}

function cgroupAt(path: string): Container {
  return {
    kind: 'cgroup',
    path,
    // Who may put processes into a group may do so with the groups around it, and what we start has our rights.
    leavable: true,
    enter(argv, env) {
      const script = `echo $$ >"$0/cgroup.procs" || exit 125; ${passGate(env)}; exec "$@"`;
      return [...shellFor(env), '-c', script, path, ...argv];
    },
    entered() {},
    look: () => lookInside(path),
    kill: () => killInside(path),
    remove: () => removeTree(path),
  };
}

function lookInside(path: string): Inside {
  try {
    // One line of it tells about the whole subtree; processes of which nothing runs any more do not count.
    if (!/^populated 1$/m.test(readFileSync(join(path, 'cgroup.events'), 'latin1'))) return { type: 'empty' };
    const members = pidsInside(path).flatMap(memberOf);
    if (members.length > 0) return { type: 'occupied', members };
    return { type: 'unseen', reason: 'the control group is populated, but lists nobody we can see', passing: true };
  } catch (error) {
    const code = codeOf(error);
    // A group can only be removed when nobody is in it; but a file system that is gone says the same.
    if (code === 'ENOENT' || code === 'ENODEV') {
      if (isCgroup(dirname(path))) return { type: 'empty' };
    }
    return { type: 'unseen', reason: `the control group cannot be read (${code})` };
  }
}

function memberOf(pid: number): Member[] {
  const stat = readStat(pid);
  if (stat.type !== 'read' || stat.value.gone) return [];
  return [{ pid, startTime: stat.value.startTime, by: 'cgroup', command: stat.value.command }];
}

/** Processes of the group and of groups that were made inside it. 0 stands for one outside our view. */
function pidsInside(path: string): number[] {
  const own = readFileSync(join(path, 'cgroup.procs'), 'latin1').split('\n').filter(Boolean).map(Number);
  return [...own, ...groupsInside(path).flatMap(pidsInside)];
}

function groupsInside(path: string): string[] {
  return readdirSync(path, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(path, entry.name));
}

function killInside(path: string): SignalResult {
  const inside = lookInside(path);
  if (inside.type === 'empty') return { targets: 0 };
  try {
    writeFileSync(join(path, 'cgroup.kill'), '1');
    return { targets: inside.type === 'occupied' ? inside.members.length : 1 };
  } catch (error) {
    return { targets: 0, error: codeOf(error) };
  }
}

function removeTree(path: string): boolean {
  try {
    for (const inner of groupsInside(path)) if (!removeTree(inner)) return false;
    rmdirSync(path);
    return true;
  } catch (error) {
    return codeOf(error) === 'ENOENT';
  }
}

function isCgroup(path: string): boolean {
  try {
    return readFileSync(join(path, 'cgroup.procs')).length >= 0;
  } catch {
    return false;
  }
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
}
