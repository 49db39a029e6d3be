import { expect, test } from 'vitest';
import { describeError } from '../../src/runtime/describe.ts';

const broken = (): never => {
  throw new Error('broken');
};
const loop = new Error('round');
loop.cause = loop;

test.each([
  [new TypeError('no'), 'TypeError: no'],
  [Object.assign(new Error('no room'), { code: 'ENOSPC' }), 'Error: no room (ENOSPC)'],
  [new Error('outer', { cause: 'a word' }), 'Error: outer; caused by a word'],
  [loop, 'Error: round; caused by Error: round; caused by Error: round'],
  ['a word', 'a word'],
  [undefined, 'undefined'],
  [10n, '10n'],
  [Object.defineProperty(new Error('x'), 'message', { get: broken }), 'something that cannot be described was thrown'],
])('%#', (thrown, words) => {
  expect(describeError(thrown)).toBe(words);
});

test('it is short', () => {
  expect(describeError(new Error('x'.repeat(10_000)))).toHaveLength(500);
});
