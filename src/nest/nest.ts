import type { StepId } from '../../machines/protocol.ts';
import type { NestCapability, NestPlace } from '../record/light.ts';

/** What the runs of a nest may do; of the top run's plan. */
export interface NestLimits {
  depth: number;
  total: number;
}

/** Where a run stands in its nest. */
export interface Nest {
  readonly root: string;
  readonly run: string;
  /** Id of the top run: `run` itself when it is nowhere below another. */
  readonly top: string;
  readonly token: string;
  /** 0 for the top run. */
  readonly depth: number;
  readonly limits: NestLimits;
  /** Null for the top run. */
  readonly parent: NestPlace | null;
}

/** Tells a run that this process starts where it belongs. One JSON value; its name is on record, its value never. */
export const NEST_ENV = 'COXSWAIN_NEST';
/** So that a child that asks for a run finds it in the state root it is in. */
const HOME_ENV = 'COXSWAIN_HOME';

/** The nest of a run that was not started by a child of another. */
export function nestOfTop(run: { root: string; id: string; instance: string; limits: NestLimits }): Nest {
  const { root, id, instance: token, limits } = run;
  return { root, run: id, top: id, token, depth: 0, limits, parent: null };
}

/** What the child of an attempt gets in its environment. */
export function nestEnv(nest: Nest, attempt: { step: StepId; n: number }): Record<string, string> {
  const { root, run, top, token, depth } = nest;
  const parent: NestPlace = { run, step: attempt.step, attempt: attempt.n };
  const capability: NestCapability = { v: 1, root, top, token, depth, parent };
  return { [NEST_ENV]: JSON.stringify(capability), [HOME_ENV]: root };
}
