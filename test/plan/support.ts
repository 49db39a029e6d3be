import { parsePlan, type Loaded, type PlanError, type ResolvedPlan, type ResolvedStep } from '../../src/plan/index.ts';

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

const retry: ResolvedStep['retry'] = {
  attempts: 1,
  backoff: { firstMs: 1_000, factor: 2, mostMs: 60_000 },
  startupMs: [250, 750, 1_500],
  modelMs: [2_000, 8_000, 20_000],
  mostWaitMs: 60_000,
  afterSideEffects: false,
  unproven: false,
  rules: [],
};
const attempts = {
  limits: { attemptMs: null, firstOutputMs: null, stall: null, toolMs: null },
  leftovers: 'end',
  survivors: 'none',
  asks: 'wait',
  proof: 'searched',
  contain: 'auto',
} as const;

/** What a step that says nothing about its attempts gets. */
export const byDefault = {
  task: { ...attempts, retry },
  run: { ...attempts, retry: { ...retry, modelMs: [] } },
} as const satisfies Record<string, Partial<ResolvedStep>>;
