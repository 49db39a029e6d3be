import { digest, isObject } from '../record/light.ts';

/**
 * Twelve hex digits of what a command says: equal for the same command written with other spaces or another order of
 * its fields, and whatever its id is.
 */
export function meaningOf(command: Readonly<Record<string, unknown>>): string {
  const { id: _id, ...rest } = command;
  return digest(JSON.stringify(rest, (_name, value: unknown) => (isObject(value) ? sorted(value) : value))).sha256;
}

function sorted(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
