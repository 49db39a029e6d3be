import { type AgentReport, type AgentSettings, createRegistry } from '../agents/index.ts';

/**
 * The agents that plans can name here: the built-in ones and your definitions, whether their programs were found,
 * and, on request, their versions (each program is started once for that).
 */
export function listAgents(
  options: {
    definitions?: Readonly<Record<string, AgentSettings>>;
    env?: Readonly<Record<string, string | undefined>>;
    versions?: boolean;
  } = {},
): Promise<AgentReport[]> {
  const { definitions = {}, env = process.env, versions = false } = options;
  return createRegistry(definitions, { env }).list({ versions });
}
