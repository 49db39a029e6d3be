import { join } from 'node:path';
import type { AgentAdapter, AgentSettings, AgentUse, Launch, LaunchRequest } from '../adapter.ts';
import { readModelName } from '../model.ts';
import { sessionOf } from './session-name.ts';
import { ClaudeSession } from './session.ts';

/**
 * Claude Code by its stream-json (its records of version 2.1), two-way: the task and every message come on stdin and are
 * repeated on stdout when they are taken; it exits when its stdin is closed. The task is never an argument.
 *
 * Where its key comes from the environment it gets a configuration folder of its own, so no hooks, plugins or settings of the
 * user's. Else the user's folder is used, because the login is there. What a project holds (CLAUDE.md, settings) is in force.
 */
export const claudeAdapter: AgentAdapter = {
  id: 'claude',
  capabilities: {
    steerLive: true,
    followUp: 'native',
    abort: 'protocol',
    resume: true,
    mailbox: 'none',
    chooseSessionId: true,
    structured: 'schema',
    partialText: false,
    cost: true,
    emptyOutput: 'failure',
  },
  // An interrupt ends the running tool; SIGTERM ends only Claude Code, and what it leaves has to be looked for.
  stopLadder: [
    { do: 'abort', graceMs: 2000 },
    { do: 'SIGTERM', graceMs: 3000 },
    { do: 'SIGKILL', graceMs: 1000 },
  ],
  refuse,
  launch,
  open: (request) => new ClaudeSession(request),
};

function refuse({ name, mode, task, permissions = {} }: AgentSettings, use: AgentUse): string | null {
  if (use === 'run') return `agent "${name}": Claude Code takes a task and runs no command`;
  if (task !== undefined) return `agent "${name}": Claude Code is told its task by its own protocol; leave out "task"`;
  if (mode !== undefined) return `agent "${name}": the claude adapter has no modes`;
  const asks = Object.entries(permissions).find(([, answer]) => answer === 'ask');
  if (asks !== undefined) {
    return `agent "${name}": the claude adapter cannot ask anybody for a permission ("${asks[0]}"); say allow or deny`;
  }
  if (permissions['*'] === 'allow' && Object.values(permissions).includes('deny')) {
    return `agent "${name}": with "*: allow" Claude Code asks for nothing, and what is denied would be allowed`;
  }
  return null;
}

function launch(request: LaunchRequest): Launch {
  const { settings, model, resume, cwd, env, sessionDir } = request;
  const { folder, id } = sessionOf(request);
  const own = folder === null ? null : join(sessionDir, folder);
  return {
    argv: [
      ...(settings.command ?? ['claude']),
      '-p',
      '--input-format',
      'stream-json',
      '--output-format',
      'stream-json',
      '--verbose',
      '--replay-user-messages',
      ...(resume === null ? ['--session-id', id] : ['--resume', id]),
      ...(model === null ? [] : modelArguments(model)),
      ...permissionArguments(settings),
      ...(settings.args ?? []),
    ],
    shell: false,
    cwd,
    env: environment(env, own),
    ...(own === null ? {} : { folders: [own] }),
    stdin: { type: 'protocol' },
    exit: 'asked',
  };
}

/** The provider is one of its environment (Anthropic, Bedrock, Vertex); the id alone is its argument. */
function modelArguments(model: string): string[] {
  const { provider, id, thinking } = readModelName(model);
  const effort = thinking === null || thinking === 'off' ? null : thinking === 'minimal' ? 'low' : thinking;
  return [
    '--model',
    provider === null || provider === 'anthropic' ? id : `${provider}/${id}`,
    ...(effort === null ? [] : ['--effort', effort]),
  ];
}

function permissionArguments({ permissions }: AgentSettings): string[] {
  // Who says nothing wants the task done: files of the working directory may be changed, and no command is run that could
  // reach further. What is refused is told.
  if (permissions === undefined) return ['--permission-mode', 'acceptEdits'];
  if (permissions['*'] === 'allow') return ['--permission-mode', 'bypassPermissions'];
  const named = (answer: string): string =>
    Object.keys(permissions)
      .filter((tool) => tool !== '*' && permissions[tool] === answer)
      .join(',');
  const [allowed, denied] = [named('allow'), named('deny')];
  // With "=": what follows must not be taken for another tool.
  return [
    ...(allowed === '' ? [] : [`--allowedTools=${allowed}`]),
    ...(denied === '' ? [] : [`--disallowedTools=${denied}`]),
  ];
}

/** What would make it take itself for a part of the Claude Code that this runner may have been started by. */
const OF_THE_PARENT: ReadonlySet<string> = new Set(['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT', 'CLAUDE_CODE_SSE_PORT']);

function environment(given: Record<string, string>, config: string | null): Record<string, string> {
  const env = Object.fromEntries(Object.entries(given).filter(([name]) => !OF_THE_PARENT.has(name)));
  return {
    // By itself it tries ten times, which are minutes, and a wrong key too.
    CLAUDE_CODE_MAX_RETRIES: '2',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_AUTOUPDATER: '1',
    ...env,
    ...(config === null ? {} : { CLAUDE_CONFIG_DIR: config }),
  };
}
