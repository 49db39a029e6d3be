import { readFileSync, statSync } from 'node:fs';
import { extname, resolve } from 'node:path';
import { type Schema, type SchemaMistake, compileSchema, looksVersioned } from '../quality/index.ts';
import { asRecord, asText, fieldOf } from './path.ts';
import { readSource, type Place } from './source.ts';
import type { Finding, Path } from './types.ts';
import type { PlanView, StepView } from './view.ts';

/** A file that has one holds nothing else; see `MAX_SCHEMA_BYTES` for the schema itself. */
const MAX_FILE_BYTES = 1024 * 1024;

export interface Outputs {
  findings: Finding[];
  /** By the index of their step: those of files, too. */
  schemas: ReadonlyMap<number, Schema>;
}

/** What steps have to show for themselves. `base`: the folder that the files of schemas are relative to. */
export function checkOutputs(view: PlanView, base: string): Outputs {
  const schemas = new Map<number, Schema>();
  const findings = view.steps.flatMap((step): Finding[] => {
    if (step.output === null) return [];
    const path = ['steps', step.index, 'output'];
    return [
      ...checkSchema(step, path, base, schemas),
      ...checkTogether(step, path),
      ...checkChanges(step, view, path, base),
    ];
  });
  return { findings, schemas };
}

function checkSchema({ index, output }: StepView, above: Path, base: string, schemas: Map<number, Schema>): Finding[] {
  const path = [...above, 'schema'];
  const name = asText(output?.schema);
  const read = name === null ? inPlan(output?.schema) : inFile(name, base);
  if (read === null) return [];
  if (read.type === 'bad') return [{ path, code: 'bad-schema', message: read.message }];
  // As every agent will get it.
  const schema = JSON.parse(JSON.stringify(read.schema)) as Schema;
  const compiled = compileSchema(schema);
  if (compiled.type === 'ok') {
    schemas.set(index, schema);
    return [];
  }
  return compiled.mistakes.map((mistake) =>
    name === null
      ? { path: [...path, ...mistake.path], code: 'bad-schema', message: mistake.message }
      : { path, code: 'bad-schema', message: `${name}${inWords(mistake, read.place)}` },
  );
}

function inWords({ path, message }: SchemaMistake, place: (path: Path) => Place | null): string {
  const line = place(path)?.line;
  return `${line === undefined ? '' : `, line ${line}`}: ${path.length === 0 ? 'it' : fieldOf(path)} ${message}`;
}

type Read =
  | { type: 'ok'; schema: Record<string, unknown>; place: (path: Path) => Place | null }
  | { type: 'bad'; message: string };

/** Null: of the wrong type, which is said elsewhere, or not there. */
function inPlan(value: unknown): Read | null {
  const schema = asRecord(value);
  return schema === null ? null : { type: 'ok', schema, place: () => null };
}

function inFile(name: string, base: string): Read {
  const path = resolve(base, name);
  let text: string;
  try {
    const { size } = statSync(path);
    if (size > MAX_FILE_BYTES) return { type: 'bad', message: `${name} has more than ${MAX_FILE_BYTES} bytes` };
    text = new TextDecoder('utf-8', { fatal: true }).decode(readFileSync(path));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    const why = code === 'ENOENT' ? `there is no such file: ${path}` : `${path} cannot be read (${code})`;
    return { type: 'bad', message: `${why}. The schema is a mapping, or the path of its file, relative to the plan.` };
  }
  const source = readSource(text, extname(name).toLowerCase() === '.json' ? 'json' : 'yaml');
  if (source.type === 'invalid') {
    const [first] = source.errors;
    const line = first?.place === null || first === undefined ? '' : `, line ${first.place.line}`;
    return { type: 'bad', message: `${name}${line}: ${first?.message ?? 'it cannot be read'}` };
  }
  const schema = asRecord(source.value);
  if (schema === null) return { type: 'bad', message: `${name}: must be a mapping, which is what a JSON Schema is` };
  return { type: 'ok', schema, place: (inner) => source.place(inner) };
}

/** Fields that say something only together, or only apart. */
function checkTogether({ output, has }: StepView, path: Path): Finding[] {
  if (output === null) return [];
  const findings: Finding[] = [];
  const wrong = (field: string, message: string): void => {
    findings.push({ path: [...path, field], code: 'bad-value', message });
  };
  if (output.has.repair && !output.has.schema)
    wrong('repair', 'says how often a value is put right, and there is no schema');
  else if (output.has.repair && has.run) wrong('repair', 'a command cannot be told what to put right: leave it out');
  if (output.has.file && output.has.files) wrong('files', 'a step has one output file, or several: not both fields');
  if (output.has.file && output.has.schema) {
    wrong(
      'file',
      'the output is the value of the schema, or the content of the file: use files for what else is written',
    );
  }
  return findings;
}

function checkChanges(step: StepView, view: PlanView, path: Path, base: string): Finding[] {
  if (step.output?.changes !== 'required') return [];
  const cwd = resolve(resolve(base, view.cwd ?? '.'), step.cwd ?? view.defaults.cwd ?? '.');
  if (looksVersioned(cwd)) return [];
  const message = `changes are seen by git, and ${cwd} is in no git work tree: make it one, or leave this out`;
  return [{ path: [...path, 'changes'], code: 'bad-value', message }];
}
