import { posix } from 'node:path';

/**
 * Where our own control group (v2) is in the file system, from /proc/self/mountinfo and /proc/self/cgroup;
 * null when there is none or it lies outside of what is mounted here.
 */
export function cgroupFolder(mountinfo: string, cgroup: string): string | null {
  const own = /^0::(\/.*)$/m.exec(cgroup)?.[1];
  if (own === undefined) return null;
  for (const line of mountinfo.split('\n')) {
    const mount = cgroup2Mount(line);
    if (mount === null) continue;
    const inside = posix.relative(mount.root, own);
    if (inside !== '..' && !inside.startsWith('../')) return posix.join(mount.point, inside);
  }
  return null;
}

/** See proc_pid_mountinfo(5): after a lone `-` comes the type; field 4 is the root of the mount, field 5 where it is. */
function cgroup2Mount(line: string): { root: string; point: string } | null {
  const [before = '', after = ''] = line.split(' - ', 2);
  const [root, point] = before.split(' ').slice(3, 5);
  if (!after.startsWith('cgroup2 ') || root === undefined || point === undefined) return null;
  return { root: unescapeOctal(root), point: unescapeOctal(point) };
}

function unescapeOctal(text: string): string {
  return text.replaceAll(/\\([0-7]{3})/g, (_all, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)));
}
