import { isDeepStrictEqual } from 'node:util';
import { expect } from 'vitest';

/** As `toEqual`, for loops of thousands: vitest's comparison, which can explain, is made only of what differs. */
export function expectSame(is: unknown, expected: unknown, where: () => string): void {
  if (!isDeepStrictEqual(is, expected)) expect(is, where()).toEqual(expected);
}
