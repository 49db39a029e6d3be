/** What every adapter has to do alike, asked of captured streams and of running children. Imports no test runner. */
export { BEHAVIOURS, type Behaviour, type Look } from './behaviours.ts';
export { type Trial, type TrialOptions, captureSubject, readAgent } from './capture.ts';
export { type Finding, conform, conformanceTable } from './conform.ts';
export { type LiveFinding, type LiveOptions, type Lived, conformLive, live } from './live.ts';
export { OCCASIONS, readSubject } from './subject.ts';
export type { Captured, Expected, Lacking, Occasion, Subject } from './subject.ts';
