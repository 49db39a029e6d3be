import type { LaunchRequest } from '../adapter.ts';
import { type Honours, NOTHING } from '../honours.ts';
import { readModelName } from '../model.ts';
import { promptFile } from '../prompt-file.ts';
import type { AgentSettings } from '../settings.ts';
import { thinkingOf } from '../thinking.ts';
import { schemaFile } from './schema-file.ts';
import { readThreadName } from './thread-name.ts';

const common: Honours = {
  ...NOTHING,
  model: true,
  thinking: ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'],
  mcp: ['stdio', 'http'],
  inherit: ['context'],
  permissions: { each: [], others: ['allow'] },
};

export const honours = {
  'app-server': {
    ...common,
    systemPrompt: ['append', 'replace'],
    permissions: { each: ['allow', 'deny', 'ask'], others: ['allow', 'deny', 'ask'] },
  },
  // What it appends is an argument there, which others can read.
  exec: { ...common, systemPrompt: ['replace'] },
} as const satisfies Record<string, Honours>;

/** Of the server: what is of a thread goes by the protocol. */
export function serverArguments(request: LaunchRequest): string[] {
  const { settings } = request;
  return ['app-server', ...definedArguments(request), ...(settings.args ?? [])];
}

export function execArguments(request: LaunchRequest): string[] {
  const { settings, model, resume } = request;
  const { provider = null, id = null } = model === null ? {} : readModelName(model);
  const thinking = thinkingOf(request);
  const prompt = promptFile(request);
  const schema = schemaFile(request);
  return [
    'exec',
    '--json',
    '--skip-git-repo-check',
    ...(schema === null ? [] : ['--output-schema', schema.path]),
    ...(id === null ? [] : ['-m', id]),
    ...(provider === null ? [] : setting('model_provider', provider)),
    ...(thinking === null ? [] : setting('model_reasoning_effort', effortOf(thinking))),
    ...(prompt === null ? [] : setting('model_instructions_file', prompt.path)),
    ...definedArguments(request),
    ...(settings.args ?? []),
    ...(resume === null ? [] : ['resume', readThreadName(resume.session).id]),
    // The task is what stdin holds.
    '-',
  ];
}

/** It has no "off" and no "max". */
export const effortOf = (thinking: string): string =>
  thinking === 'off' ? 'none' : thinking === 'max' ? 'xhigh' : thinking;

/** Of its configuration, for this launch alone; `args` come after them and win. */
function definedArguments({ settings, model }: LaunchRequest): string[] {
  const { mcp = {}, inherit = {} } = settings;
  const { provider = null } = model === null ? {} : readModelName(model);
  return [
    ...sandbox(settings),
    ...(provider === null ? [] : fewTries(provider)),
    ...(inherit.context === false ? setting('project_doc_max_bytes', 0) : []),
    ...Object.entries(mcp).flatMap(([name, server]) => {
      const key = `mcp_servers.${name}`;
      if (server.type === 'http') return setting(`${key}.url`, server.url);
      const [command = '', ...args] = server.command;
      return [
        ...setting(`${key}.command`, command),
        ...setting(`${key}.args`, args),
        ...(server.env.length === 0 ? [] : setting(`${key}.env_vars`, server.env)),
      ];
    }),
  ];
}

/**
 * Who says nothing wants the task done: it may write in its working directory and the temporary ones, without a network, and
 * what its sandbox does not let it do it is told at once. Where single permissions are given, it asks about every change.
 */
function sandbox({ permissions }: AgentSettings): string[] {
  if (permissions === undefined) return policy('never', 'workspace-write');
  const said = Object.values(permissions);
  if (said.length === 0) return policy('never', null);
  if (permissions['*'] === 'allow' && said.every((answer) => answer === 'allow')) {
    return policy('never', 'danger-full-access');
  }
  return policy('on-request', 'read-only');
}

function policy(
  asks: 'never' | 'on-request',
  mode: 'read-only' | 'workspace-write' | 'danger-full-access' | null,
): string[] {
  return [...setting('approval_policy', asks), ...(mode === null ? [] : setting('sandbox_mode', mode))];
}

/** It takes no settings for those it comes with. */
const BUILT_IN: ReadonlySet<string> = new Set(['openai', 'amazon-bedrock', 'ollama', 'ollama-chat', 'lmstudio', 'oss']);

/** Which provider is used when the model does not say is for its own configuration; then this is as well. */
function fewTries(provider: string): string[] {
  // A dot or a quote would name another setting.
  if (BUILT_IN.has(provider) || !/^[\w-]+$/.test(provider)) return [];
  return ['request_max_retries', 'stream_max_retries'].flatMap((limit) =>
    setting(`model_providers.${provider}.${limit}`, TRIES),
  );
}

/** As often as Claude Code tries again. */
const TRIES = 2;

/** Numbers, texts and lists of texts are the same in JSON and in TOML. */
const setting = (key: string, value: string | number | string[]): string[] => ['-c', `${key}=${JSON.stringify(value)}`];
