import { asList, asRecord, asText } from './path.ts';

/**
 * What can be made out of a plan that may have mistakes: each field if it has the right type, else nothing.
 * So one mistake does not hide the others. What a field of the wrong type means, the schema has said already.
 */
export interface PlanView {
  cwd: string | null;
  defaults: { agent: string | null; hasModel: boolean; cwd: string | null; env: TextEntry[] } & Ending;
  /** Own names under `agents`. */
  agents: { name: string; adapter: string | null }[];
  steps: StepView[];
}

interface Ending {
  proof: string | null;
  contain: string | null;
}

export interface StepView extends Ending {
  index: number;
  id: string | null;
  agent: string | null;
  hasModel: boolean;
  /** Whether the field is there, of whatever type. */
  has: { task: boolean; run: boolean; unsupported: boolean };
  task: string | null;
  run: string | (string | null)[] | null;
  /** Null: not given, so the step before. */
  needs: (string | null)[] | null;
  cwd: string | null;
  env: TextEntry[];
  template: boolean;
  /** It names waits for its model. */
  waitsForModel: boolean;
  /** Null: there is none, or it is no mapping. */
  output: OutputView | null;
}

export interface OutputView {
  has: { schema: boolean; repair: boolean; file: boolean; files: boolean };
  schema: unknown;
  changes: string | null;
  /** That it writes: where in the output each is named. */
  files: { path: (string | number)[]; name: string }[];
}

export interface TextEntry {
  name: string;
  value: string;
}

export function viewOf(value: unknown, isUnsupported: (field: string) => boolean): PlanView {
  const plan = asRecord(value) ?? {};
  const defaults = asRecord(own(plan, 'defaults')) ?? {};
  const agents = asRecord(own(plan, 'agents')) ?? {};
  const steps = asList(own(plan, 'steps')) ?? [];
  return {
    cwd: asText(own(plan, 'cwd')),
    defaults: {
      agent: asText(own(defaults, 'agent')),
      hasModel: has(defaults, 'model'),
      cwd: asText(own(defaults, 'cwd')),
      env: entries(own(defaults, 'env')),
      ...endingOf(defaults),
    },
    agents: Object.keys(agents).map((name) => {
      const agent = asRecord(agents[name]) ?? {};
      return { name, adapter: asText(own(agent, 'adapter')) };
    }),
    steps: steps.map((step, index) => stepOf(asRecord(step) ?? {}, index, isUnsupported)),
  };
}

function stepOf(step: Record<string, unknown>, index: number, isUnsupported: (field: string) => boolean): StepView {
  const run = own(step, 'run');
  return {
    index,
    id: asText(own(step, 'id')),
    agent: asText(own(step, 'agent')),
    hasModel: has(step, 'model'),
    has: { task: has(step, 'task'), run: has(step, 'run'), unsupported: Object.keys(step).some(isUnsupported) },
    task: asText(own(step, 'task')),
    run: asText(run) ?? asList(run)?.map(asText) ?? null,
    needs: needsOf(step),
    cwd: asText(own(step, 'cwd')),
    env: entries(own(step, 'env')),
    template: own(step, 'template') !== false,
    waitsForModel: (asList(own(asRecord(own(step, 'retry')) ?? {}, 'model')) ?? []).length > 0,
    output: outputOf(asRecord(own(step, 'output'))),
    ...endingOf(step),
  };
}

function outputOf(output: Record<string, unknown> | null): OutputView | null {
  if (output === null) return null;
  const [schema, repair, file, files] = ['schema', 'repair', 'file', 'files'].map((field) => has(output, field));
  return {
    has: { schema: schema === true, repair: repair === true, file: file === true, files: files === true },
    schema: own(output, 'schema'),
    changes: asText(own(output, 'changes')),
    files: filesIn(output),
  };
}

function filesIn(output: Record<string, unknown>): OutputView['files'] {
  const one = asText(own(output, 'file'));
  const more = asList(own(output, 'files')) ?? [];
  return [
    ...(one === null ? [] : [{ path: ['file'], name: one }]),
    ...more.flatMap((name, index) => (typeof name === 'string' ? [{ path: ['files', index], name }] : [])),
  ];
}

function endingOf(fields: Record<string, unknown>): Ending {
  return { proof: asText(own(fields, 'proof')), contain: asText(own(fields, 'contain')) };
}

function needsOf(step: Record<string, unknown>): (string | null)[] | null {
  if (!has(step, 'needs')) return null;
  // Of the wrong type: no needs, so that nothing is said about them twice.
  return asList(own(step, 'needs'))?.map(asText) ?? [];
}

function entries(value: unknown): TextEntry[] {
  return Object.entries(asRecord(value) ?? {}).flatMap(([name, text]) =>
    typeof text === 'string' ? [{ name, value: text }] : [],
  );
}

function own(record: Record<string, unknown>, key: string): unknown {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

function has(record: Record<string, unknown>, key: string): boolean {
  return own(record, key) !== undefined;
}
