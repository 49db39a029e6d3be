import type { Path } from './words.ts';

/** `steps[1].needs[0]`; keys that are no plain names are quoted: `env["a b"]`. */
export function fieldOf(path: Path): string {
  let field = '';
  for (const part of path) {
    if (typeof part === 'number') field += `[${part}]`;
    else if (/^[A-Za-z_$][\w$-]*$/.test(part)) field += field === '' ? part : `.${part}`;
    else field += `[${JSON.stringify(part.slice(0, 100))}]`;
  }
  return field;
}

/** The value at a path, own properties only; undefined when there is none. */
export function valueAt(root: unknown, path: Path): unknown {
  let value = root;
  for (const part of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string | number, unknown>)[part];
  }
  return value;
}

export function asRecord(value: unknown): Record<string, unknown> | null {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null;
}

export function asList(value: unknown): unknown[] | null {
  return Array.isArray(value) ? (value as unknown[]) : null;
}

export function asText(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
