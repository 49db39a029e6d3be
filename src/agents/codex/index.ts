import type { AgentAdapter, AgentSettings, Launch, LaunchRequest } from '../adapter.ts';
import { createOneWaySession } from '../one-way.ts';
import { firstWordsAgain } from '../words.ts';
import { promptFile } from '../prompt-file.ts';
import { schemaFile } from './schema-file.ts';
import { execArguments, honours, serverArguments } from './arguments.ts';
import { ExecReader } from './exec.ts';
import { ServerSession } from './server.ts';

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
  modes: [
    { name: 'app-server', honours: honours['app-server'] },
    { name: 'exec', honours: honours.exec },
  ],
  program: 'codex',
  launch,
  open(request) {
    if (modeOf(request.settings) === 'app-server') return new ServerSession(request);
    return createOneWaySession(request, (out) => new ExecReader(out, request));
  },
};

function modeOf(settings: AgentSettings): CodexMode {
  return settings.mode === 'exec' ? 'exec' : 'app-server';
}

function launch(request: LaunchRequest): Launch {
  const { cwd, env, settings } = request;
  const mode = modeOf(settings);
  const command = settings.command ?? ['codex'];
  const common = { shell: false, cwd, env };
  if (mode === 'exec') {
    const files = [...(promptFile(request)?.files ?? []), ...(schemaFile(request)?.files ?? [])];
    return {
      ...common,
      argv: [...command, ...execArguments(request)],
      ...(files.length === 0 ? {} : { files }),
      stdin: { type: 'text', text: firstWordsAgain(request) },
      exit: 'own',
    };
  }
  return {
    ...common,
    argv: [...command, ...serverArguments(request)],
    stdin: { type: 'protocol' },
    exit: 'asked',
  };
}
