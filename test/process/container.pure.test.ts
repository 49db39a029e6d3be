import { expect, it } from 'vitest';
import { cgroupFolder } from '../../src/process/container/mounts.ts';
import { passGate, shellFor } from '../../src/process/container/enter.ts';

const V1 = '33 31 0:30 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu';
const HYBRID = `${V1}\n41 31 0:38 / /sys/fs/cgroup/unified rw,relatime shared:9 - cgroup2 cgroup2 rw`;

it.each([
  ['a hybrid', HYBRID, '4:memory:/a\n0::/', '/sys/fs/cgroup/unified'],
  [
    'a unified hierarchy',
    '30 24 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw',
    '0::/user.slice/x.scope\n',
    '/sys/fs/cgroup/user.slice/x.scope',
  ],
  [
    'a mount of a part',
    '30 24 0:26 /box /sys/fs/cgroup rw - cgroup2 cgroup2 rw',
    '0::/box/inner',
    '/sys/fs/cgroup/inner',
  ],
  ['a mount of another part', '30 24 0:26 /box /sys/fs/cgroup rw - cgroup2 cgroup2 rw', '0::/other', null],
  ['a space in the path', '30 24 0:26 / /my\\040groups rw - cgroup2 cgroup2 rw', '0::/', '/my groups'],
  ['version 1 only', V1, '4:memory:/a', null],
  ['nothing to read', '', '', null],
])('finds our own group in %s', (_name, mountinfo, cgroup, folder) => {
  expect(cgroupFolder(mountinfo, cgroup)).toBe(folder);
});

it('takes back what the shell adds to the environment, and only that', () => {
  expect(passGate({})).toContain('unset PWD OLDPWD SHLVL');
  expect(passGate({ PWD: '/', OLDPWD: '/', SHLVL: '1' })).not.toContain('unset');
  expect(shellFor({ A_1: '' })).toEqual(['/bin/sh']);
});
