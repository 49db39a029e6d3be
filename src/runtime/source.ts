import type { ProofLevel } from '../../machines/protocol.ts';
import { CoxswainError } from '../errors.ts';
import { createRegistry } from '../agents/index.ts';
import { type ConfiguredAgents, agentsFor } from './configured.ts';
import { hostPlatform } from '../process/index.ts';
import {
  type Loaded,
  type PlanError,
  type PlanInput,
  type ResolveOptions,
  type ResolvedPlan,
  type TaskRequest,
  formatPlanErrors,
  loadPlan,
  planOf,
  planOfCommand,
  resolvePlan,
} from '../plan/index.ts';

/** Where a plan comes from: a value, a file, one task for an agent, or one command. */
export type PlanSource =
  { plan: PlanInput } | { file: string } | { task: TaskRequest } | { command: string[]; timeout?: string | number };

export interface SourceOptions extends ConfiguredAgents {
  /** What relative paths are relative to. Default: the current folder. */
  cwd?: string;
  /** Read for agents' programs. Default: this process's environment. */
  env?: Readonly<Record<string, string | undefined>>;
}

/** Every mistake in the plan, each with its place. */
export class PlanInvalidError extends CoxswainError {
  readonly errors: readonly PlanError[];

  constructor(errors: readonly PlanError[], more = 0) {
    const rest = more > 0 ? `\n(and ${more} more)` : '';
    super('plan-invalid', `${formatPlanErrors([...errors])}${rest}`);
    this.errors = errors;
  }
}

/**
 * Reads and checks a plan; starts nothing.
 * @throws PlanInvalidError with every mistake that was found. CoxswainError `config-invalid` where the config file cannot
 * be read.
 */
export async function resolveSource(source: PlanSource, options: SourceOptions = {}): Promise<ResolvedPlan> {
  const cwd = options.cwd ?? process.cwd();
  // A command has no agent.
  const { definitions, broken } = 'command' in source ? {} : await agentsFor(options, cwd);
  const loaded = await load(source, {
    agents: createRegistry({}, { env: options.env ?? process.env }).names(),
    ...(definitions === undefined ? {} : { definitions }),
    ...(broken === undefined ? {} : { broken }),
    cwd,
    proof: defaultProof(),
  });
  if (loaded.type === 'invalid') throw new PlanInvalidError(loaded.errors, loaded.more);
  return loaded.plan;
}

/** Where there is no /proc nobody can search; a plan that asks for it says so itself. */
export function defaultProof(): ProofLevel {
  return hostPlatform().list === 'proc' ? 'searched' : 'group';
}

async function load(source: PlanSource, options: ResolveOptions): Promise<Loaded> {
  if ('plan' in source) return resolvePlan(source.plan, options);
  if ('file' in source) return loadPlan(source.file, options);
  if ('task' in source) return planOf(source.task, options);
  if (!('command' in source)) {
    throw new CoxswainError('plan-invalid', 'say what to run: { plan }, { file }, { task } or { command }');
  }
  const { command, timeout } = source;
  return planOfCommand(command, { ...options, ...(timeout === undefined ? {} : { timeout }) });
}
