import type { AgentAdapter, AgentSettings, AgentUse, Launch, LaunchRequest } from '../adapter.ts';
import { AcpSession } from './session.ts';

/**
 * Any agent of the Agent Client Protocol, version 1, on stdio: a line of JSON-RPC each. Its definition says how it is
 * started. It is offered no file system and no terminal of ours, so it works with its own; a tool it asks about is
 * allowed or denied by `permissions`.
 */
export const acpAdapter: AgentAdapter = {
  id: 'acp',
  capabilities: {
    // A second prompt means something else to each agent: one drops the first for it, another joins the two.
    steerLive: false,
    followUp: 'none',
    abort: 'protocol',
    resume: true,
    mailbox: 'none',
    chooseSessionId: false,
    structured: 'none',
    partialText: true,
    cost: true,
    emptyOutput: 'failure',
  },
  stopLadder: [
    { do: 'abort', graceMs: 2000 },
    { do: 'close-stdin', graceMs: 1000 },
    { do: 'SIGTERM', graceMs: 3000 },
    { do: 'SIGKILL', graceMs: 1000 },
  ],
  refuse,
  launch,
  open: (request) => new AcpSession(request),
};

function refuse({ name, command, mode, task, permissions = {} }: AgentSettings, use: AgentUse): string | null {
  if (use === 'run') return `agent "${name}": an ACP agent takes a task and runs no command`;
  if ((command ?? []).length === 0) {
    return `agent "${name}": the acp adapter needs a "command" that speaks the protocol, for example [gemini, --acp]`;
  }
  if (task !== undefined) {
    return `agent "${name}": an ACP agent is told its task by its protocol; leave out "task"`;
  }
  if (mode !== undefined) return `agent "${name}": the acp adapter has no modes`;
  const asks = Object.keys(permissions).find((tool) => permissions[tool] === 'ask');
  if (asks !== undefined) {
    return `agent "${name}": the acp adapter cannot ask about "${asks}" yet; say allow or deny`;
  }
  return null;
}

function launch({ settings, cwd, env }: LaunchRequest): Launch {
  return {
    argv: [...(settings.command ?? []), ...(settings.args ?? [])],
    shell: false,
    cwd,
    env,
    stdin: { type: 'protocol' },
    exit: 'asked',
  };
}
