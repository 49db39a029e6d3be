import { extname } from 'node:path';
import { asList, asRecord } from './path.ts';
import { readPlanFile } from './read.ts';
import { readSource } from './source.ts';

export type StepsFile =
  | { type: 'ok'; steps: unknown[] }
  /** `message` is one line; `line` from 1, null where there is none. */
  | { type: 'bad'; message: string; line: number | null };

/** Reads the steps of a file for `append`: YAML or JSON, a list of steps or a mapping with `steps`. Their fields are not looked at. */
export async function readSteps(path: string): Promise<StepsFile> {
  const read = await readPlanFile(path);
  if (read.type === 'failed') return { type: 'bad', message: read.message, line: read.line };
  return parseSteps(read.text, extname(path).toLowerCase() === '.json' ? 'json' : 'yaml');
}

/** The same from a text. */
export function parseSteps(text: string, format: 'yaml' | 'json' = 'yaml'): StepsFile {
  const source = readSource(text, format);
  if (source.type === 'invalid') {
    const [first] = source.errors;
    return { type: 'bad', message: first?.message ?? 'it cannot be read', line: first?.place?.line ?? null };
  }
  const steps = stepsIn(source.value);
  if (steps === null) return { type: 'bad', message: 'must be a list of steps, or have one under steps', line: null };
  if (steps.length === 0) return { type: 'bad', message: 'there is no step in it', line: null };
  return { type: 'ok', steps };
}

/** A list of steps, or a mapping that has one under `steps`. Null: it is neither. */
function stepsIn(value: unknown): unknown[] | null {
  return asList(value) ?? asList(asRecord(value)?.['steps']);
}
