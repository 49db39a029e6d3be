import type { StepId } from '../../machines/protocol.ts';
import type { Agent } from '../agents/index.ts';
import type { RenderedStep, ResolvedStep } from '../plan/index.ts';
import type { Container } from '../process/index.ts';

/** A step that is ready to be launched. The texts leave memory with the launch. */
export interface Prepared {
  agent: Agent;
  /** Of the agent's client; null: not known, or there is none. */
  version: string | null;
  step: ResolvedStep;
  texts: RenderedStep;
  token: string;
  /** What its process tree is put into; null is nothing but a group of its own. */
  container: Container | null;
}

export type PreparedSteps = Map<StepId, Prepared>;
