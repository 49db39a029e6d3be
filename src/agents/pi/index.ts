import type { AgentAdapter, AgentSettings, AgentUse, Launch, LaunchRequest } from '../adapter.ts';
import { type PiMode, PiSession } from './session.ts';

/**
 * pi, by its records of version 0.73 and version 1.
 *
 * `rpc` (the default) is two-way: the task is a `prompt` command, and pi exits when its stdin is closed.
 * `json` is one-shot: the task is the whole of stdin, and pi exits by itself. The task is never an argument.
 * The user's own configuration and extensions stay in force; only sessions are not kept.
 */
export const piAdapter: AgentAdapter = {
  id: 'pi',
  capabilities: {
    steerLive: true,
    followUp: 'native',
    abort: 'protocol',
    resume: true,
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
  refuse,
  launch,
  open: ({ settings, task }) => new PiSession(modeOf(settings), task ?? ''),
};

const MODES: readonly string[] = ['rpc', 'json'] satisfies PiMode[];

function refuse(settings: AgentSettings, use: AgentUse): string | null {
  if (use === 'run') return `agent "${settings.name}": pi takes a task and runs no command`;
  if (settings.task !== undefined) {
    return `agent "${settings.name}": pi is told its task by its own protocol; leave out "task"`;
  }
  if (settings.mode !== undefined && !MODES.includes(settings.mode)) {
    return `agent "${settings.name}": pi has no mode "${settings.mode}"; there are: ${MODES.join(', ')}`;
  }
  return null;
}

function modeOf(settings: AgentSettings): PiMode {
  return settings.mode === 'json' ? 'json' : 'rpc';
}

function launch({ settings, task, model, env, cwd }: LaunchRequest): Launch {
  const mode = modeOf(settings);
  const argv = [
    ...(settings.command ?? ['pi']),
    '--mode',
    mode,
    // Without a message: what pi is to do comes on stdin.
    ...(mode === 'json' ? ['-p'] : []),
    '--no-session',
    ...(model === null ? [] : ['--model', model]),
    ...(settings.args ?? []),
  ];
  return {
    argv,
    shell: false,
    cwd,
    // No update checks and no telemetry from a child nobody sits in front of.
    env: { ...env, PI_OFFLINE: '1', PI_TELEMETRY: '0' },
    stdin: mode === 'rpc' ? { type: 'protocol' } : { type: 'text', text: task ?? '' },
    exit: mode === 'rpc' ? 'asked' : 'own',
  };
}
