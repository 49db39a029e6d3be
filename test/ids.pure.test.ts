import { describe, expect, test } from 'vitest';
import { checkId, safeId } from '../src/ids.ts';

describe('checkId', () => {
  test.each(['a', 'A1', 'fix-and-review', 'a.b_c', '0', 'constructor', 'console', 'com10', 'x'.repeat(100)])(
    'takes %j',
    (id) => {
      expect(checkId(id)).toEqual({ type: 'ok' });
    },
  );

  test.each([
    ['', 'is empty'],
    ['x'.repeat(101), 'longer than 100'],
    ['.', 'does not start'],
    ['..', 'does not start'],
    ['-x', 'does not start'],
    ['__proto__', 'does not start'],
    ['a/b', 'other characters'],
    ['a\\b', 'other characters'],
    ['a:b', 'other characters'],
    ['a b', 'other characters'],
    ['a\n', 'other characters'],
    ['a\0', 'other characters'],
    ['ä', 'does not start'],
    ['a.', 'ends with a dot'],
    ['CON', 'device name'],
    ['nul', 'device name'],
    ['Com1', 'device name'],
    ['lpt9.txt', 'device name'],
  ])('refuses %j', (id, reason) => {
    expect(checkId(id)).toEqual({ type: 'bad', reason: expect.stringContaining(reason) });
  });
});

describe('safeId', () => {
  test.each(['fix-and_review.2', 'A', '01JDKZ3N7Q4V5W6X7Y8Z9A0B1C'])('leaves %s as it is', (id) => {
    expect(safeId(id)).toBe(id);
  });

  test('makes a readable remainder and a hash of the others', () => {
    expect(safeId('Fix the login/page')).toMatch(/^Fix-the-login-page~[0-9a-f]{32}$/);
    expect(safeId('')).toMatch(/^~[0-9a-f]{32}$/);
  });

  test('a key cannot be aimed at the name of another one', () => {
    const name = safeId('a/b');
    expect(safeId(name)).not.toBe(name);
  });

  const awkward = [
    'x'.repeat(300), 'x'.repeat(301), 'a/b', 'a\\b', 'a:b', '..', '.', '', ' ', 'a\nb', 'a\0b', 'a.', 'a..', 'CON', 'con',
    'Con', 'NUL.txt', 'key', 'Key', 'KEY', 'kEy', '\u00e4', 'a\u0308', 'A\u0308', '\ud800', '\ud801', '../../etc/passwd',
    '__proto__', 'constructor', 'ß', 'SS', 'ﬀ', 'İ', 'i̇', 'K', 'k', 'K',
  ]; // prettier-ignore

  test('any keys get names that are bounded, safe and distinct', () => {
    const keys = new Set([...awkward, ...randomKeys(3_000)]);
    const names = new Set<string>();
    for (const key of keys) {
      const name = safeId(key);
      expect(name, JSON.stringify(key)).toMatch(
        /^(?:[A-Za-z0-9][A-Za-z0-9._-]{0,99}|[A-Za-z0-9_-]{0,40}~[0-9a-f]{32})$/,
      );
      expect(name).toBe(safeId(key));
      names.add(name);
    }
    expect(names.size).toBe(keys.size);
  });
});

/** Short keys of few letters, so that twins are common, and with the characters that hurt. */
function* randomKeys(count: number): Generator<string> {
  const letters = ['a', 'A', 'b', '.', '/', '\\', ':', '-', '_', '\n', '\0', ' ', 'ä', '\ud800', '\udc00', 'K', '🚣'];
  let seed = 1;
  const random = (below: number): number => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return Math.floor((seed / 2 ** 32) * below);
  };
  for (let n = 0; n < count; n++) {
    yield Array.from({ length: random(8) }, () => letters[random(letters.length)] ?? '').join('');
  }
}
