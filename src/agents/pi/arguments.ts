import type { LaunchRequest } from '../adapter.ts';
import { type Honours, NOTHING } from '../honours.ts';
import { readModelName } from '../model.ts';
import { promptFile } from '../prompt-file.ts';
import { VALUE_TOOL } from './value-tool.ts';

/** In both modes: its command line is the same. */
export const honours: Honours = {
  ...NOTHING,
  model: true,
  thinking: ['off', 'minimal', 'low', 'medium', 'high', 'xhigh'],
  systemPrompt: ['append', 'replace'],
  tools: ['only'],
  extensions: true,
  skills: true,
  inherit: ['context', 'skills', 'extensions'],
  session: ['shared'],
};

/** Tools that our own extension brings: a list of the tools that an agent may have is not about them. */
const ownTools = ({ mailbox, output }: LaunchRequest): string[] => [
  ...(mailbox === null ? [] : ['contact_supervisor']),
  ...(output === undefined ? [] : [VALUE_TOOL]),
];

const UNINHERITED = { context: '--no-context-files', skills: '--no-skills', extensions: '--no-extensions' } as const;

/** What a definition and a model come to on its command line. `extension`: ours, where it is loaded. */
export function definedArguments(request: LaunchRequest, extension: string | null): string[] {
  const { settings, model } = request;
  const { thinking, tools, extensions = [], skills = [], inherit = {} } = settings;
  const prompt = promptFile(request);
  // A level in the model's name goes before that of the definition; pi would do the opposite.
  const level = model === null || readModelName(model).thinking === null ? thinking : undefined;
  return [
    ...[...(extension === null ? [] : [extension]), ...extensions].flatMap((path) => ['-e', path]),
    ...(model === null ? [] : ['--model', model]),
    ...(level === undefined ? [] : ['--thinking', level]),
    ...(prompt === null ? [] : [prompt.how === 'append' ? '--append-system-prompt' : '--system-prompt', prompt.path]),
    ...toolArguments(tools?.only, extension === null ? [] : ownTools(request)),
    ...skills.flatMap((path) => ['--skill', path]),
    ...(['context', 'skills', 'extensions'] as const).flatMap((what) =>
      inherit[what] === false ? [UNINHERITED[what]] : [],
    ),
  ];
}

function toolArguments(only: string[] | undefined, own: string[]): string[] {
  if (only === undefined) return [];
  const all = [...new Set([...only, ...own])];
  return all.length === 0 ? ['--no-tools'] : ['--tools', all.join(',')];
}
