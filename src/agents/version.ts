import { execFile } from 'node:child_process';
import { lastLine } from './text.ts';

/** Real agents need up to about ten seconds to start when several do at once. */
const TIMEOUT_MS = 20_000;

/**
 * What `<command> --version` says in one line, or null when it fails, says nothing, or takes too long (20 s).
 * The process has ended when this resolves, except that it could leave children of its own.
 */
export async function readVersion(
  command: readonly string[],
  env: NodeJS.ProcessEnv,
  { signal, timeoutMs = TIMEOUT_MS }: { signal?: AbortSignal; timeoutMs?: number } = {},
): Promise<string | null> {
  const [program, ...args] = command;
  if (program === undefined) return null;
  return new Promise((resolve) => {
    const options = {
      env,
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: 64 * 1024,
      ...(signal === undefined ? {} : { signal }),
    } as const;
    const child = execFile(program, [...args, '--version'], options, (error, stdout, stderr) => {
      const said = lastLine(stdout) || lastLine(stderr);
      resolve(error === null && said !== '' ? said : null);
    });
    child.stdin?.end();
  });
}
