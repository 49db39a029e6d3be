import { describe, expect, test } from 'vitest';
import { checkRunId, digest, isSafeId, runDir, safeId } from '../../src/record/index.ts';

const hostile = [
  'x'.repeat(300),
  'a/b',
  '../../etc/passwd',
  '..',
  '.',
  '',
  'C:\\x',
  'line\nbreak',
  'nul\0byte',
  'dot.',
  'CON',
  'con.txt',
  'LPT1',
  '.hidden',
  'a~b',
  'ümlaut',
];

describe('S101: ids as names', () => {
  test.each(['a', 'A', 'fix-1', 'a.b_c', '01JDKZ3N7Q4V5W6X7Y8Z9A0B1C', 'x'.repeat(100)])('%s is safe', (id) => {
    expect(isSafeId(id)).toBe(true);
    expect(safeId(id)).toBe(id);
    expect(checkRunId(id)).toEqual({ type: 'ok' });
  });

  test.each(hostile)('%j is not, and gets a bounded name', (id) => {
    expect(isSafeId(id)).toBe(false);
    expect(safeId(id)).toMatch(/^[A-Za-z0-9_-]{0,40}~[0-9a-f]{32}$/);
    const check = checkRunId(id);
    expect(check.type).toBe('refused');
    expect(check.type === 'refused' && check.message).not.toMatch(/[\n\0]/);
  });

  test('no path leaves the root, whatever the ids', () => {
    for (const id of hostile) {
      const dir = runDir('/state', id);
      const paths = [dir.path, dir.activeMarker, dir.attempt(id, 1).stdout, dir.receipt(id)];
      for (const path of paths) expect(path).toMatch(/^\/state\/(?:runs|active)\/[^/]+/);
      expect(dir.path.split('/')).toHaveLength(4);
    }
  });

  test('a digest tells texts apart and does not hold them', () => {
    expect(digest('hello')).toEqual({ chars: 5, sha256: '2cf24dba5fb0' });
    expect(digest('hello!').sha256).not.toBe(digest('hello').sha256);
  });
});
