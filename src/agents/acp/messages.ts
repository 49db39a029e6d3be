/**
 * What we say to an agent, checked against the types of the official SDK. Its types only: its connection reads and
 * writes streams by itself and answers later, where a session here is given bytes and answers at once.
 */
import type {
  CancelNotification,
  InitializeRequest,
  LoadSessionRequest,
  McpServer,
  NewSessionRequest,
  PromptRequest,
  RequestPermissionResponse,
  ResumeSessionRequest,
  SetSessionConfigOptionRequest,
} from '@agentclientprotocol/sdk';
import type { LaunchRequest } from '../adapter.ts';

export const VERSION = 1;

/** A request without its id, or a notification. */
export interface Message {
  method: string;
  params: object;
}

/** Nothing of ours is offered. */
export const initialize = (): Message => ({
  method: 'initialize',
  params: {
    protocolVersion: VERSION,
    clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
  } satisfies InitializeRequest,
});

export const newSession = (cwd: string, mcpServers: McpServer[]): Message => ({
  method: 'session/new',
  params: { cwd, mcpServers } satisfies NewSessionRequest,
});

/** The agent repeats the conversation; some do that after their answer. */
export const loadSession = (cwd: string, sessionId: string, mcpServers: McpServer[]): Message => ({
  method: 'session/load',
  params: { sessionId, cwd, mcpServers } satisfies LoadSessionRequest,
});

/** As `loadSession`, without the conversation. */
export const resumeSession = (cwd: string, sessionId: string, mcpServers: McpServer[]): Message => ({
  method: 'session/resume',
  params: { sessionId, cwd, mcpServers } satisfies ResumeSessionRequest,
});

/** Nobody knows it, so it is answered with an error: all that matters is when. */
export const ping = (): Message => ({ method: '_coxswain/ping', params: {} });

export const setOption = (sessionId: string, configId: string, value: string): Message => ({
  method: 'session/set_config_option',
  params: { sessionId, configId, value } satisfies SetSessionConfigOptionRequest,
});

/** Of before there were options, and still what some agents offer. */
export const setModel = (sessionId: string, modelId: string): Message => ({
  method: 'session/set_model',
  params: { sessionId, modelId },
});

export const prompt = (sessionId: string, text: string): Message => ({
  method: 'session/prompt',
  params: { sessionId, prompt: [{ type: 'text', text }] } satisfies PromptRequest,
});

export const cancel = (sessionId: string): Message => ({
  method: 'session/cancel',
  params: { sessionId } satisfies CancelNotification,
});

/** Null: the question is moot. */
export const permission = (optionId: string | null): object =>
  ({
    outcome: optionId === null ? { outcome: 'cancelled' } : { outcome: 'selected', optionId },
  }) satisfies RequestPermissionResponse;

export const METHOD_NOT_FOUND = -32_601;
export const AUTH_REQUIRED = -32_000;

/** Started by the agent, with the values of the variables that the definition names; or at an address. */
export function serversOf({ settings, env }: Pick<LaunchRequest, 'settings' | 'env'>): McpServer[] {
  return Object.entries(settings.mcp ?? {}).map(([name, server]): McpServer => {
    if (server.type === 'http') return { type: 'http', name, url: server.url, headers: [] };
    const [command = '', ...args] = server.command;
    const values = server.env.map((variable) => ({ name: variable, value: env[variable] ?? '' }));
    return { name, command, args, env: values };
  });
}
