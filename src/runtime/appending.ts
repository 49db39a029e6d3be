import type { Answer, StepPlan } from '../../machines/protocol.ts';
import { type AppendOptions, type ResolvedPlan, type ResolvedStep, resolveAppend, tellErrors } from '../plan/index.ts';
import { type RunDir, addPlanPart, removePlanPart } from '../record/index.ts';

export type Proposed = { type: 'ok'; steps: StepPlan[] } | { type: 'invalid'; detail: string };

export interface AppendingOptions {
  dir: RunDir;
  plan: ResolvedPlan;
  resolving: AppendOptions;
  /** What the machines have to know of a step. */
  stepPlanOf: (step: ResolvedStep) => StepPlan;
}

/**
 * The steps of a plan that grows. What is to be appended is checked against all that is known, kept in `plan/<n>.json`,
 * and known from then on; when the run refuses it after all, both are taken back.
 */
export class Appending {
  readonly #options: AppendingOptions;
  readonly #parts = new Map<string, { n: number; steps: ResolvedStep[] }>();

  constructor(options: AppendingOptions) {
    this.#options = options;
  }

  /** Every step that is known, in order. */
  get steps(): ResolvedStep[] {
    return [...this.#options.plan.steps, ...[...this.#parts.values()].flatMap(({ steps }) => steps)];
  }

  find(id: string): ResolvedStep | undefined {
    return this.steps.find((step) => step.id === id);
  }

  /** Checks the raw steps of an `append` command. The text of its tasks goes no further than into `plan/<n>.json`. */
  propose(raw: readonly unknown[], command: string): Proposed {
    const { dir, plan, resolving, stepPlanOf } = this.#options;
    const resolved = resolveAppend(raw, { ...plan, steps: this.steps }, resolving);
    if (resolved.type === 'invalid') return { type: 'invalid', detail: tellErrors(resolved.errors, resolved.more) };
    const kept = addPlanPart(dir, { v: 1, command, steps: resolved.steps });
    if (kept.type === 'trouble') return { type: 'invalid', detail: `it cannot be kept: ${kept.message}` };
    this.#parts.set(command, { n: kept.n, steps: resolved.steps });
    return { type: 'ok', steps: resolved.steps.map(stepPlanOf) };
  }

  /** The command has its verdict. */
  answered({ id, verdict }: Pick<Answer, 'id' | 'verdict'>): void {
    const part = this.#parts.get(id);
    if (part === undefined || verdict === 'applied') return;
    this.#parts.delete(id);
    removePlanPart(this.#options.dir, part.n);
  }
}
