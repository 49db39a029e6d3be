import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Subject, readSubject } from '../../src/testing/index.ts';

/** Every data file here is a column of the table in docs/agents.md. */
export function subjects(): Subject[] {
  const folder = fileURLToPath(new URL('.', import.meta.url));
  const files = readdirSync(folder).filter((file) => file.endsWith('.json'));
  return files.toSorted().map((file) => readSubject(`${folder}${file}`));
}
