import { type Out, createOut } from './out.ts';

/** What a verb may touch of the process around it. */
export interface Io {
  out: Out;
  err: Out;
  env: Readonly<Record<string, string | undefined>>;
}

export function processIo(): Io {
  return { out: createOut(process.stdout), err: createOut(process.stderr), env: process.env };
}

/** Says what went wrong, on one line, and gives back the exit code. */
export function fail(io: Io, code: number, message: string): number {
  io.err.line(`coxswain: ${message}`);
  return code;
}

/** A record as its file has it, for programs. */
export async function printJson(io: Io, value: unknown): Promise<void> {
  await io.out.write(`${JSON.stringify(value, null, 2)}\n`);
}
