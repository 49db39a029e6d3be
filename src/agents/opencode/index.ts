import type { AgentAdapter, Launch, LaunchRequest } from '../adapter.ts';
import { type Honours, NOTHING } from '../honours.ts';
import { createOneWaySession } from '../one-way.ts';
import { firstWordsAgain } from '../words.ts';
import { OpencodeReader } from './reader.ts';

const honours: Honours = {
  ...NOTHING,
  model: true,
  thinking: ['minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
};

/**
 * OpenCode by `run --format json` (its records of version 1.18). One-way: the task is the whole of stdin, and nothing
 * but the exit tells the end. Its configuration and its store of sessions are the user's own.
 */
export const opencodeAdapter: AgentAdapter = {
  id: 'opencode',
  capabilities: {
    steerLive: false,
    followUp: 'none',
    abort: 'signal',
    resume: true,
    mailbox: 'none',
    chooseSessionId: false,
    structured: 'none',
    partialText: false,
    cost: true,
    emptyOutput: 'failure',
  },
  // Any signal ends it at once and leaves its running tool behind, for the search to find.
  stopLadder: [
    { do: 'SIGTERM', graceMs: 3000 },
    { do: 'SIGKILL', graceMs: 1000 },
  ],
  modes: [{ name: null, honours }],
  program: 'opencode',
  launch,
  open: (request) => createOneWaySession(request, (out) => new OpencodeReader(out, request)),
};

function launch(request: LaunchRequest): Launch {
  const { settings, model, resume, cwd, env } = request;
  const { id, variant: ofModel } = modelAndVariant(model ?? '');
  const variant = ofModel ?? settings.thinking ?? null;
  return {
    argv: [
      ...(settings.command ?? ['opencode']),
      'run',
      '--format',
      'json',
      ...(model === null ? [] : ['--model', id]),
      ...(variant === null ? [] : ['--variant', variant]),
      ...(resume === null ? [] : ['--session', resume.session]),
      ...(settings.args ?? []),
    ],
    shell: false,
    cwd,
    // A child nobody sits in front of replaces no program of the user.
    env: { ...env, OPENCODE_DISABLE_AUTOUPDATE: '1' },
    stdin: { type: 'text', text: firstWordsAgain(request) },
    exit: 'own',
  };
}

// A model's own name may have a colon in it, so only these are taken for a level of thinking.
const LEVELS = /^(.+):(none|off|minimal|low|medium|high|xhigh|max)$/;

/** `provider/id:high` is the model and its variant. */
function modelAndVariant(model: string): { id: string; variant: string | null } {
  const [, id = model, variant = null] = LEVELS.exec(model) ?? [];
  return { id, variant };
}
