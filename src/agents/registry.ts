import type { AgentAdapter, AgentSettings, AgentUse, Capabilities } from './adapter.ts';
import { acpAdapter } from './acp/index.ts';
import { claudeAdapter } from './claude/index.ts';
import { codexAdapter } from './codex/index.ts';
import { commandAdapter } from './command.ts';
import { type Environment, type Located, locate } from './executable.ts';
import { geminiAdapter } from './gemini/index.ts';
import type { Honours, Mode } from './honours.ts';
import { opencodeAdapter } from './opencode/index.ts';
import { piAdapter } from './pi/index.ts';
import { type Refusal, misuseOf, modeOf, refusalsOf } from './refusals.ts';
import { versionKnown } from './known-versions.ts';
import { readVersion } from './version.ts';

/** An agent by its name: adapter and settings. Says nothing about whether its program exists. */
export interface Agent {
  name: string;
  adapter: AgentAdapter;
  settings: AgentSettings;
  /** How its program was found, once it was looked for. */
  foundBy?: 'definition' | 'environment' | 'path';
}

export type AgentLookup =
  | { type: 'agent'; agent: Agent }
  /** No such agent. `known` are the names there are. */
  | { type: 'unknown'; message: string; known: string[] }
  /** There is one, and it cannot be used like this. */
  | { type: 'refused'; message: string };

/** An agent that can be started: its `settings.command` is filled in, unless steps bring their own. */
export type AgentResolution =
  AgentLookup | { type: 'not-found'; reason: 'command-missing' | 'command-not-executable'; message: string };

/** A line of `coxswain agents`. */
export interface AgentReport {
  name: string;
  /** Null where the definition does not say one that can be read. */
  adapter: string | null;
  builtIn: boolean;
  /** Null where the adapter is unknown; `problem` says so. */
  capabilities: Capabilities | null;
  /** Executable and leading arguments; null when it was not found, or when each step brings its own. */
  command: string[] | null;
  /** What stands in the way of using it, for people. */
  problem: string | null;
  /** Only when versions were asked for; null when the program did not say. */
  version?: string | null;
  /** With it: whether its adapter was made for that version. Null where versions say nothing, or there is no program. */
  versionKnown?: boolean | null;
  /** With it: what an unknown version may come to, in words. It is no error. */
  warning?: string | null;
}

export interface Registry {
  /** Names that a plan may use, sorted. */
  names(): string[];
  /** Looks at no file. */
  get(name: string, use: AgentUse): AgentLookup;
  /** As `get`, and finds the program. */
  resolve(name: string, use: AgentUse): Promise<AgentResolution>;
  /** Every agent. With `versions` each program that was found is started once with `--version`, one after the other. */
  list(options?: { versions?: boolean }): Promise<AgentReport[]>;
}

export interface RegistryOptions {
  /** Read for PATH and `COXSWAIN_AGENT_<NAME>`, and given to a program that is asked for its version. */
  env: Environment;
  /** The program for a `.js` path in `COXSWAIN_AGENT_<NAME>`; default is the running node. */
  execPath?: string;
  /** Definitions that cannot even be read, by name: what is wrong with each. */
  broken?: Readonly<Record<string, string>>;
}

const ADAPTERS: ReadonlyMap<string, AgentAdapter> = new Map(
  [acpAdapter, claudeAdapter, codexAdapter, commandAdapter, geminiAdapter, opencodeAdapter, piAdapter].map(
    (adapter) => [adapter.id, adapter],
  ),
);

/** An agent for every adapter, by its name, and the given definitions, which may replace them. */
export function createRegistry(
  definitions: Readonly<Record<string, AgentSettings>>,
  { env, execPath = process.execPath, broken = {} }: RegistryOptions,
): Registry {
  const all = new Map<string, AgentSettings>();
  for (const id of ADAPTERS.keys()) all.set(id, { name: id, adapter: id });
  for (const [name, settings] of Object.entries(definitions)) all.set(name, { ...settings, name });
  for (const name of Object.keys(broken)) all.delete(name);
  const names = [...all.keys(), ...Object.keys(broken)].toSorted();

  const find = (settings: AgentSettings): Promise<Located | null> => findProgram(settings, env, execPath);

  function get(name: string, use: AgentUse): AgentLookup {
    const settings = all.get(name);
    if (Object.hasOwn(broken, name)) {
      return { type: 'refused', message: `the definition of the agent "${name}" is broken: ${broken[name]}` };
    }
    if (settings === undefined) {
      const message = `there is no agent "${name}"; there are: ${names.join(', ')}`;
      return { type: 'unknown', message, known: names };
    }
    const adapter = ADAPTERS.get(settings.adapter);
    if (adapter === undefined) return { type: 'refused', message: noAdapter(settings) };
    const refusal = refusalOf(settings, adapter, use);
    if (refusal !== null) return { type: 'refused', message: refusal };
    return { type: 'agent', agent: { name, adapter, settings } };
  }

  async function resolve(name: string, use: AgentUse): Promise<AgentResolution> {
    const looked = get(name, use);
    if (looked.type !== 'agent' || use === 'run') return looked;
    const located = await find(looked.agent.settings);
    if (located === null) return looked;
    if (located.type === 'not-found') return located;
    const settings = { ...looked.agent.settings, command: located.command };
    return { type: 'agent', agent: { ...looked.agent, settings, foundBy: located.by } };
  }

  async function report(settings: AgentSettings, versions: boolean): Promise<AgentReport> {
    const adapter = ADAPTERS.get(settings.adapter);
    const located = adapter === undefined ? null : await find(settings);
    const command = located?.type === 'found' ? located.command : null;
    return {
      name: settings.name,
      adapter: settings.adapter,
      builtIn: !Object.hasOwn(definitions, settings.name),
      capabilities: adapter?.capabilities ?? null,
      command,
      problem: problemOf(settings, adapter, located),
      ...(versions ? await versionReport(settings, command, env) : {}),
    };
  }

  return {
    names: () => [...names],
    get,
    resolve,
    async list({ versions = false } = {}) {
      const reports: AgentReport[] = [];
      // One after the other: eight agents that start at once take ten seconds each.
      for (const name of names) {
        const settings = all.get(name);
        if (settings !== undefined) reports.push(await report(settings, versions));
        else reports.push(brokenReport(name, broken[name] ?? ''));
      }
      return reports;
    },
  };
}

function brokenReport(name: string, fault: string): AgentReport {
  return { name, adapter: null, builtIn: false, capabilities: null, command: null, problem: fault };
}

/** Null: there is no program to find, each step brings its own command. */
async function findProgram(settings: AgentSettings, env: Environment, execPath: string): Promise<Located | null> {
  const usual = ADAPTERS.get(settings.adapter)?.program ?? null;
  if (usual === null && settings.command === undefined) return null;
  return locate(settings, usual ?? settings.name, { env, execPath });
}

async function versionReport(
  settings: AgentSettings,
  command: string[] | null,
  env: Environment,
): Promise<Required<Pick<AgentReport, 'version' | 'versionKnown' | 'warning'>>> {
  if (command === null) return { version: null, versionKnown: null, warning: null };
  const version = await versionOf(settings, command, env);
  const { known = null, warning = null } = versionKnown(settings.adapter, version) ?? {};
  return { version, versionKnown: known, warning };
}

/** Only programs whose adapter is known to understand `--version` are asked: another might take it for work. */
async function versionOf(settings: AgentSettings, command: string[], env: Environment): Promise<string | null> {
  const known = (ADAPTERS.get(settings.adapter)?.program ?? null) !== null;
  return known ? readVersion(command, { ...env }) : null;
}

function problemOf(settings: AgentSettings, adapter: AgentAdapter | undefined, located: Located | null): string | null {
  if (adapter === undefined) return noAdapter(settings);
  if (located?.type === 'not-found') return located.message;
  // `command` steps bring their own command; every other agent is there for tasks.
  return adapter === commandAdapter && settings.name === adapter.id ? null : refusalOf(settings, adapter, 'task');
}

/** The first thing in the way, with the name of the agent. */
function refusalOf(settings: AgentSettings, adapter: AgentAdapter, use: AgentUse): string | null {
  const refusal = misuseOf(settings, adapter, use) ?? refusalsOf(settings, adapter, [...ADAPTERS.values()])[0];
  return refusal === undefined ? null : `agent "${settings.name}": ${refusal.message}`;
}

/** What in a definition its adapter cannot honour; nothing where there is no such adapter. */
export function definitionRefusals(settings: Omit<AgentSettings, 'name'>): Refusal[] {
  const adapter = ADAPTERS.get(settings.adapter);
  if (adapter === undefined) return [];
  const misuse = adapter.program === null ? misuseOf(settings, adapter, 'task') : null;
  return [...(misuse === null ? [] : [misuse]), ...refusalsOf(settings, adapter, [...ADAPTERS.values()])];
}

/** What of a definition its adapter can honour; null where there is no such adapter or mode. */
export function adapterHonours(settings: Pick<AgentSettings, 'adapter' | 'mode'>): Honours | null {
  const adapter = ADAPTERS.get(settings.adapter);
  return adapter === undefined ? null : (modeOf(settings, adapter)?.honours ?? null);
}

/** The wire modes of an adapter and what of a definition it honours in each, the default one first. */
export const adapterModes = (id: string): readonly Mode[] => ADAPTERS.get(id)?.modes ?? [];

/** The adapters there are. */
export const adapterIds = (): string[] => [...ADAPTERS.keys()];

function noAdapter({ name, adapter }: AgentSettings): string {
  return `agent "${name}": there is no adapter "${adapter}"; there are: ${[...ADAPTERS.keys()].join(', ')}`;
}
