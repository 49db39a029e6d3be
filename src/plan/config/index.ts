export { type AgentConfig, type ConfigLoaded, type ConfigOptions, configOf, loadConfig } from './load.ts';
export { configJsonSchema } from './schema.ts';
