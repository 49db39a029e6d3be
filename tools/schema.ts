/** Writes schema/*.json: the published JSON Schemas of every file that people and programs read or write. */
import { mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { hostJsonSchemas } from '../src/host/index.ts';
import { mailboxJsonSchemas } from '../src/mailbox/index.ts';
import { configJsonSchema, planJsonSchema } from '../src/plan/index.ts';
import { jsonSchemas } from '../src/record/index.ts';

const folder = 'schema';

export function schemaFiles(): Map<string, string> {
  const schemas = {
    plan: planJsonSchema(),
    config: configJsonSchema(),
    ...jsonSchemas(),
    ...hostJsonSchemas(),
    ...mailboxJsonSchemas(),
  };
  return new Map(
    Object.entries(schemas).map(([name, schema]) => [`${name}.json`, `${JSON.stringify(schema, null, 2)}\n`]),
  );
}

if (process.argv[1]?.endsWith('schema.js') === true) {
  const files = schemaFiles();
  mkdirSync(folder, { recursive: true });
  for (const name of readdirSync(folder)) if (!files.has(name)) rmSync(join(folder, name));
  for (const [name, text] of files) writeFileSync(join(folder, name), text);
}
