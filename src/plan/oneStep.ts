import { basename } from 'node:path';
import { resolvePlan, type ResolveOptions } from './load.ts';
import type { Loaded } from './types.ts';

/** One task for one agent. */
export interface TaskRequest {
  agent: string;
  /** Taken as it is: no template. */
  task: string;
  /** One model, or candidates in order. */
  model?: string | string[];
  /** Time limit of the step: `30m` or milliseconds. */
  timeout?: string | number;
  env?: Record<string, string>;
  labels?: Record<string, string>;
}

/** The plan of `coxswain run --agent A "task"`: one step, called `task`, named after the agent, in `options.cwd`. */
export function planOf(request: TaskRequest, options: ResolveOptions): Loaded {
  const { labels, ...step } = request;
  return oneStep({ id: 'task', ...step }, labels, request.agent, options);
}

/** The plan of `coxswain run -- cmd args`: one step, called `command`, named after the program, in `options.cwd`. */
export function planOfCommand(
  argv: readonly string[],
  options: ResolveOptions & {
    timeout?: string | number;
    env?: Record<string, string>;
    labels?: Record<string, string>;
  },
): Loaded {
  const { timeout, env, labels } = options;
  const step = { id: 'command', run: [...argv], timeout, env };
  return oneStep(step, labels, basename(argv[0] ?? ''), options);
}

function oneStep(step: object, labels: object | undefined, name: string, options: ResolveOptions): Loaded {
  const plan = { version: 1, labels, steps: [{ ...step, template: false }] };
  const loaded = resolvePlan(plan, { name, ...options });
  if (loaded.type === 'ok') return loaded;
  // Nobody wrote `steps[0]`.
  const errors = loaded.errors.map((error) => ({ ...error, field: error.field.replace(/^steps\[0\]\.?/, '') }));
  return { ...loaded, errors };
}
