// Agents that do what a test says.
export {
  type FakeAgents,
  type FakeAgentsOptions,
  type NextOptions,
  type SettingsOptions,
  startFakeAgents,
} from './rig.ts';
export { FAKE_USAGE, type FakeChild } from './child.ts';
export type { FakeMode, FakeUsage, Ignorable, SeenSignal, StopReason } from './wire.ts';
