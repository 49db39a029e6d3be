import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { performance } from 'node:perf_hooks';

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
  ms: number;
}

/** Runs a program to its end. Rejects when it cannot be started. */
export async function run(
  command: string,
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv; input?: string } = {},
): Promise<Ran> {
  const { cwd, env, input = '' } = options;
  const begun = performance.now();
  const child = spawn(command, args, { stdio: 'pipe', ...(cwd && { cwd }), ...(env && { env }) });
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  const closed = once(child, 'close');
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  return { code: child.exitCode, stdout, stderr, ms: performance.now() - begun };
}
