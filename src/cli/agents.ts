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
  if (options.json === true) {
    await printJson(io, { v: 1, agents: reports });
    return EXIT.ok;
  }
  const warnings = warningsOf(reports).map(({ name, warning }) => `- ${name}: ${warning}`);
  const lines = [
    ...table([['agent', 'adapter', 'program'], ...reports.map(agentRow)]),
    ...(warnings.length === 0 ? [] : ['', ...warnings]),
  ];
  await io.out.write(`${lines.join('\n')}\n`);
  return EXIT.ok;
}

export function agentRow({ name, adapter, command, problem, version, versionKnown }: AgentReport): string[] {
  const program = command === null ? 'each step brings its own' : command.join(' ');
  const which = typeof version === 'string' ? ` (${oneLine(version)}${versionKnown === true ? ', known' : ''})` : '';
  return [name, adapter ?? '-', problem === null ? program + which : `cannot be used: ${oneLine(problem)}`];
}

/** What should be known of agents that can be used all the same. */
export function warningsOf(reports: readonly AgentReport[]): { name: string; warning: string }[] {
  return reports.flatMap(({ name, problem, warning = null }) =>
    warning === null || problem !== null ? [] : [{ name, warning: oneLine(warning) }],
  );
}
