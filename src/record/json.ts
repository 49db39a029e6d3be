import { readFileSync } from 'node:fs';
import { codeOf } from './trouble.ts';

export type JsonObject = Record<string, unknown>;

/** What was found where a record should be. */
export type Reading<T> =
  | { type: 'ok'; value: T }
  | { type: 'missing' }
  /** `reason` says what is wrong with the file and never quotes it. */
  | { type: 'corrupt'; path: string; reason: string }
  /** Written by a later version of coxswain. */
  | { type: 'newer'; path: string; version: number };

/**
 * Reads a v1 record and looks at what every reader relies on; `check` names a fault or returns null.
 * For files that are replaced atomically, so a single read is enough. Throws nothing.
 */
export function readRecord<T>(path: string, check: (json: JsonObject) => string | null): Reading<T> {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    const code = codeOf(error);
    if (code === 'ENOENT' || code === 'ENOTDIR') return { type: 'missing' };
    return { type: 'corrupt', path, reason: `it cannot be read (${code})` };
  }
  const json = parseObject(text);
  if (json === null) return { type: 'corrupt', path, reason: text === '' ? 'it is empty' : 'it is not a JSON object' };
  const version = json['v'];
  if (typeof version === 'number' && version > 1) return { type: 'newer', path, version };
  const fault = version === 1 ? check(json) : 'its version (v) is not 1';
  return fault === null ? { type: 'ok', value: json as T } : { type: 'corrupt', path, reason: fault };
}

/** The object a text holds, or null. Parse errors are not passed on: newer engines quote the text in them. */
export function parseObject(text: string): JsonObject | null {
  try {
    const json: unknown = JSON.parse(text);
    return isObject(json) ? json : null;
  } catch {
    return null;
  }
}

export function isObject(json: unknown): json is JsonObject {
  return typeof json === 'object' && json !== null && !Array.isArray(json);
}

/** Names the first field that is not of its type. */
export function faultIn(
  json: JsonObject,
  fields: Record<string, 'string' | 'number' | 'object' | 'array' | 'boolean'>,
): string | null {
  for (const [name, wanted] of Object.entries(fields)) {
    const value = json[name];
    const fits =
      wanted === 'array' ? Array.isArray(value) : wanted === 'object' ? isObject(value) : typeof value === wanted;
    if (!fits) return `'${name}' is not ${wanted === 'array' || wanted === 'object' ? 'an' : 'a'} ${wanted}`;
  }
  return null;
}
