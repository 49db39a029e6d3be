import { type AgentReport, createRegistry } from '../agents/index.ts';
import { type ConfiguredAgents, agentsFor } from './configured.ts';

/**
 * The agents that plans can name here: the built-in ones, yours, and those of the config file; whether their programs were
 * found, what is wrong with a definition, and, on request, their versions (each program is started once for that).
 *
 * @throws CoxswainError `config-invalid` where the config file cannot be read as a whole.
 */
export async function listAgents(
  options: ConfiguredAgents & {
    /** What the config file is relative to. Default: the current folder. */
    cwd?: string;
    env?: Readonly<Record<string, string | undefined>>;
    versions?: boolean;
    /** Told what else there is to know of the config file: one that is there and is not used. */
    onNote?: (note: string) => void;
  } = {},
): Promise<AgentReport[]> {
  const { cwd = process.cwd(), env = process.env, versions = false, onNote } = options;
  const { definitions, broken, notes } = await agentsFor(options, cwd);
  for (const note of notes) onNote?.(note);
  return createRegistry(definitions, { env, broken }).list({ versions });
}
