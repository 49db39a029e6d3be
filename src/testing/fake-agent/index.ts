// Agents that do what a test says.
export {
  type FakeAgents,
  type FakeAgentsOptions,
  type NextOptions,
  type SettingsOptions,
  startFakeAgents,
} from './rig.ts';
export { FAKE_USAGE, type FakeChild } from './child.ts';
export type {
  AckState,
  FakeAnswer,
  FakeMode,
  FakeUsage,
  Ignorable,
  SeenSignal,
  SteerMode,
  StopReason,
} from './wire.ts';
