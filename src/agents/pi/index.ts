import { fileURLToPath } from 'node:url';
import { mailboxEnvironment } from '../../mailbox/index.ts';
import type { AgentAdapter, AgentSettings, Launch, LaunchRequest } from '../adapter.ts';
import { firstWordsAgain } from '../words.ts';
import { promptFile } from '../prompt-file.ts';
import { definedArguments, honours } from './arguments.ts';
import { sessionFile } from './session-file.ts';
import { VALUE_TOOL_ENV, valueToolFile } from './value-tool.ts';
import type { PiMode } from './ending.ts';
import { PiSession } from './session.ts';

/**
 * pi, by its records of version 0.73 and version 1.
 *
 * `rpc` (the default) is two-way: the task is a `prompt` command, and pi exits when its stdin is closed.
 * `json` is one-shot: the task is the whole of stdin, and pi exits by itself. The task is never an argument.
 * The user's own configuration and extensions stay in force; sessions are kept in the run's directory.
 * With a mailbox, or where a value is asked for, our extension is loaded too: it lets the model ask and hand in the value, and
 * steers a one-way pi.
 */
export const piAdapter: AgentAdapter = {
  id: 'pi',
  capabilities: {
    steerLive: true,
    followUp: 'native',
    abort: 'protocol',
    resume: true,
    mailbox: 'expected',
    chooseSessionId: true,
    structured: 'tool',
    partialText: true,
    cost: true,
    emptyOutput: 'failure',
  },
  // Never SIGINT: it ends pi at once and leaves its running tool behind. In json mode there is no way to say
  // "abort"; the session answers `supported: false`, and the ladder goes on.
  stopLadder: [
    { do: 'abort', graceMs: 2000 },
    { do: 'SIGTERM', graceMs: 3000 },
    { do: 'SIGKILL', graceMs: 1000 },
  ],
  modes: [
    { name: 'rpc', honours },
    { name: 'json', honours },
  ],
  program: 'pi',
  sessionPath: sessionFile,
  launch,
  open: (request) => new PiSession(modeOf(request.settings), request),
};

function modeOf(settings: AgentSettings): PiMode {
  return settings.mode === 'json' ? 'json' : 'rpc';
}

// Beside this module, compiled or not.
const EXTENSION = fileURLToPath(new URL(`./extension${import.meta.url.slice(-3)}`, import.meta.url));

function launch(request: LaunchRequest): Launch {
  const { settings, cwd, mailbox, sessionDir } = request;
  const mode = modeOf(settings);
  const prompt = promptFile(request);
  const valueTool = valueToolFile(request);
  const files = [...(prompt?.files ?? []), ...(valueTool === null ? [] : [valueTool])];
  const argv = [
    ...(settings.command ?? ['pi']),
    '--mode',
    mode,
    // Without a message: what pi is to do comes on stdin.
    ...(mode === 'json' ? ['-p'] : []),
    '--session',
    sessionFile(request),
    ...definedArguments(request, mailbox === null && valueTool === null ? null : EXTENSION),
    ...(settings.args ?? []),
  ];
  return {
    argv,
    shell: false,
    cwd,
    env: { ...environment(request, mode), ...(valueTool === null ? {} : { [VALUE_TOOL_ENV]: valueTool.path }) },
    folders: [sessionDir],
    ...(files.length === 0 ? {} : { files }),
    stdin: mode === 'rpc' ? { type: 'protocol' } : { type: 'text', text: firstWordsAgain(request) },
    exit: mode === 'rpc' ? 'asked' : 'own',
  };
}

/** Two-way, messages come by the protocol: only its questions go through the mailbox. */
function environment({ env, mailbox }: LaunchRequest, mode: PiMode): Record<string, string> {
  const own = mailbox === null ? {} : mode === 'rpc' ? { ask: mailbox.ask } : mailbox;
  // No update checks and no telemetry from a child nobody sits in front of.
  return { ...mailboxEnvironment(env, own), PI_OFFLINE: '1', PI_TELEMETRY: '0' };
}
