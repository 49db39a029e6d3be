/** Runs that are started by children of runs: where they belong, how many there may be, and how they are looked at. */
export { enterNest, nestOfEntered, type Entered, type NestRefusal, type NestRequest } from './enter.ts';
export { createNestLooker, liveNested, type LiveNested, type NestLooker } from './look.ts';
export { NEST_ENV, nestEnv, nestOfTop, type Nest, type NestLimits } from './nest.ts';
