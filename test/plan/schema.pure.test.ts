import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { planJsonSchema } from '../../src/plan/index.ts';

const file = fileURLToPath(new URL('../../schema/plan.json', import.meta.url));

// `npx vitest run test/plan -u` writes it anew.
test('schema/plan.json is what the code says', async () => {
  expect(existsSync(file)).toBe(true);
  await expect(`${JSON.stringify(planJsonSchema(), null, 2)}\n`).toMatchFileSnapshot(file);
});

test('every field has a description', () => {
  const bare: string[] = [];
  const look = (schema: unknown, path: string): void => {
    if (typeof schema !== 'object' || schema === null) return;
    for (const [key, value] of Object.entries(schema)) {
      if (key === 'properties') {
        for (const [name, field] of Object.entries(value as Record<string, { description?: string; type?: string }>)) {
          if (field.description === undefined && field.type !== 'object') bare.push(`${path}.${name}`);
          look(field, `${path}.${name}`);
        }
      } else look(value, path);
    }
  };
  look(planJsonSchema(), 'plan');
  expect(bare).toEqual([]);
});
