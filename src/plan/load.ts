import { basename, dirname, extname, resolve } from 'node:path';
import type { ProofLevel } from '../../machines/protocol.ts';
import type { AgentSettings } from '../agents/index.ts';
import { checkAttempts, checkDefinitions, checkIds, checkNames, checkWork, type Known } from './checks.ts';
import { checkTemplates } from './bindings.ts';
import { checkFolders, folderState, type FolderState } from './folders.ts';
import { checkCycles, graphOf } from './graph.ts';
import { checkOutputs } from './outputs.ts';
import { findingsOf } from './issues.ts';
import { isLater } from './later.ts';
import { asList, asRecord, fieldOf } from './path.ts';
import { readPlanFile } from './read.ts';
import { fillIn } from './resolve.ts';
import { MAX_STEPS, planSchema } from './schema.ts';
import { checkSameFile } from './same-file.ts';
import { readSource, type Format, type Place } from './source.ts';
import type { Finding, Loaded, Path, PlanError } from './types.ts';
import { type PlanView, viewOf } from './view.ts';

/** Most mistakes that are told at once. */
const MAX_ERRORS = 20;

export interface ResolveOptions {
  /** Names that steps may use besides those the plan defines. */
  agents: readonly string[];
  /** Adapters that the plan's own agents may name; default: all there are. */
  adapters?: readonly string[];
  /** Agents that are defined elsewhere; the plan's own go before those of the same name, and both before the built-in. */
  definitions?: Readonly<Record<string, AgentSettings>>;
  /** Agents that are defined elsewhere and cannot be used: what is wrong with each, in words. */
  broken?: Readonly<Record<string, string>>;
  /** The folder that relative paths are relative to: the plan's `cwd`, or the path of its file. Absolute. */
  cwd: string;
  /** Name of a plan that gives none; default: the name of the file, else `plan`. */
  name?: string;
  /** The proof that steps need whose plan does not say: what this platform can give at its best. Default `searched`. */
  proof?: ProofLevel;
  /** How to look at a folder; default: on the disk. */
  look?: (path: string) => FolderState;
}

export interface ParseOptions extends ResolveOptions {
  /** As the person named it; shown in errors. Its folder is the base of the plan's paths, and its default `cwd`. */
  file: string;
  /** Default: JSON for names that end in `.json`, else YAML, which reads JSON too. */
  format?: Format;
}

/** Reads a plan file of at most 4 MiB of UTF-8. Like `parsePlan`; a file that cannot be read is an error value too. */
export async function loadPlan(file: string, options: Omit<ParseOptions, 'file'>): Promise<Loaded> {
  const read = await readPlanFile(resolve(options.cwd, file));
  if (read.type === 'ok') return parsePlan(read.text, { ...options, file });
  const { code, message, line } = read;
  return {
    type: 'invalid',
    errors: [{ file, line, column: line === null ? null : 1, field: '', code, message }],
    more: 0,
  };
}

/**
 * Reads a plan from its text, and looks whether its working directories are there.
 * All mistakes are found at once, in the order of the text. Nothing is started or changed.
 */
export function parsePlan(text: string, options: ParseOptions): Loaded {
  const { file } = options;
  const source = readSource(text, options.format ?? (extname(file).toLowerCase() === '.json' ? 'json' : 'yaml'));
  if (source.type === 'invalid') {
    return invalid(
      source.errors.map(({ place, code, message }) => ({ ...spot(file, place), field: '', code, message })),
    );
  }
  const name = options.name ?? basename(file, extname(file));
  const base = dirname(resolve(options.cwd, file));
  return resolveValue(source.value, { ...options, name, cwd: base }, file, (path, at) => source.place(path, at));
}

/** A plan given as a value (`PlanInput`), with the same checks; its errors have no lines. */
export function resolvePlan(input: unknown, options: ResolveOptions): Loaded {
  return resolveValue(input, options, null, () => null);
}

type Locate = (path: Path, at?: 'key') => Place | null;

function resolveValue(value: unknown, options: ResolveOptions, file: string | null, locate: Locate): Loaded {
  // Else each of a million wrong steps would be a finding.
  const count = asList(asRecord(value)?.['steps'])?.length ?? 0;
  if (count > MAX_STEPS) {
    const message = `must be at most ${MAX_STEPS} steps, and there are ${count}`;
    return invalid([{ ...spot(file, locate(['steps'])), field: 'steps', code: 'too-many-steps', message }]);
  }
  const shaped = planSchema.safeParse(value);
  const view = viewOf(value, (field) => isLater('step', field));
  const outputs = checkOutputs(view, options.cwd);
  const findings = [
    ...(shaped.success ? [] : findingsOf(shaped.error.issues, value)),
    ...check(value, view, options),
    ...outputs.findings,
  ];
  if (shaped.success && findings.length === 0) {
    const { definitions = {}, proof = 'searched' } = options;
    const { schemas } = outputs;
    const fallbacks = { cwd: options.cwd, name: nameOf(options.name), proof, definitions, schemas };
    return { type: 'ok', plan: fillIn(shaped.data, fallbacks) };
  }
  return invalid(
    findings.map(({ path, at, code, message }) => ({
      ...spot(file, locate(path, at)),
      field: fieldOf(path),
      code,
      message,
    })),
  );
}

/** File and program names may hold anything; the name of a plan may not. */
function nameOf(text = ''): string {
  return (
    text
      .replace(/\p{Cc}/gu, ' ')
      .slice(0, 200)
      .trim() || 'plan'
  );
}

function check(value: unknown, view: PlanView, options: ResolveOptions): Finding[] {
  const { agents, definitions = {}, broken = {}, look = folderState } = options;
  const known: Known = { agents, definitions, broken };
  const { graph, findings } = graphOf(view.steps);
  const cycles = checkCycles(view.steps, graph);
  const containers: Path[] = [
    ['labels'],
    ['agents'],
    ['defaults', 'env'],
    ...view.steps.map(({ index }) => ['steps', index, 'env']),
  ];
  return [
    ...checkNames(value, containers),
    ...checkIds(view.steps),
    ...checkDefinitions(value, view, { ...options, look }),
    ...checkWork(view, known),
    ...checkAttempts(view),
    ...findings,
    ...cycles,
    ...checkTemplates(view, graph, cycles.length === 0),
    ...(cycles.length === 0 ? checkSameFile(view, graph, options.cwd) : []),
    ...checkFolders(view, options.cwd, look),
  ];
}

function spot(file: string | null, place: Place | null): Pick<PlanError, 'file' | 'line' | 'column'> {
  return { file, line: place?.line ?? null, column: place?.column ?? null };
}

function invalid(errors: PlanError[]): Loaded {
  const last = Number.MAX_SAFE_INTEGER;
  const sorted = errors.toSorted(
    (a, b) => (a.line ?? last) - (b.line ?? last) || (a.column ?? last) - (b.column ?? last),
  );
  return { type: 'invalid', errors: sorted.slice(0, MAX_ERRORS), more: Math.max(0, sorted.length - MAX_ERRORS) };
}
