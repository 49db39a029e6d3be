// Starting child processes, reading them, knowing them again, and looking for what is left of them.
export { treeOf, type Belonging, type TreeTarget } from './belong.ts';
export {
  probeContainment,
  type CgroupMeans,
  type Container,
  type ContainerKind,
  type Containment,
  type Inside,
  type Opened,
  type PidnsMeans,
  type Unavailable,
} from './container/index.ts';
export type { DrainEnd } from './drain.ts';
export type { ChildHandlers, Started } from './handlers.ts';
export { endTreeByPid } from './tree-kill.ts';
export { groupState, signalGroup, signalMember, type GroupState } from './groups.ts';
export { bootId, identify, isSame, startTimeOf, type Identity } from './identity/index.ts';
export { createKin, note, type Kin } from './kin.ts';
export type { Child, Clock, LaunchSpec, OwnChild } from './launch.ts';
export { createLauncher, launch, type Launcher } from './launcher.ts';
export {
  createLineSplitter,
  type LineHandlers,
  type LineHead,
  type LineSplitter,
  type LineSplitterOptions,
} from './lines.ts';
export { hostPlatform, type Platform } from './platform.ts';
export type { SignalResult } from './signal.ts';
export { suspects, type Suspect } from './suspects.ts';
export { createSweeper, type Look, type LookOptions, type Sweeper, type SweeperOptions } from './sweeper.ts';
export { newToken, TOKEN_ENV, tokenValue } from './token.ts';
export { signalTree, type TreeSignal } from './tree.ts';
