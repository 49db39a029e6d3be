import { join } from 'node:path';
import type { Launch, LaunchRequest } from '../adapter.ts';

/** The schema that the last answer is held to, as `exec` takes it. */
export function schemaFile({
  output,
  privateDir,
}: Pick<LaunchRequest, 'output' | 'privateDir'>): { path: string; files: NonNullable<Launch['files']> } | null {
  if (output === undefined) return null;
  const path = join(privateDir, 'output-schema.json');
  return { path, files: [{ path, text: JSON.stringify(output.schema) }] };
}
