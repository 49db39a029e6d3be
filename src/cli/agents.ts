import { type AgentReport, listAgents } from '../index.ts';
import { EXIT } from './codes.ts';
import { type Io, printJson } from './io.ts';
import { oneLine, table } from './words.ts';
import { type ConfigOption, configOf } from './config.ts';

export interface AgentsOptions extends ConfigOption {
  versions?: boolean;
  json?: boolean;
}

export async function agents(options: AgentsOptions, io: Io): Promise<number> {
  const reports = await listAgents({
    env: io.env,
    versions: options.versions === true,
    ...configOf(options),
    onNote: (note) => io.err.line(`coxswain: ${oneLine(note)}`),
  });
  if (options.json === true) await printJson(io, { v: 1, agents: reports });
  else await io.out.write(`${table([['agent', 'adapter', 'program'], ...reports.map(agentRow)]).join('\n')}\n`);
  return EXIT.ok;
}

export function agentRow({ name, adapter, command, problem, version }: AgentReport): string[] {
  const program = command === null ? 'each step brings its own' : command.join(' ');
  const known = typeof version === 'string' ? ` (${oneLine(version)})` : '';
  return [name, adapter ?? '-', problem === null ? program + known : `cannot be used: ${oneLine(problem)}`];
}
