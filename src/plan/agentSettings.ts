import { resolve } from 'node:path';
import type { AgentSettings, McpServer, SessionUse } from '../agents/index.ts';
import type { StopRung } from '../../machines/protocol.ts';
import type { AgentInput } from './agentSchema.ts';
import { millisecondsOf } from './duration.ts';

const DEFAULT_GRACE_MS = 3_000;

/** A definition after defaults; `base`: the folder that its paths are relative to. */
export function settingsOf(name: string, agent: AgentInput, base: string): AgentSettings {
  const { model, tools, session, mcp, extensions, skills, systemPrompt } = agent;
  return {
    name,
    adapter: agent.adapter,
    ...(agent.command === undefined ? {} : { command: [...agent.command] }),
    ...(agent.mode === undefined ? {} : { mode: agent.mode }),
    ...(agent.env === undefined ? {} : { env: [...agent.env] }),
    ...(agent.args === undefined ? {} : { args: [...agent.args] }),
    ...(agent.task === undefined ? {} : { task: agent.task }),
    ...(model === undefined ? {} : { model: [model].flat() }),
    ...(agent.thinking === undefined ? {} : { thinking: agent.thinking }),
    ...(systemPrompt === undefined ? {} : { systemPrompt: promptOf(systemPrompt) }),
    ...(tools === undefined ? {} : { tools: toolsOf(tools) }),
    ...(extensions === undefined ? {} : { extensions: extensions.map((path) => pathOf(path, base)) }),
    ...(skills === undefined ? {} : { skills: skills.map((path) => pathOf(path, base)) }),
    ...(mcp === undefined ? {} : { mcp: serversOf(mcp) }),
    ...(agent.inherit === undefined ? {} : { inherit: inheritOf(agent.inherit) }),
    ...(session === undefined ? {} : { session: sessionOf(session) }),
    ...(agent.permissions === undefined ? {} : { permissions: { ...agent.permissions } }),
    ...(agent.stop === undefined ? {} : { stop: agent.stop.map(rung) }),
  };
}

/** Only what is a path by its looks: an agent may know names of its own (`npm:…`). */
export const isPath = (name: string): boolean => /^\.{0,2}\//.test(name);

const pathOf = (name: string, base: string): string => (isPath(name) ? resolve(base, name) : name);

function promptOf({ append, replace }: NonNullable<AgentInput['systemPrompt']>): AgentSettings['systemPrompt'] & {} {
  return append === undefined ? { replace: replace ?? '' } : { append };
}

function toolsOf(tools: NonNullable<AgentInput['tools']>): AgentSettings['tools'] & {} {
  const { only, required } = Array.isArray(tools) ? { only: tools } : tools;
  return {
    ...(only === undefined ? {} : { only: [...only] }),
    ...(required === undefined ? {} : { required: [...required] }),
  };
}

function serversOf(mcp: NonNullable<AgentInput['mcp']>): Record<string, McpServer> {
  const servers = Object.entries(mcp).map(([name, { command, env = [], url }]): [string, McpServer] => [
    name,
    url === undefined ? { type: 'stdio', command: [...(command ?? [])], env: [...env] } : { type: 'http', url },
  ]);
  return Object.fromEntries(servers);
}

function inheritOf({ context, skills, extensions }: NonNullable<AgentInput['inherit']>): AgentSettings['inherit'] & {} {
  return {
    ...(context === undefined ? {} : { context }),
    ...(skills === undefined ? {} : { skills }),
    ...(extensions === undefined ? {} : { extensions }),
  };
}

function sessionOf(session: string): SessionUse {
  if (session === 'fresh' || session === 'fork') return { type: session };
  return { type: 'shared', name: session.slice('shared:'.length) };
}

function rung({ do: what, grace }: { do: StopRung['do']; grace?: string | number | undefined }): StopRung {
  return { do: what, graceMs: grace === undefined ? DEFAULT_GRACE_MS : millisecondsOf(grace) };
}
