import { expect, test } from 'vitest';
import type { UndeliveredReason } from '../../machines/protocol.ts';
import { commandFileSchema, jsonSchemas, receiptSchema } from '../../src/record/index.ts';
import { namesIn, page, section, spansIn } from './markdown.ts';

const commands = page('docs/commands.md');

function lines(text: string): unknown[] {
  const each = text.trim().split('\n');
  return each.map((line) => JSON.parse(line) as unknown);
}

test('commands: every example is one, and every type has one', () => {
  const [files = '', receipts = ''] = commands.blocks.filter(({ lang }) => lang === 'json').map(({ text }) => text);
  const types = lines(files).map((line) => commandFileSchema.parse(line).type);
  expect(types.toSorted()).toEqual(commandFileSchema.options.map(({ shape }) => shape.type.value).toSorted());
  for (const line of lines(receipts)) expect(receiptSchema.parse(line)).toEqual(line);
});

test('commands: every field, verdict and reason', () => {
  const schemas = jsonSchemas()['command'] as { oneOf: { properties: object }[] };
  const fields = new Set(schemas.oneOf.flatMap(({ properties }) => Object.keys(properties)));
  expect(namesIn(section(commands, 'The file'), 'field')).toEqual([...fields].toSorted());
  expect(namesIn(section(commands, 'The receipt'), '`verdict`')).toEqual(
    receiptSchema.shape.verdict.options.toSorted(),
  );
  const reasons: Record<UndeliveredReason, true> = {
    unsupported: true,
    expired: true,
    conflict: true,
    aborted: true,
    unconfirmed: true,
    'step-ended': true,
    'run-ended': true,
    'inbox-full': true,
    failed: true,
  };
  expect(spansIn(section(commands, 'The receipt'))).toEqual(expect.arrayContaining(Object.keys(reasons)));
});
