import { compileTemplate, type Scope } from './templates.ts';
import type { ResolvedStep } from './types.ts';

/** What a step is launched with, its templates rendered. */
export interface RenderedStep {
  task: string | null;
  run: string[] | string | null;
  env: Record<string, string>;
}

export type StepRendering =
  | { type: 'ok'; step: RenderedStep }
  /** `field` like `task`, `run[2]` or `env.NAME`. The message has no value and no part of the task in it. */
  | { type: 'failed'; field: string; message: string };

/** Renders the task, a list in `run`, and the values of `env`; with `template: false` they stay as they are. */
export function renderStep(step: ResolvedStep, scope: Scope): StepRendering {
  const { task, run, env } = step;
  if (!step.template) return { type: 'ok', step: { task, run, env: { ...env } } };
  const rendered: RenderedStep = { task: null, run, env: {} };
  let failure: { type: 'failed'; field: string; message: string } | null = null;
  const text = (field: string, template: string): string => {
    const compiled = compileTemplate(template);
    const result =
      compiled.type === 'ok' ? compiled.render(scope) : ({ type: 'failed', message: 'is no template' } as const);
    if (result.type === 'ok') return result.text;
    failure ??= { type: 'failed', field, message: result.message };
    return '';
  };
  if (task !== null) rendered.task = text('task', task);
  if (Array.isArray(run)) rendered.run = run.map((word, index) => text(`run[${index}]`, word));
  for (const [name, value] of Object.entries(env)) rendered.env[name] = text(`env.${name}`, value);
  return failure ?? { type: 'ok', step: rendered };
}
