import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { resolveRoot, secureRoot } from '../../src/record/index.ts';
import { mode, tempFolder } from './support.ts';

describe('which root', () => {
  const home = '/home/me';

  test('the order', () => {
    const env = { COXSWAIN_HOME: '/c', XDG_STATE_HOME: '/x', HOME: home };
    expect(resolveRoot({ root: '/given', env })).toEqual({ type: 'ok', root: '/given' });
    expect(resolveRoot({ env })).toEqual({ type: 'ok', root: '/c' });
    expect(resolveRoot({ env: { ...env, COXSWAIN_HOME: '' } })).toEqual({ type: 'ok', root: '/x/coxswain' });
    expect(resolveRoot({ env: { HOME: home } })).toEqual({ type: 'ok', root: '/home/me/.local/state/coxswain' });
    expect(resolveRoot({ env: {}, home })).toEqual({ type: 'ok', root: '/home/me/.local/state/coxswain' });
  });

  test('a relative XDG_STATE_HOME does not count, a relative root is taken from here', () => {
    expect(resolveRoot({ env: { XDG_STATE_HOME: 'x', HOME: home } })).toMatchObject({
      root: `${home}/.local/state/coxswain`,
    });
    expect(resolveRoot({ root: 'here', env: {} })).toEqual({ type: 'ok', root: join(process.cwd(), 'here') });
  });

  test('Windows', () => {
    const env = { LOCALAPPDATA: '/local', XDG_STATE_HOME: '/x' };
    expect(resolveRoot({ env, platform: 'win32' })).toEqual({ type: 'ok', root: join('/local', 'coxswain') });
  });

  test('a NUL byte is refused', () => {
    expect(resolveRoot({ root: '/a\0b', env: {} })).toMatchObject({ type: 'refused', reason: 'bad-path' });
  });
});

describe('a safe root', () => {
  test('is made for us alone, parents too, under any umask', () => {
    const before = process.umask(0);
    try {
      const root = join(tempFolder(), 'a', 'b');
      expect(secureRoot(root)).toEqual({ type: 'ok', root });
      expect(mode(root)).toBe(0o700);
      expect(mode(join(root, '..'))).toBe(0o700);
    } finally {
      process.umask(before);
    }
  });

  test('one that others may read is taken, one that they may write is refused with what to do', () => {
    const root = join(tempFolder(), 'root');
    mkdirSync(root);
    chmodSync(root, 0o755);
    expect(secureRoot(root).type).toBe('ok');
    for (const open of [0o770, 0o702]) {
      chmodSync(root, open);
      const refused = secureRoot(root);
      expect(refused).toMatchObject({ type: 'refused', reason: 'writable-by-others' });
      expect(refused.type === 'refused' && refused.message).toContain(`chmod go-w ${root}`);
    }
  });

  test("somebody else's is refused, a file too, and a link to an open folder", () => {
    const folder = tempFolder();
    expect(secureRoot(folder, statSync(folder).uid + 1)).toMatchObject({ type: 'refused', reason: 'not-ours' });
    const file = join(folder, 'file');
    writeFileSync(file, '');
    expect(secureRoot(file)).toMatchObject({ type: 'refused', reason: 'not-a-directory' });
    expect(secureRoot(join(file, 'below'))).toMatchObject({ type: 'refused', reason: 'not-a-directory' });
    const open = join(folder, 'open');
    mkdirSync(open);
    chmodSync(open, 0o777);
    symlinkSync(open, join(folder, 'link'));
    expect(secureRoot(join(folder, 'link'))).toMatchObject({ type: 'refused', reason: 'writable-by-others' });
  });
});
