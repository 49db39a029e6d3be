import { dirname, extname, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { AgentSettings } from '../../agents/index.ts';
import { settingsOf } from '../agentSettings.ts';
import { checkNames } from '../checks.ts';
import { checkDefinition } from '../definitions.ts';
import { folderState } from '../folders.ts';
import { formatPlanErrors } from '../format.ts';
import { findingsOf } from '../issues.ts';
import { asRecord, fieldOf } from '../path.ts';
import { readPlanFile } from '../read.ts';
import { readSource, type Place } from '../source.ts';
import { didYouMean } from '../suggest.ts';
import type { Finding, Path, PlanError } from '../types.ts';
import { findConfig } from './find.ts';
import { CONFIG_FIELDS, configAgents, configSchema } from './schema.ts';

/** Agents that are defined outside plans. */
export interface AgentConfig {
  /** Where; null: nowhere, or in code. */
  file: string | null;
  /** Those that can be used. */
  definitions: Record<string, AgentSettings>;
  /** Those that cannot: what is wrong with each, with its place. */
  broken: Record<string, string>;
  /** What people should know: a file that is there and was not used. */
  notes: string[];
}

export type ConfigLoaded = { type: 'ok'; config: AgentConfig } | { type: 'invalid'; errors: PlanError[] };

export interface ConfigOptions {
  /** What `file` is relative to, and where the search begins. Absolute. */
  cwd: string;
  /** Where the user is: only there a program is run that nobody named. */
  here: string;
  /** A path; `search`: the nearest one, if there is any. */
  file: string;
}

const NONE: AgentConfig = { file: null, definitions: {}, broken: {}, notes: [] };

/**
 * Reads the config file. One that cannot be read as a whole is a mistake; an agent in it that cannot be used is `broken`,
 * and spoils no other. A `.mjs` is run: when it was named, or lies where the user is.
 */
export async function loadConfig({ cwd, here, file }: ConfigOptions): Promise<ConfigLoaded> {
  const found = file === 'search' ? findConfig(cwd, here) : named(resolve(cwd, file));
  switch (found.type) {
    case 'none':
      return { type: 'ok', config: NONE };
    case 'passed-over':
      return { type: 'ok', config: { ...NONE, notes: [`${found.path} is not used: ${found.why}`] } };
    case 'refused':
      return failed(found.path, { code: 'file-unreadable', message: found.why });
    case 'file':
      return found.isCode ? loadCode(found.path) : loadText(found.path);
  }
}

/** Definitions from code, as they would stand in a file. */
export function configOf(agents: Readonly<Record<string, unknown>>, cwd: string): ConfigLoaded {
  return check({ version: 1, agents }, { file: null, base: cwd, locate: () => null });
}

const named = (path: string) => ({ type: 'file', path, isCode: extname(path) === '.mjs' }) as const;

async function loadText(path: string): Promise<ConfigLoaded> {
  const read = await readPlanFile(path);
  if (read.type === 'failed') return failed(path, { ...read });
  const source = readSource(read.text, extname(path).toLowerCase() === '.json' ? 'json' : 'yaml');
  if (source.type === 'ok') {
    return check(source.value, { file: path, base: dirname(path), locate: (at, what) => source.place(at, what) });
  }
  const errors = source.errors.map(({ place, code, message }) => ({
    ...spot(path, place),
    field: '',
    code,
    message,
  }));
  return { type: 'invalid', errors };
}

async function loadCode(path: string): Promise<ConfigLoaded> {
  let value: unknown;
  try {
    ({ default: value } = (await import(pathToFileURL(path).href)) as { default?: unknown });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    return failed(path, { code: 'file-unreadable', message: `cannot be run: ${why.slice(0, 500)}` });
  }
  if (value !== undefined) return check(value, { file: path, base: dirname(path), locate: () => null });
  return failed(path, { code: 'wrong-type', message: 'has no default export: export default { version: 1, agents }' });
}

interface Origin {
  file: string | null;
  base: string;
  locate: (path: Path, at?: 'key') => Place | null;
}

function check(value: unknown, origin: Origin): ConfigLoaded {
  const tell = ({ path, at, code, message }: Finding): PlanError => ({
    ...spot(origin.file, origin.locate(path, at)),
    field: fieldOf(path),
    code,
    message,
  });
  const findings = [...checkWhole(value), ...checkNames(value, [['agents']])];
  if (findings.length > 0) return { type: 'invalid', errors: findings.map(tell) };
  const config: AgentConfig = { ...NONE, file: origin.file, definitions: {}, broken: {} };
  for (const [name, agent] of Object.entries(asRecord(asRecord(value)?.['agents']) ?? {})) {
    const root = { agents: { [name]: agent } };
    const shaped = configAgents.safeParse(root);
    const wrong = [
      ...(shaped.success ? [] : findingsOf(shaped.error.issues, root)),
      ...checkDefinition(root, name, { cwd: origin.base, look: folderState }),
    ];
    const input = shaped.data?.agents[name];
    if (wrong.length > 0 || input === undefined) config.broken[name] = formatPlanErrors(wrong.map(tell));
    else config.definitions[name] = settingsOf(name, input, origin.base);
  }
  return { type: 'ok', config };
}

/** The file around its agents. */
function checkWhole(value: unknown): Finding[] {
  if (value === null) return [{ path: [], code: 'empty-plan', message: 'is empty: it needs a version, and agents' }];
  const shaped = configSchema.safeParse(value);
  if (shaped.success) return [];
  const unknown = Object.keys(asRecord(value) ?? {}).filter((key) => !CONFIG_FIELDS.includes(key));
  const issues = shaped.error.issues.filter(({ code }) => code !== 'unrecognized_keys');
  return [
    ...unknown.map((key): Finding => {
      const advice = didYouMean(key, CONFIG_FIELDS) || ` Known here: ${CONFIG_FIELDS.join(', ')}.`;
      return { path: [key], at: 'key', code: 'unknown-field', message: `is not a field of a config file.${advice}` };
    }),
    ...findingsOf(issues, value),
  ];
}

function failed(
  file: string,
  { code, message, line = null }: Pick<PlanError, 'code' | 'message'> & { line?: number | null },
): ConfigLoaded {
  return { type: 'invalid', errors: [{ file, line, column: line === null ? null : 1, field: '', code, message }] };
}

const spot = (file: string | null, place: Place | null): Pick<PlanError, 'file' | 'line' | 'column'> => ({
  file,
  line: place?.line ?? null,
  column: place?.column ?? null,
});
