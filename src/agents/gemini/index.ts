import type { AgentAdapter, AgentSettings, AgentUse, Launch, LaunchRequest } from '../adapter.ts';
import { createOneWaySession, wholeTask } from '../one-way.ts';
import { Outbox } from '../outbox.ts';
import { GeminiReader } from './reader.ts';

/**
 * Gemini CLI by `--output-format stream-json` (its records of version 0.61). One-way: the task is the whole of stdin, and
 * a `result` record is the end. Its configuration, its sessions and what it trusts are the user's own.
 */
export const geminiAdapter: AgentAdapter = {
  id: 'gemini',
  capabilities: {
    steerLive: false,
    followUp: 'none',
    abort: 'signal',
    resume: true,
    mailbox: 'none',
    chooseSessionId: false,
    structured: 'none',
    partialText: true,
    cost: false,
    emptyOutput: 'failure',
  },
  // After either signal it exits with code 0, without a last record, and leaves its running tool behind.
  stopLadder: [
    { do: 'SIGTERM', graceMs: 3000 },
    { do: 'SIGKILL', graceMs: 1000 },
  ],
  refuse,
  launch,
  open(request) {
    const out = new Outbox(request.task);
    return createOneWaySession(request, out, new GeminiReader(out, request));
  },
};

function refuse({ name, mode, task, permissions = {} }: AgentSettings, use: AgentUse): string | null {
  if (use === 'run') return `agent "${name}": Gemini CLI takes a task and runs no command`;
  if (task !== undefined) return `agent "${name}": Gemini CLI is given its task on stdin; leave out "task"`;
  if (mode !== undefined)
    return `agent "${name}": the gemini adapter has no modes; "gemini --acp" is for the adapter acp`;
  const odd = Object.entries(permissions).find(([tool, answer]) => tool !== '*' || answer !== 'allow');
  if (odd !== undefined) {
    return `agent "${name}": Gemini CLI can be told "*: allow" and no other permission; "${odd.join(': ')}" belongs into its own policy`;
  }
  return null;
}

function launch(request: LaunchRequest): Launch {
  const { settings, model, resume, cwd, env } = request;
  return {
    argv: [
      ...(settings.command ?? ['gemini']),
      '--output-format',
      'stream-json',
      ...(settings.permissions?.['*'] === 'allow' ? ['--approval-mode', 'yolo'] : []),
      ...(model === null ? [] : ['--model', model]),
      ...(resume === null ? [] : ['--resume', resume.session]),
      ...(settings.args ?? []),
    ],
    shell: false,
    cwd,
    // A second process would go on when the first is killed.
    env: { ...env, GEMINI_CLI_NO_RELAUNCH: 'true' },
    stdin: { type: 'text', text: wholeTask(request) },
    exit: 'own',
  };
}
