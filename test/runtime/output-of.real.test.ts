import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { AttemptInput } from '../../machines/protocol.ts';
import { createAttemptDir, createRawLog, sha256 } from '../../src/record/index.ts';
import { outputOf } from '../../src/runtime/output-of.ts';
import { makeKit } from '../support/kit.ts';

/** An agent whose answer was longer than what is held of it. */
function longAnswer(plain: boolean) {
  const kit = makeKit({ version: 1, steps: [{ id: 'a', run: ['true'] }] });
  onTestFinished(() => kit.dispose());
  const made = createAttemptDir(kit.dir, 'a', 1);
  if (made.type === 'trouble') throw new Error(made.message);
  const stdout = createRawLog(made.paths.stdout);
  stdout.write(Buffer.from('{"a":"record"}\n'));
  stdout.close();
  const text = 'the beginning '.repeat(50_000);
  const said = { type: 'final', text, stop: 'stop', truncated: true } as const;
  const input = { step: 'a', n: 1 } as AttemptInput;
  return { kit, text, output: outputOf(said, '', { kit, input, paths: made.paths, stdout, plain }) };
}

test('of an answer that came in records and was too long the beginning is the output, not the records', () => {
  const { kit, text, output } = longAnswer(false);
  expect(output).toMatchObject({ state: 'present', truncated: true });
  const reference = output.output as { path: string; bytes: number; sha256: string };
  expect(readFileSync(join(kit.dir.path, reference.path), 'utf8')).toBe(text);
  expect(reference).toMatchObject({ bytes: text.length, sha256: sha256(text) });
});

test('what a plain program printed lies in its stdout as a whole', () => {
  const { output } = longAnswer(true);
  expect(output).toMatchObject({ state: 'present', truncated: false, output: { bytes: 15 } });
});
