import { answer as sendAnswer } from '../client.ts';
import { EXIT } from './codes.ts';
import { type CommandingOptions, VERDICT_MS, command, textOf } from './commanding.ts';
import { type Io, fail } from './io.ts';

export async function answer(
  run: string,
  ask: string,
  word: string,
  options: CommandingOptions,
  io: Io,
): Promise<number> {
  const text = await textOf(word);
  if (text.trim() === '') return fail(io, EXIT.usage, 'there is no answer');
  return command({ name: 'the answer', done: () => `answered ${ask}`, waitMs: VERDICT_MS }, options, io, (sending) =>
    sendAnswer(run, ask, text, sending),
  );
}
