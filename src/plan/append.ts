import { resolvePlan, type ResolveOptions } from './load.ts';
import { outputFiles } from './output-file.ts';
import type { PlanError, PlanErrorCode, ResolvedPlan, ResolvedStep } from './types.ts';

export type AppendOptions = Pick<ResolveOptions, 'agents' | 'adapters' | 'proof' | 'look'>;

export type Appended =
  /** Ready to run, in the order given. */
  | { type: 'ok'; steps: ResolvedStep[] }
  /** `field` is relative to what was appended: `steps[0]` is its first. */
  | { type: 'invalid'; errors: PlanError[]; more: number };

/**
 * Steps to be added to the end of a plan that runs already, checked as if they had always stood there: ids are unique
 * in the whole, a first step without `needs` waits for the last one before it, templates see the steps above, and the
 * plan's defaults apply. What is known stays as it is.
 */
export function resolveAppend(steps: readonly unknown[], known: ResolvedPlan, options: AppendOptions): Appended {
  const before = known.steps.length;
  const value = {
    version: 1,
    cwd: known.cwd,
    ...(known.defaults === undefined ? {} : { defaults: known.defaults }),
    steps: [...known.steps.map(stubOf), ...steps],
  };
  const loaded = resolvePlan(value, {
    ...options,
    definitions: known.agents,
    cwd: known.cwd,
    name: known.name,
  });
  if (loaded.type === 'ok') return { type: 'ok', steps: loaded.plan.steps.slice(before) };
  return {
    type: 'invalid',
    errors: loaded.errors.map((error) => ({
      ...error,
      field: fromHere(error.field, before),
      message: fromHere(error.message, before, 'a step of the run'),
    })),
    more: loaded.more,
  };
}

/** A step as far as later ones can see it. */
function stubOf({ id, needs, cwd, output }: ResolvedStep): object {
  const stub = { id, needs, run: ['true'], template: false };
  const files = outputFiles(output);
  return files.length === 0 ? stub : { ...stub, cwd, output: { files } };
}

/** Positions count from the first that is appended; those before are called `known`, because nobody sees theirs. */
function fromHere(text: string, before: number, known?: string): string {
  return text.replaceAll(/\bsteps\[(\d+)\]/g, (whole, index: string) => {
    const here = Number(index) - before;
    return here < 0 ? (known ?? whole) : `steps[${here}]`;
  });
}

/** Codes whose message names ids, fields and agents, and quotes nothing of a task. */
const TELLING: ReadonlySet<PlanErrorCode> = new Set<PlanErrorCode>([
  'too-many-steps',
  'missing-field',
  'unknown-field',
  'unsupported-field',
  'bad-id',
  'duplicate-id',
  'unknown-agent',
  'unknown-step',
  'self-need',
  'cycle',
  'task-and-run',
  'no-task',
  'cwd-missing',
  'cwd-not-a-directory',
]);
const MOST_TOLD = 3;
const MOST_CHARS = 600;

/** Mistakes on one line that may go on record: a message that could quote a task is left out, its field and code are not. */
export function tellErrors(errors: readonly PlanError[], more = 0): string {
  const told = errors
    .slice(0, MOST_TOLD)
    .map(({ field, code, message }) => `${field === '' ? 'steps' : field}: ${TELLING.has(code) ? message : code}`);
  const rest = errors.length - told.length + more;
  return `${told.join('; ').slice(0, MOST_CHARS)}${rest > 0 ? ` (and ${rest} more)` : ''}`;
}
