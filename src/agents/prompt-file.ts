import { join } from 'node:path';
import type { Launch, LaunchRequest } from './adapter.ts';

/** The system prompt of a definition as a file of the attempt's own: in an argument others could read it. */
export interface PromptFile {
  how: 'append' | 'replace';
  path: string;
  files: NonNullable<Launch['files']>;
}

export function promptFile({
  settings: { systemPrompt },
  privateDir,
}: Pick<LaunchRequest, 'settings' | 'privateDir'>): PromptFile | null {
  if (systemPrompt === undefined) return null;
  const path = join(privateDir, 'system-prompt.md');
  const [how, text] =
    'append' in systemPrompt
      ? (['append', systemPrompt.append] as const)
      : (['replace', systemPrompt.replace] as const);
  return { how, path, files: [{ path, text }] };
}
