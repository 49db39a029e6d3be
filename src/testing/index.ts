/**
 * What coxswain's own tests are made of, for yours: generated paths over machines, a clock that stands still, and an
 * agent that does what a test tells it, and what every adapter has to do. Imports no test runner.
 */
export { StepClock } from './step-clock.ts';
export { TransitionCoverage, actorAt, edgePaths } from './paths.ts';
export type { Path, PathModel } from './paths.ts';
export { FAKE_USAGE, startFakeAgents } from './fake-agent/index.ts';
export type { FakeAgents, FakeAgentsOptions, FakeChild, FakeMode } from './fake-agent/index.ts';
export {
  BEHAVIOURS,
  OCCASIONS,
  captureSubject,
  conform,
  conformLive,
  conformanceTable,
  live,
  readAgent,
  readSubject,
} from './conformance/index.ts';
export type {
  Behaviour,
  Captured,
  Expected,
  Finding,
  Lacking,
  LiveFinding,
  LiveOptions,
  Lived,
  Look,
  Occasion,
  Subject,
  Trial,
  TrialOptions,
} from './conformance/index.ts';
