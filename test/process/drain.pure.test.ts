import { expect, it } from 'vitest';
import { decideDrain } from '../../src/process/drain.ts';

it.each([
  ['both closed: at once', false, 0, 0, { type: 'done', how: 'closed' }],
  ['just exited: until quiet', true, 0, 0, { type: 'wait', ms: 500 }],
  ['bytes 100 ms ago', true, 300, 100, { type: 'wait', ms: 400 }],
  ['quiet for 500 ms', true, 500, 500, { type: 'done', how: 'quiet' }],
  ['talking, the 2 s mark is nearer than quiet', true, 1_900, 10, { type: 'wait', ms: 100 }],
  ['at 2 s, silent for 100 ms', true, 2_000, 100, { type: 'done', how: 'limit' }],
  ['at 2 s, bytes still come', true, 2_000, 30, { type: 'wait', ms: 70 }],
  ['at 5 s, silent for 100 ms', true, 5_000, 100, { type: 'done', how: 'limit' }],
  ['just before 8 s, talking', true, 7_990, 0, { type: 'wait', ms: 10 }],
  ['at 8 s, talking', true, 8_000, 0, { type: 'done', how: 'limit' }],
  ['never waits zero', true, 499.7, 499.7, { type: 'wait', ms: 1 }],
])('%s', (_name, open, sinceExitMs, quietForMs, expected) => {
  expect(decideDrain({ open, sinceExitMs, quietForMs })).toEqual(expected);
});
