import { join } from 'node:path';
import type { AgentAdapter, Launch, LaunchRequest } from '../adapter.ts';
import { definedArguments, honours } from './arguments.ts';
import { sessionOf, sessionPath } from './session-name.ts';
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
    structured: 'tool',
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
  modes: [{ name: null, honours }],
  program: 'claude',
  sessionPath,
  launch,
  open: (request) => new ClaudeSession(request),
};

function launch(request: LaunchRequest): Launch {
  const { settings, resume, cwd, sessionDir } = request;
  const { folder, id } = sessionOf(request);
  const own = folder === null ? null : join(sessionDir, folder);
  const defined = definedArguments(request);
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
      ...defined.argv,
      ...(settings.args ?? []),
    ],
    shell: false,
    cwd,
    env: environment(request, own),
    ...(own === null ? {} : { folders: [own] }),
    ...(defined.files.length === 0 ? {} : { files: defined.files }),
    stdin: { type: 'protocol' },
    exit: 'asked',
  };
}

/** What would make it take itself for a part of the Claude Code that this runner may have been started by. */
const OF_THE_PARENT: ReadonlySet<string> = new Set(['CLAUDECODE', 'CLAUDE_CODE_ENTRYPOINT', 'CLAUDE_CODE_SSE_PORT']);

function environment({ env: given, settings }: LaunchRequest, config: string | null): Record<string, string> {
  const env = Object.fromEntries(Object.entries(given).filter(([name]) => !OF_THE_PARENT.has(name)));
  return {
    // By itself it tries ten times, which are minutes, and a wrong key too.
    CLAUDE_CODE_MAX_RETRIES: '2',
    CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
    DISABLE_TELEMETRY: '1',
    DISABLE_ERROR_REPORTING: '1',
    DISABLE_AUTOUPDATER: '1',
    ...env,
    ...(settings.inherit?.context === false ? { CLAUDE_CODE_DISABLE_CLAUDE_MDS: '1' } : {}),
    ...(config === null ? {} : { CLAUDE_CONFIG_DIR: config }),
  };
}
