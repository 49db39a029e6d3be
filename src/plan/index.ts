/** Plans: schema, loading, ids and templates. Reads plan files and looks at folders; starts nothing. */
export { resolveAppend, tellErrors, type Appended, type AppendOptions } from './append.ts';
export { parseSteps, readSteps, type StepsFile } from './steps-file.ts';
export { configJsonSchema, configOf, loadConfig, type AgentConfig } from './config/index.ts';
export type { AgentInput } from './agentSchema.ts';
export { parseDeadline, type Deadline } from './deadline.ts';
export { formatPlanErrors } from './format.ts';
export { loadPlan, parsePlan, resolvePlan, type ParseOptions, type ResolveOptions } from './load.ts';
export { planOf, planOfCommand, type TaskRequest } from './oneStep.ts';
export { renderStep, type RenderedStep, type StepRendering } from './renderStep.ts';
export { planJsonSchema, type PlanInput } from './schema.ts';
export { compileTemplate, type Compiled, type Rendered, type Scope } from './templates.ts';
export type { Reference } from './reference.ts';
export { parseDuration, type Duration } from './duration.ts';
export { outputFiles } from './output-file.ts';
export type { Loaded, PlanError, PlanErrorCode, ResolvedOutput, ResolvedPlan, ResolvedStep } from './types.ts';
