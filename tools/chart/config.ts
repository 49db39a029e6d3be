import type { AnyStateMachine } from 'xstate';
import { guardName } from './names.ts';

/** What stands in the JSON for a function that computes data (`context`, `input`, `output`, `params`). */
export const COMPUTED = { $computed: true } as const;

/** Keys whose value is data for a running machine; a function there changes no arrow of the chart. */
const DATA_KEYS: ReadonlySet<string> = new Set(['context', 'input', 'output', 'params']);

/**
 * A machine's config as JSON that `createMachine(JSON.parse(text))` turns into the same chart.
 *
 * Composed guards become their expression (`isLate && !isForced`), functions that compute data become
 * `{"$computed": true}`. Anything else that JSON cannot carry (an inline action, guard, delay or actor,
 * a Date, a Map) throws a `TypeError` that names its place: in a machine of ours that is a bug.
 */
export function configJson(machine: AnyStateMachine): string {
  return `${JSON.stringify(plain(machine.config, machine.id, ''), null, 2)}\n`;
}

function plain(value: unknown, place: string, key: string): unknown {
  if (value === null || typeof value === 'string' || typeof value === 'boolean' || value === undefined) return value;
  if (typeof value === 'number' && Number.isFinite(value)) return value;
  if (typeof value === 'function') return plainFunction(value, place, key);
  if (Array.isArray(value)) return value.map((each, index) => plain(each, `${place}[${index}]`, key));
  if (typeof value === 'object' && isRecord(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, each]) => [name, plain(each, `${place}.${name}`, name)]),
    );
  }
  throw new TypeError(`${place} cannot be written as JSON: ${describe(value)}`);
}

function plainFunction(value: object, place: string, key: string): unknown {
  if (DATA_KEYS.has(key)) return COMPUTED;
  const guards = (value as { guards?: unknown }).guards;
  if (key === 'guard' && Array.isArray(guards)) {
    checkNamed(guards, place);
    return guardName(value);
  }
  throw new TypeError(`${place} is an inline function; name it in setup()`);
}

function checkNamed(guards: readonly unknown[], place: string): void {
  for (const [index, guard] of guards.entries()) {
    const nested = typeof guard === 'function' ? (guard as unknown as { guards?: unknown }).guards : undefined;
    if (Array.isArray(nested)) checkNamed(nested, `${place}[${index}]`);
    else plain(guard, `${place}[${index}]`, '');
  }
}

function isRecord(value: object): value is Record<string, unknown> {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function describe(value: unknown): string {
  if (typeof value === 'object' && value !== null) return `an instance of ${value.constructor.name}`;
  return `a ${typeof value} (${String(value)})`;
}
