import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { CoxswainError } from '../errors.ts';
import { type RunDir, addActive, claimOwner } from '../record/index.ts';
import { type OpenOptions, openRun } from './open.ts';
import { ownerOfThisProcess } from './run.ts';
import { resolveSource, type PlanSource } from './source.ts';
import { type StartOptions, createRun, definedOnly } from './start.ts';

export interface DetachedRun {
  id: string;
  directory: string;
  /** Process id of its runner. */
  pid: number;
}

/** What the runner tells its launcher, once. */
export type RunnerMessage = { type: 'ready' };

/** A node process starts in well under a second; on a busy machine give it time. */
const HANDSHAKE_MS = 30_000;
const STDERR_TAIL = 4_000;

/**
 * Starts a plan in a process of its own that outlives this one, and resolves when it runs. Its output is in the run
 * directory's `runner.log`.
 *
 * @throws CoxswainError as `start` does, and `runner-start` when the runner does not come up: the run has then ended
 * as failed, with that reason on record, and the message carries the end of what the runner wrote.
 */
export async function startDetached(
  source: PlanSource,
  options: Omit<StartOptions, 'signal'> = {},
): Promise<DetachedRun> {
  const plan = await resolveSource(source, options);
  const { dir, nest } = createRun(plan, options);
  const env = definedOnly(options.env ?? process.env);
  const outcome = await launchRunner(dir, env);
  if (outcome.type === 'ready') return { id: dir.id, directory: dir.path, pid: outcome.pid };
  await recordRefusal({ plan, dir, env, nest });
  const tail = tailOf(dir.runnerLog);
  const said = tail === '' ? 'it wrote nothing' : `it wrote:\n${tail}`;
  throw new CoxswainError(
    'runner-start',
    `the runner of ${dir.id} did not start (${outcome.why}); ${said}\n(${dir.runnerLog})`,
  );
}

type Launched = { type: 'ready'; pid: number } | { type: 'failed'; why: string };

function launchRunner(dir: RunDir, env: Record<string, string>): Promise<Launched> {
  const log = openSync(dir.runnerLog, 'a', 0o600);
  // A file, not a pipe: the runner goes on writing when we have gone. The channel carries one message.
  const runner = spawn(process.execPath, [fileURLToPath(new URL('./runner.js', import.meta.url)), dir.root, dir.id], {
    detached: true,
    stdio: ['ignore', log, log, 'ipc'],
    env,
    windowsHide: true,
  });
  closeSync(log);
  return new Promise((resolve) => {
    const settle = (launched: Launched): void => {
      clearTimeout(timer);
      runner.removeAllListeners();
      if (runner.connected) runner.disconnect();
      runner.unref();
      resolve(launched);
    };
    const timer = setTimeout(() => {
      runner.kill('SIGKILL');
      settle({ type: 'failed', why: `it said nothing in ${HANDSHAKE_MS / 1000} s` });
    }, HANDSHAKE_MS);
    runner.on('error', (error) => settle({ type: 'failed', why: error.message }));
    runner.on('exit', (code, signal) =>
      settle({ type: 'failed', why: `it ended with ${signal ?? `exit code ${code}`}` }),
    );
    runner.on('message', () => settle({ type: 'ready', pid: runner.pid ?? 0 }));
  });
}

/** Ends a run whose runner never came up; one that had claimed it has its own record of the end. */
async function recordRefusal(refused: Omit<OpenOptions, 'owner'>): Promise<void> {
  const { dir } = refused;
  const owner = ownerOfThisProcess();
  if (claimOwner(dir, 1, owner).type !== 'ok') return;
  addActive(dir);
  const { runtime } = openRun({ ...refused, owner });
  runtime.refuse({ type: 'failure', at: new Date().toISOString(), reason: 'runner-start' });
  await runtime.done;
}

function tailOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim().slice(-STDERR_TAIL);
  } catch {
    return '';
  }
}
