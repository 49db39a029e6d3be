export type {
  AgentAdapter,
  AgentEvent,
  AgentSession,
  AgentUse,
  Capabilities,
  Launch,
  LaunchRequest,
  PermissionAnswer,
  Reply,
  SessionRequest,
  SteerEvent,
  SteerMessage,
} from './adapter.ts';
export {
  type AgentSettings,
  type Inherited,
  type McpServer,
  type Permission,
  type SessionUse,
  INHERITED,
  THINKING,
} from './settings.ts';
export type { Honours, Mode } from './honours.ts';
export type { Refusal } from './refusals.ts';
export type { ClientFacts } from './client-facts.ts';
export { type ClientVersions, createClientVersions } from './client-version.ts';
export { isSubmitTool, mayChange } from './may-change.ts';
export { type Environment, agentVariable } from './executable.ts';
export {
  type Agent,
  type AgentLookup,
  type AgentReport,
  type AgentResolution,
  type Registry,
  type RegistryOptions,
  adapterHonours,
  adapterIds,
  adapterModes,
  createRegistry,
  definitionRefusals,
} from './registry.ts';
