import type { StopRung } from '../../machines/protocol.ts';

/** An agent definition after defaults: what a plan, a config file or the library said. */
export interface AgentSettings {
  /** The name steps use. */
  name: string;
  adapter: string;
  /** Executable and leading arguments; default is the adapter's own look-up (COXSWAIN_AGENT_<NAME>, then PATH). */
  command?: string[];
  /** Wire mode where the adapter has more than one (`pi`: rpc, json). */
  mode?: string;
  /** Names of environment variables passed through; default is all of the runner's. */
  env?: string[];
  /** Arguments added at the end of the adapter's own. */
  args?: string[];
  /**
   * How the task reaches the program of a `command` agent. `stdin` (default): it is the whole of stdin. `argv`: the last
   * argument, which about 128 KiB are too long for. `file`: a file, whose path takes the place of `{file}` in `command`
   * and `args`, or is the last argument.
   */
  task?: 'stdin' | 'argv' | 'file';
  /** Replaces the adapter's ladder. */
  stop?: StopRung[];
  /**
   * What an agent is answered that asks whether it may use a tool, by the tool's name or kind; `*` is every other. What is
   * not named is denied. Without any, it is what the adapter takes for the least with which a task can be done.
   */
  permissions?: Record<string, Permission>;
  /** Candidates in order, for steps that name none. */
  model?: string[];
  /** For models whose name does not end in a level of its own (`:high`). */
  thinking?: Thinking;
  systemPrompt?: SystemPrompt;
  tools?: ToolList;
  /** What is loaded into the agent: files, folders, or names that only it understands. Paths are absolute. */
  extensions?: string[];
  /** Files or folders of skills; absolute. */
  skills?: string[];
  /** Servers of the Model Context Protocol, by name. */
  mcp?: Record<string, McpServer>;
  /** What it takes over from the project and the user; what is not named it takes over as it does by itself. */
  inherit?: Partial<Record<Inherited, boolean>>;
  /** Default `fresh`. */
  session?: SessionUse;
}

/** `ask`: somebody is asked, as by the agent itself, and `coxswain answer` answers. */
export type Permission = 'allow' | 'deny' | 'ask';

export const THINKING = ['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const;
export type Thinking = (typeof THINKING)[number];

/** `append`: after the agent's own. `replace`: in place of it. */
export type SystemPrompt = { append: string } | { replace: string };

export interface ToolList {
  /** The tools it may have, by its own names; absent: those it has by itself. Empty: none. */
  only?: string[];
  /** The work is not begun, or has failed, where the agent says that it has not got these. */
  required?: string[];
}

export type McpServer =
  /** Started by the agent. `env`: names of variables that are handed on to it. */
  { type: 'stdio'; command: string[]; env: string[] } | { type: 'http'; url: string };

export const INHERITED = ['context', 'skills', 'extensions'] as const;
/** `context`: files such as AGENTS.md and CLAUDE.md. `skills`, `extensions`: those it finds by itself. */
export type Inherited = (typeof INHERITED)[number];

/**
 * `fresh`: each step has a session of its own. `shared`: the steps of all runs of a state root that name the same one go on
 * in it, one at a time. `fork`: a step begins in a copy of the session of the last step it needs that the same adapter worked at; that
 * one stays as it was.
 */
export type SessionUse = { type: 'fresh' } | { type: 'shared'; name: string } | { type: 'fork' };
