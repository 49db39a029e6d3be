import type { AgentAdapter, Launch, LaunchRequest } from '../adapter.ts';
import { type Honours, NOTHING } from '../honours.ts';
import { AcpSession } from './session.ts';

const honours: Honours = {
  ...NOTHING,
  model: true,
  mcp: ['stdio', 'http'],
  permissions: { each: ['allow', 'deny', 'ask'], others: ['allow', 'deny', 'ask'] },
};

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
  modes: [{ name: null, honours }],
  program: null,
  launch,
  open: (request) => new AcpSession(request),
};

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
