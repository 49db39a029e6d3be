#!/usr/bin/env node
import { EXIT, exitCodeForError } from './codes.ts';
import { type Io, fail, processIo } from './io.ts';
import { parse } from './program.ts';
import { surviveHangUp } from './terminal.ts';
import { isCoxswainError } from '../client.ts';

surviveHangUp();
const io = processIo();
const code = await main(process.argv.slice(2), io);
await Promise.all([io.out.flush(), io.err.flush()]);
// Everything is on record; timers that a library leaves behind (chokidar: a second) are not waited for.
process.exit(code);

async function main(argv: string[], to: Io): Promise<number> {
  try {
    return await parse(argv, to);
  } catch (error) {
    if (!isCoxswainError(error)) return bug(to, error);
    // Mistakes in a file come with their places, which tools know how to read.
    if (error.code === 'plan-invalid' || error.code === 'config-invalid') to.err.line(error.message);
    else fail(to, 0, error.message);
    return exitCodeForError(error.code);
  }
}

function bug(to: Io, error: unknown): number {
  const what = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return fail(to, EXIT.failed, `this is a bug in coxswain: ${what}`);
}
