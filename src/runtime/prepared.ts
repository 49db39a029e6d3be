import type { StepId } from '../../machines/protocol.ts';
import type { Agent } from '../agents/index.ts';
import type { RenderedStep, ResolvedStep } from '../plan/index.ts';

/** A step that is ready to be launched. The texts leave memory with the launch. */
export interface Prepared {
  agent: Agent;
  step: ResolvedStep;
  texts: RenderedStep;
  token: string;
}

export type PreparedSteps = Map<StepId, Prepared>;
