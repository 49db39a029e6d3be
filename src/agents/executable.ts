import { constants } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { delimiter, isAbsolute, join, sep } from 'node:path';
import type { AgentSettings } from './adapter.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Where an agent's program was found, or in plain words why it was not. */
export type Located =
  /** `command`: executable and leading arguments. `by`: which of the three ways told. */
  | { type: 'found'; command: string[]; by: 'definition' | 'environment' | 'path' }
  | { type: 'not-found'; reason: 'command-missing' | 'command-not-executable'; message: string };

export interface Surroundings {
  env: Environment;
  /** The program that runs a `.js` file; the path of node. */
  execPath: string;
}

/**
 * Finds the program of an agent: the definition's `command`, else the environment variable, else `usual` on PATH.
 *
 * A `command` with a relative path belongs to the working directory of a step, which nobody knows yet: it is
 * taken as it is. PATH is read as on POSIX systems (no PATHEXT).
 */
export async function locate(settings: AgentSettings, usual: string, surroundings: Surroundings): Promise<Located> {
  const [program, ...rest] = settings.command ?? [];
  if (program !== undefined) return byDefinition(settings.name, program, rest, surroundings.env);
  const variable = variablesOf(settings).find((name) => (surroundings.env[name] ?? '') !== '');
  if (variable !== undefined) return byVariable(settings.name, variable, surroundings);
  const found = await onPath(usual, surroundings.env);
  if (found !== null) return { type: 'found', command: [found], by: 'path' };
  const unset = variablesOf(settings).join(' and ');
  return missing(
    `agent "${settings.name}": there is no program "${usual}" on PATH, its definition has no "command", and ${unset} ` +
      `${variablesOf(settings).length > 1 ? 'are' : 'is'} not set. Install it, or set ${agentVariable(settings.name)} to its path.`,
  );
}

/** `my-pi` -> `COXSWAIN_AGENT_MY_PI`. */
export function agentVariable(name: string): string {
  return `COXSWAIN_AGENT_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`;
}

/** The agent's own variable goes before the one of its adapter. */
function variablesOf(settings: AgentSettings): string[] {
  return [...new Set([agentVariable(settings.name), agentVariable(settings.adapter)])];
}

async function byDefinition(name: string, program: string, rest: string[], env: Environment): Promise<Located> {
  const found: Located = { type: 'found', command: [program, ...rest], by: 'definition' };
  if (!program.includes('/') && !program.includes(sep)) {
    if ((await onPath(program, env)) !== null) return found;
    return missing(`agent "${name}": its "command" is "${program}", and there is no such program on PATH.`);
  }
  if (!isAbsolute(program)) return found;
  return judge(found, program, `agent "${name}": its "command" is "${program}"`);
}

async function byVariable(name: string, variable: string, { env, execPath }: Surroundings): Promise<Located> {
  const path = env[variable] ?? '';
  const said = `agent "${name}": ${variable} is "${path}"`;
  if (!/\.[mc]?js$/.test(path)) return judge({ type: 'found', command: [path], by: 'environment' }, path, said);
  if ((await kindOf(path)) === 'missing') return missing(`${said}, and there is no such file. ${FIX}`);
  return { type: 'found', command: [execPath, path], by: 'environment' };
}

const FIX = 'Correct the path.';

async function judge(found: Located, path: string, said: string): Promise<Located> {
  switch (await kindOf(path)) {
    case 'executable':
      return found;
    case 'plain':
      return {
        type: 'not-found',
        reason: 'command-not-executable',
        message: `${said}, and that file may not be executed. Give it the execute permission (chmod +x).`,
      };
    case 'missing':
      return missing(`${said}, and there is no such file. ${FIX}`);
  }
}

function missing(message: string): Located {
  return { type: 'not-found', reason: 'command-missing', message };
}

async function onPath(program: string, env: Environment): Promise<string | null> {
  for (const folder of (env['PATH'] ?? '').split(delimiter)) {
    // An empty entry means the current directory to a shell; an agent is never taken from there by accident.
    if (folder === '') continue;
    const path = join(folder, program);
    if ((await kindOf(path)) === 'executable') return path;
  }
  return null;
}

async function kindOf(path: string): Promise<'executable' | 'plain' | 'missing'> {
  try {
    if (!(await stat(path)).isFile()) return 'missing';
    await access(path, constants.X_OK);
    return 'executable';
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EACCES' ? 'plain' : 'missing';
  }
}
