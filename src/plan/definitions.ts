import { adapterIds, definitionRefusals } from '../agents/index.ts';
import { agentDefinition } from './agentSchema.ts';
import { isPath, settingsOf } from './agentSettings.ts';
import type { FolderState } from './folders.ts';
import { asRecord, asText, valueAt } from './path.ts';
import { didYouMean } from './suggest.ts';
import type { Finding, Path } from './types.ts';

/** Name of the built-in agent of `run` steps, and of its adapter. */
export const COMMAND = 'command';

export interface DefinitionOptions {
  /** Adapters that may be named; default: all there are. */
  adapters?: readonly string[];
  /** The folder that its paths are relative to. */
  cwd: string;
  look: (path: string) => FolderState;
}

/**
 * What is wrong with the definition of an agent at `agents.<name>` of a file, apart from its shape: what nobody could do
 * as it is written. A definition of the wrong shape is not looked into; the schema has said that already.
 */
export function checkDefinition(root: unknown, name: string, options: DefinitionOptions): Finding[] {
  const path: Path = ['agents', name];
  if (name === COMMAND) {
    const message = `"${COMMAND}" is the agent of run steps: give yours another name`;
    return [{ path, at: 'key', code: 'bad-value', message }];
  }
  const value = valueAt(root, path);
  const adapter = asText(asRecord(value)?.['adapter']);
  const adapters = options.adapters ?? adapterIds();
  if (adapter !== null && !adapters.includes(adapter)) {
    const message = `there is no adapter "${adapter}".${didYouMean(adapter, adapters)} Known: ${adapters.join(', ')}.`;
    return [{ path: [...path, 'adapter'], code: 'unknown-adapter', message }];
  }
  const shaped = agentDefinition.safeParse(value);
  if (!shaped.success) return [];
  const settings = settingsOf(name, shaped.data, options.cwd);
  return [
    ...definitionRefusals(settings).map((refusal): Finding => ({
      path: [...path, ...refusal.path],
      code: 'not-honoured',
      message: refusal.message,
    })),
    ...(['extensions', 'skills'] as const).flatMap((field) =>
      missing(settings[field] ?? [], [...path, field], options),
    ),
  ];
}

/** Agents pass over what they do not find. */
function missing(names: readonly string[], path: Path, { look }: DefinitionOptions): Finding[] {
  return names.flatMap((name, index): Finding[] => {
    if (!isPath(name) || look(name) !== 'missing') return [];
    return [{ path: [...path, index], code: 'bad-value', message: `there is nothing at ${name}: correct the path` }];
  });
}
