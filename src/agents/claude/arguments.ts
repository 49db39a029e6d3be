import { join } from 'node:path';
import type { Launch, LaunchRequest } from '../adapter.ts';
import { type Honours, NOTHING } from '../honours.ts';
import { readModelName } from '../model.ts';
import { promptFile } from '../prompt-file.ts';
import type { AgentSettings, McpServer } from '../settings.ts';
import { thinkingOf } from '../thinking.ts';

export const honours: Honours = {
  ...NOTHING,
  model: true,
  thinking: ['low', 'medium', 'high', 'xhigh', 'max'],
  systemPrompt: ['append', 'replace'],
  tools: ['only', 'required'],
  extensions: true,
  mcp: ['stdio', 'http'],
  inherit: ['context', 'skills'],
  permissions: { each: ['allow', 'deny', 'ask'], others: ['allow', 'deny', 'ask'] },
};

/** What a definition and a model come to on its command line, and the files that it names. */
export function definedArguments(request: LaunchRequest): { argv: string[]; files: NonNullable<Launch['files']> } {
  const { settings, model, privateDir, output } = request;
  const { tools, extensions = [], inherit = {}, mcp } = settings;
  const prompt = promptFile(request);
  const servers = mcp === undefined ? null : { path: join(privateDir, 'mcp.json'), text: serversFile(mcp) };
  return {
    argv: [
      ...(model === null ? [] : ['--model', modelId(model)]),
      ...(output === undefined ? [] : ['--json-schema', JSON.stringify(output.schema)]),
      ...effortArguments(thinkingOf(request)),
      ...(prompt === null
        ? []
        : [prompt.how === 'append' ? '--append-system-prompt-file' : '--system-prompt-file', prompt.path]),
      // With "=": what follows must not be taken for another tool.
      // It is about the built-in ones; of servers then those of the definition are left.
      ...(tools?.only === undefined ? [] : [`--tools=${tools.only.join(',')}`, '--strict-mcp-config']),
      ...extensions.flatMap((path) => ['--plugin-dir', path]),
      ...(servers === null ? [] : [`--mcp-config=${servers.path}`]),
      ...(inherit.skills === false ? ['--disable-slash-commands'] : []),
      ...permissionArguments(settings),
    ],
    files: [...(prompt?.files ?? []), ...(servers === null ? [] : [servers])],
  };
}

/** The provider is one of its environment (Anthropic, Bedrock, Vertex); the id alone is its argument. */
function modelId(model: string): string {
  const { provider, id } = readModelName(model);
  return provider === null || provider === 'anthropic' ? id : `${provider}/${id}`;
}

/** It cannot be kept from thinking, and has nothing below "low". */
function effortArguments(thinking: string | null): string[] {
  if (thinking === null || thinking === 'off') return [];
  return ['--effort', thinking === 'minimal' ? 'low' : thinking];
}

/** Values of variables stay out of the file: it fills them in by itself. */
function serversFile(mcp: Record<string, McpServer>): string {
  const servers = Object.entries(mcp).map(([name, server]) => [name, serverOf(server)]);
  return `${JSON.stringify({ mcpServers: Object.fromEntries(servers) })}\n`;
}

function serverOf(server: McpServer): object {
  if (server.type === 'http') return { type: 'http', url: server.url };
  const [command = '', ...args] = server.command;
  const env = Object.fromEntries(server.env.map((name) => [name, `\${${name}:-}`]));
  return { type: 'stdio', command, args, env };
}

/** A tool that is denied is taken away from it, whatever the mode. */
function permissionArguments({ permissions }: AgentSettings): string[] {
  // Who says nothing wants the task done: files of the working directory may be changed, and no command is run that could
  // reach further. What is refused is told.
  if (permissions === undefined) return ['--permission-mode', 'acceptEdits'];
  const asks = Object.values(permissions).includes('ask');
  const named = (answer: string): string =>
    Object.keys(permissions)
      .filter((tool) => tool !== '*' && permissions[tool] === answer)
      .join(',');
  const [allowed, denied] = [named('allow'), named('deny')];
  return [
    // Whoever asks for nothing would not ask for these either.
    ...(permissions['*'] === 'allow' && !asks ? ['--permission-mode', 'bypassPermissions'] : []),
    ...(asks ? ['--permission-prompt-tool', 'stdio'] : []),
    ...(allowed === '' ? [] : [`--allowedTools=${allowed}`]),
    ...(denied === '' ? [] : [`--disallowedTools=${denied}`]),
  ];
}
