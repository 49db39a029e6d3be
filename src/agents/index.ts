export type {
  AgentAdapter,
  AgentEvent,
  AgentSession,
  AgentSettings,
  AgentUse,
  Capabilities,
  Launch,
  LaunchRequest,
  Permission,
  Reply,
  SteerEvent,
  SteerMessage,
} from './adapter.ts';
export { mayChange } from './may-change.ts';
export { type Environment, agentVariable } from './executable.ts';
export {
  type Agent,
  type AgentLookup,
  type AgentReport,
  type AgentResolution,
  type Registry,
  type RegistryOptions,
  createRegistry,
} from './registry.ts';
