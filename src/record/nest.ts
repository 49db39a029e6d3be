import type { Instant, StepId } from '../../machines/protocol.ts';

/** Where a nested run was started: in which attempt of which run. */
export interface NestPlace {
  run: string;
  step: StepId;
  attempt: number;
}

/**
 * What every child of a run carries in its environment, so that a run it starts belongs below that run.
 * All runs below one top run are its nest.
 */
export interface NestCapability {
  v: 1;
  /** State root of the nest, an absolute path. */
  root: string;
  /** Id of the top run. */
  top: string;
  /** `instance` of the owner of the top run: a value left over from an earlier owner is worth nothing. */
  token: string;
  /** Of the run that gives it; the top run's is 0. */
  depth: number;
  parent: NestPlace;
}

/** `nest/<n>.json` of the top run: one of the nested runs it may have in all, taken. */
export interface NestSlot {
  v: 1;
  run: string;
  parent: NestPlace;
  depth: number;
  at: Instant;
}
