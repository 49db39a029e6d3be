// Starting child processes, reading them, knowing them again, and looking for what is left of them.
export type { Belonging, TreeTarget } from './belong.ts';
export type { DrainEnd } from './drain.ts';
export { endTreeByPid } from './tree-kill.ts';
export { groupState, signalGroup, signalMember, type GroupState, type SignalResult } from './groups.ts';
export { bootId, identify, isSame, startTimeOf, type Identity } from './identity/index.ts';
export { launch, type Child, type ChildHandlers, type Clock, type LaunchSpec } from './launch.ts';
export { createLineSplitter, type LineHandlers, type LineSplitter, type LineSplitterOptions } from './lines.ts';
export { hostPlatform, type Platform } from './platform.ts';
export { createSweeper, type Sweeper, type SweeperOptions } from './sweeper.ts';
export type { Look } from './search.ts';
export { newToken, TOKEN_ENV, tokenValue } from './token.ts';
