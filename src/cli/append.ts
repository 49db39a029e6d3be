import { text as readAll } from 'node:stream/consumers';
import { append as sendAppend } from '../client.ts';
import { EXIT } from './codes.ts';
import { type CommandingOptions, VERDICT_MS, command } from './commanding.ts';
import { type Io, fail } from './io.ts';
import { count } from './words.ts';

export async function append(run: string, file: string, options: CommandingOptions, io: Io): Promise<number> {
  const { parseSteps, readSteps } = await import('../index.ts');
  const read = file === '-' ? parseSteps(await readAll(process.stdin)) : await readSteps(file);
  if (read.type === 'bad') {
    const place = read.line === null ? file : `${file}:${read.line}`;
    return fail(io, EXIT.usage, `${place}: ${read.message}`);
  }
  const { steps } = read;
  return command(
    { name: 'the append', done: () => `${count(steps.length, 'step')} appended to ${run}`, waitMs: VERDICT_MS },
    options,
    io,
    (sending) => sendAppend(run, steps, sending),
  );
}
