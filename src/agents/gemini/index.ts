import type { AgentAdapter, Launch, LaunchRequest } from '../adapter.ts';
import { type Honours, NOTHING } from '../honours.ts';
import { createOneWaySession } from '../one-way.ts';
import { firstWordsAgain } from '../words.ts';
import { promptFile } from '../prompt-file.ts';
import { GeminiReader } from './reader.ts';

const honours: Honours = {
  ...NOTHING,
  model: true,
  systemPrompt: ['replace'],
  permissions: { each: [], others: ['allow'] },
};

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
  modes: [{ name: null, honours }],
  program: 'gemini',
  launch,
  open: (request) => createOneWaySession(request, (out) => new GeminiReader(out, request)),
};

function launch(request: LaunchRequest): Launch {
  const { settings, model, resume, cwd, env } = request;
  const prompt = promptFile(request);
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
    env: {
      ...env,
      GEMINI_CLI_NO_RELAUNCH: 'true',
      ...(prompt === null ? {} : { GEMINI_SYSTEM_MD: prompt.path }),
    },
    ...(prompt === null ? {} : { files: prompt.files }),
    stdin: { type: 'text', text: firstWordsAgain(request) },
    exit: 'own',
  };
}
