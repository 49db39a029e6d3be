import type { Inherited, McpServer, Permission, SessionUse, Thinking } from './settings.ts';

/**
 * What of a definition an adapter can honour in one of its wire modes: each field, and of each the values. It is what
 * definitions are checked against, and the table in docs/agents.md: what is not in here is refused, never left out.
 */
export interface Honours {
  /** The definition chooses how the task is handed over. */
  task: boolean;
  model: boolean;
  thinking: readonly Thinking[];
  systemPrompt: readonly ('append' | 'replace')[];
  /** `required` needs an agent that tells which tools it has. */
  tools: readonly ('only' | 'required')[];
  extensions: boolean;
  skills: boolean;
  mcp: readonly McpServer['type'][];
  /** What it can be kept from taking over. */
  inherit: readonly Inherited[];
  /** `each`: what can be said of a tool by its name. `others`: of all that are not named (`*`). */
  permissions: { each: readonly Permission[]; others: readonly Permission[] };
  session: readonly Exclude<SessionUse['type'], 'fresh'>[];
}

export interface Mode {
  /** Null: the adapter has only this one. */
  name: string | null;
  honours: Honours;
}

/** What an adapter starts from that names what it can do. */
export const NOTHING: Honours = {
  task: false,
  model: false,
  thinking: [],
  systemPrompt: [],
  tools: [],
  extensions: false,
  skills: false,
  mcp: [],
  inherit: [],
  permissions: { each: [], others: [] },
  session: [],
};
