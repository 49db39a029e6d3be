import { resolve } from 'node:path';
import { CoxswainError } from '../errors.ts';
import { type AgentConfig, type AgentInput, configOf, formatPlanErrors, loadConfig } from '../plan/index.ts';

/** Where agents come from that no plan defines. */
export interface ConfiguredAgents {
  /** Agents of your own, by name, as a plan writes them. They go before those of a config file. */
  agents?: Readonly<Record<string, AgentInput>>;
  /** A config file with agents; `search`: the nearest one, as the command line looks for it. Default: none. */
  config?: string;
}

/**
 * Those of code and of the config file; where both define one, that of code.
 * @throws CoxswainError `config-invalid` where a config file cannot be read as a whole.
 */
export async function agentsFor({ agents, config }: ConfiguredAgents, cwd: string): Promise<AgentConfig> {
  const base = resolve(cwd);
  const ofFile =
    config === undefined ? NOTHING : taken(await loadConfig({ cwd: base, here: process.cwd(), file: config }));
  const ofCode = agents === undefined ? NOTHING : taken(configOf(agents, base));
  return {
    file: ofFile.file,
    definitions: { ...without(ofFile.definitions, ofCode.broken), ...ofCode.definitions },
    broken: { ...without(ofFile.broken, ofCode.definitions), ...ofCode.broken },
    notes: ofFile.notes,
  };
}

const NOTHING: AgentConfig = { file: null, definitions: {}, broken: {}, notes: [] };

function taken(loaded: Awaited<ReturnType<typeof loadConfig>>): AgentConfig {
  if (loaded.type === 'ok') return loaded.config;
  throw new CoxswainError('config-invalid', formatPlanErrors(loaded.errors));
}

function without<T>(record: Readonly<Record<string, T>>, others: object): Record<string, T> {
  return Object.fromEntries(Object.entries(record).filter(([name]) => !Object.hasOwn(others, name)));
}
