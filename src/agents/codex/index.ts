import type { AgentAdapter, AgentSettings, AgentUse, Launch, LaunchRequest } from '../adapter.ts';
import { readModelName } from '../model.ts';
import { createOneWaySession, wholeTask } from '../one-way.ts';
import { Outbox } from '../outbox.ts';
import { ExecReader } from './exec.ts';
import { effortOf } from './server-messages.ts';
import { ServerSession } from './server.ts';
import { readThreadName } from './thread-name.ts';

type CodexMode = 'app-server' | 'exec';

/**
 * Codex, by its records of version 0.171.
 *
 * `app-server` (the default) is two-way: JSON-RPC, by which the task, messages and an interrupt go to a thread; it ends when
 * its stdin is closed. `exec` is one-shot: the task is the whole of stdin. The task is never an argument.
 * Its configuration, its login and its sessions are the user's own, or those of `CODEX_HOME`.
 */
export const codexAdapter: AgentAdapter = {
  id: 'codex',
  capabilities: {
    steerLive: true,
    // Our session keeps them, and begins a turn with each.
    followUp: 'runner',
    abort: 'protocol',
    resume: true,
    mailbox: 'none',
    chooseSessionId: false,
    structured: 'schema',
    partialText: true,
    cost: false,
    emptyOutput: 'failure',
  },
  // In `exec` there is no way to say "abort"; SIGINT ends the running tool, which SIGTERM leaves behind.
  stopLadder: [
    { do: 'abort', graceMs: 2000 },
    { do: 'SIGINT', graceMs: 3000 },
    { do: 'SIGKILL', graceMs: 1000 },
  ],
  refuse,
  launch,
  open(request) {
    if (modeOf(request.settings) === 'app-server') return new ServerSession(request);
    const out = new Outbox(request.task);
    return createOneWaySession(request, out, new ExecReader(out, request));
  },
};

const MODES: readonly string[] = ['app-server', 'exec'] satisfies CodexMode[];

function refuse({ name, mode, task, permissions = {} }: AgentSettings, use: AgentUse): string | null {
  if (use === 'run') return `agent "${name}": Codex takes a task and runs no command`;
  if (task !== undefined) return `agent "${name}": Codex is told its task by its own protocol; leave out "task"`;
  if (mode !== undefined && !MODES.includes(mode)) {
    return `agent "${name}": Codex has no mode "${mode}"; there are: ${MODES.join(', ')}`;
  }
  const odd = Object.entries(permissions).find(([tool, answer]) => tool !== '*' || answer !== 'allow');
  if (odd !== undefined) {
    return (
      `agent "${name}": Codex can be told "*: allow" and no other permission; ` +
      `"${odd.join(': ')}" belongs into its own configuration (its sandbox)`
    );
  }
  return null;
}

function modeOf(settings: AgentSettings): CodexMode {
  return settings.mode === 'exec' ? 'exec' : 'app-server';
}

function launch(request: LaunchRequest): Launch {
  const { cwd, env, settings } = request;
  const mode = modeOf(settings);
  const command = settings.command ?? ['codex'];
  const common = { shell: false, cwd, env };
  if (mode === 'exec') {
    return {
      ...common,
      argv: [...command, ...execArguments(request)],
      stdin: { type: 'text', text: wholeTask(request) },
      exit: 'own',
    };
  }
  return {
    ...common,
    argv: [...command, 'app-server', ...settingsArguments(request), ...(settings.args ?? [])],
    stdin: { type: 'protocol' },
    exit: 'asked',
  };
}

function execArguments(request: LaunchRequest): string[] {
  const { settings, model, resume } = request;
  const { provider = null, id = null, thinking = null } = model === null ? {} : readModelName(model);
  return [
    'exec',
    '--json',
    '--skip-git-repo-check',
    ...(id === null ? [] : ['-m', id]),
    ...(provider === null ? [] : ['-c', `model_provider=${JSON.stringify(provider)}`]),
    ...(thinking === null ? [] : ['-c', `model_reasoning_effort=${JSON.stringify(effortOf(thinking))}`]),
    ...settingsArguments(request),
    ...(settings.args ?? []),
    ...(resume === null ? [] : ['resume', readThreadName(resume.session).id]),
    // The task is what stdin holds.
    '-',
  ];
}

/** Of its configuration, for this launch alone; `args` come after them and win. */
function settingsArguments({ settings, model }: LaunchRequest): string[] {
  const { provider = null } = model === null ? {} : readModelName(model);
  const written = [
    // Nobody is there to approve anything: what its sandbox does not let it do it is told at once.
    'approval_policy="never"',
    ...sandbox(settings),
    ...(provider === null ? [] : fewTries(provider)),
  ];
  return written.flatMap((setting) => ['-c', setting]);
}

/** Who says nothing wants the task done: it may write in its working directory and the temporary ones, without a network. */
function sandbox({ permissions }: AgentSettings): string[] {
  if (permissions === undefined) return ['sandbox_mode="workspace-write"'];
  return permissions['*'] === 'allow' ? ['sandbox_mode="danger-full-access"'] : [];
}

/** It takes no settings for those it comes with. */
const BUILT_IN: ReadonlySet<string> = new Set(['openai', 'amazon-bedrock', 'ollama', 'ollama-chat', 'lmstudio', 'oss']);

/** Which provider is used when the model does not say is for its own configuration; then this is as well. */
function fewTries(provider: string): string[] {
  // A dot or a quote would name another setting.
  if (BUILT_IN.has(provider) || !/^[\w-]+$/.test(provider)) return [];
  return ['request_max_retries', 'stream_max_retries'].map((limit) => `model_providers.${provider}.${limit}=${TRIES}`);
}

/** As often as Claude Code tries again. */
const TRIES = 2;
