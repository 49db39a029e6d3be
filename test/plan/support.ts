import { parsePlan, type Loaded, type PlanError, type ResolvedPlan } from '../../src/plan/index.ts';

export const options = {
  agents: ['pi', 'command', 'claude'],
  cwd: '/plans',
  look: (path: string) =>
    path.includes('missing')
      ? ('missing' as const)
      : path.endsWith('.txt')
        ? ('other' as const)
        : ('directory' as const),
};

export function parse(text: string, file = 'plan.yaml'): Loaded {
  return parsePlan(text, { ...options, file });
}

export function planFrom(loaded: Loaded): ResolvedPlan {
  if (loaded.type === 'invalid') throw new Error(`no plan: ${JSON.stringify(loaded.errors)}`);
  return loaded.plan;
}

export function errorsOf(loaded: Loaded): PlanError[] {
  if (loaded.type === 'ok') throw new Error('the plan was taken');
  return loaded.errors;
}

/** `line:column field code`, one an error. */
export function brief(loaded: Loaded): string[] {
  return errorsOf(loaded).map(({ line, column, field, code }) => `${line}:${column} ${field} ${code}`);
}
