import type { ErrorObject, ValidateFunction } from 'ajv';
import type { Problem } from '../../machines/protocol.ts';
import { within } from './bounded.ts';
import { addFormats, ajv, ajv2020 } from './heavy.ts';
import { problemsOf } from './problems.ts';

/** A JSON Schema as a plan has it: an object. */
export type Schema = Readonly<Record<string, unknown>>;

/** Of the schema as JSON. It goes to agents as a whole: some take it as an argument of their program. */
export const MAX_SCHEMA_BYTES = 64 * 1024;
const MAX_DEPTH = 32;
/** Of a larger value, as JSON, only the first problem is told: gathering all of them takes many times its size. */
const MAX_CHARS_TOLD_WHOLE = 64 * 1024;
/** Meanwhile the runner does nothing else: a pattern or `uniqueItems` can take hours on a value of some kilobytes. */
const LIMIT_MS = 2_000;

/** A mistake in a schema, and where in it. */
export interface SchemaMistake {
  path: (string | number)[];
  message: string;
}

export type Compiled = { type: 'ok'; check: Validator } | { type: 'bad'; mistakes: SchemaMistake[] };

/** What is wrong with a value, at most the first eight, of a large one the first; nothing when it fits. */
export type Validator = (value: unknown) => Problem[];

/**
 * Compiles a schema: draft 2020-12, or 7 where its `$schema` says so. What it does not know (a keyword, a format, a draft) it
 * refuses, and it looks nothing up: a reference leads to a place in the schema itself. Formats are those of `ajv-formats`.
 */
export function compileSchema(schema: Schema, limitMs = LIMIT_MS): Compiled {
  const mistake = tooMuch(schema) ?? foreign(schema);
  if (mistake !== null) return { type: 'bad', mistakes: [mistake] };
  const made = engineFor(schema['$schema'], { allErrors: false });
  if (made === null) {
    const message = 'is a draft that is not known here: leave $schema out for 2020-12, or name draft 2020-12 or 7';
    return { type: 'bad', mistakes: [{ path: ['$schema'], message }] };
  }
  try {
    const thorough = engineFor(schema['$schema'], { allErrors: true }) ?? made;
    if (thorough.validateSchema(schema) !== true) {
      return { type: 'bad', mistakes: firstOfEachPlace(thorough.errors ?? []) };
    }
    const compiled = { brief: made.compile(schema), thorough: thorough.compile(schema) };
    return { type: 'ok', check: validatorOf(compiled, schema, limitMs) };
  } catch (error) {
    return { type: 'bad', mistakes: [thrown(error)] };
  }
}

function engineFor(draft: unknown, { allErrors }: { allErrors: boolean }) {
  const options = {
    allErrors,
    strict: true,
    // Matters of taste, which a schema that works elsewhere may see otherwise.
    strictTypes: false,
    strictTuples: false,
    strictRequired: false,
    validateSchema: false,
    addUsedSchema: false,
    logger: false,
  } as const;
  const text = typeof draft === 'string' ? draft.replace(/#$/, '').replace(/^https:/, 'http:') : draft;
  const engine =
    text === undefined || text === 'http://json-schema.org/draft/2020-12/schema'
      ? new (ajv2020().Ajv2020)(options)
      : text === 'http://json-schema.org/draft-07/schema'
        ? new (ajv().Ajv)(options)
        : null;
  if (engine !== null) addFormats()(engine);
  return engine;
}

/** `brief` stops at the first problem, `thorough` gathers all that there are. */
function validatorOf(of: Record<'brief' | 'thorough', ValidateFunction>, schema: Schema, limitMs: number): Validator {
  const problemsIn = (value: unknown): Problem[] => {
    if (of.brief(value)) return [];
    if (JSON.stringify(value).length > MAX_CHARS_TOLD_WHOLE) return problemsOf(of.brief.errors ?? [], schema);
    of.thorough(value);
    return problemsOf(of.thorough.errors ?? [], schema);
  };
  return (value) => {
    try {
      const checked = within(limitMs, () => problemsIn(value));
      if (checked.type === 'done') return checked.result;
      return [{ path: '', message: `takes more than ${limitMs / 1_000} s to be checked` }];
    } catch {
      // The stack has an end: the value is nested deeper than that.
      return [{ path: '', message: 'is nested too deep to be checked' }];
    }
  };
}

/** Several rules can be broken by one mistake. */
function firstOfEachPlace(errors: readonly ErrorObject[]): SchemaMistake[] {
  const first = new Map(errors.toReversed().map((error) => [error.instancePath, error]));
  return [...first.values()].toReversed().slice(0, 5).map(asMistake);
}

const asMistake = ({ instancePath, message }: ErrorObject): SchemaMistake => ({
  path: instancePath.split('/').slice(1).map(plainPart),
  message: message ?? 'is not what JSON Schema allows',
});

/** A part of a JSON Pointer, as a key of the plan or as an index. */
function plainPart(part: string): string | number {
  const plain = part.replaceAll('~1', '/').replaceAll('~0', '~');
  return /^\d+$/.test(plain) ? Number(plain) : plain;
}

function thrown(error: unknown): SchemaMistake {
  const text = error instanceof Error ? error.message : 'it cannot be used';
  const message = text.replace(/^strict mode: /, '').slice(0, 300);
  return { path: [], message: `is not a schema that can be used here: ${message}` };
}

function tooMuch(schema: Schema): SchemaMistake | null {
  const deep = tooDeep(schema, []);
  if (deep !== null) return { path: deep, message: `is more than ${MAX_DEPTH} levels deep` };
  const bytes = Buffer.byteLength(JSON.stringify(schema));
  if (bytes <= MAX_SCHEMA_BYTES) return null;
  return { path: [], message: `has ${bytes} bytes as JSON, and may have ${MAX_SCHEMA_BYTES}` };
}

function tooDeep(value: unknown, path: (string | number)[]): (string | number)[] | null {
  if (typeof value !== 'object' || value === null) return null;
  if (path.length > MAX_DEPTH) return path;
  const entries = Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [key, inner] of entries) {
    const deep = tooDeep(inner, [...path, key]);
    if (deep !== null) return deep;
  }
  return null;
}

/** Where values stand; a reference that is missed for a property of that name is one that cannot be compiled. */
const OF_VALUES: ReadonlySet<string | number> = new Set(['const', 'enum', 'default', 'examples']);

/** The first reference that leads out of the schema. */
function foreign(value: unknown, path: (string | number)[] = []): SchemaMistake | null {
  if (typeof value !== 'object' || value === null) return null;
  const entries = Array.isArray(value) ? value.entries() : Object.entries(value);
  for (const [key, inner] of entries) {
    if (key === '$ref' && typeof inner === 'string' && !inner.startsWith('#')) {
      const message = `leads to ${JSON.stringify(inner.slice(0, 100))}: nothing is looked up; put it under $defs and refer to #/$defs/...`;
      return { path: [...path, key], message };
    }
    const found = OF_VALUES.has(key) ? null : foreign(inner, [...path, key]);
    if (found !== null) return found;
  }
  return null;
}
