import { randomUUID } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * The last test of every run: nothing that the tests started is left (vitest `globalSetup`, Linux only).
 *
 * A mark in the environment goes from here to every worker and from there to every process, however it detached
 * itself. The mark is also the outermost token: a child whose environment was filtered has that at least.
 * What is found is named, ended, and fails the run.
 */

const RUN_ENV = 'COXSWAIN_TEST_RUN';
const TOKEN_ENV = 'COXSWAIN_TOKEN';
/** Workers close, and children of the last test are reaped, about now. */
const PATIENCE_MS = 3_000;
const POLL_MS = 50;

interface Survivor {
  pid: number;
  startTime: string;
  command: string;
}

/** Called once a project, in the main process, before its workers start. All projects of a run share one mark. */
export function setup(): () => Promise<void> {
  const { env } = process;
  // A mark of another process is that of a test run around this one, and its processes are not ours to end.
  const ours = `test-${process.pid}-`;
  // Runs that tests start are not below the run whose child may have started the tests.
  delete env['COXSWAIN_NEST'];
  const known = env[RUN_ENV];
  const mark = known?.startsWith(ours) === true ? known : ours + randomUUID();
  if (mark !== known) {
    const token = env[TOKEN_ENV] ?? '';
    env[RUN_ENV] = mark;
    env[TOKEN_ENV] = token === '' ? mark : `${token},${mark}`;
  }
  return () => expectNobody(mark);
}

async function expectNobody(mark: string): Promise<void> {
  if (process.platform !== 'linux') return;
  const deadline = performance.now() + PATIENCE_MS;
  let left = survivors(mark);
  while (left.length > 0 && performance.now() < deadline) {
    await sleep(POLL_MS);
    left = survivors(mark);
  }
  if (left.length === 0) return;
  for (const { pid, startTime } of left) {
    if (statOf(pid)?.startTime === startTime) kill(pid);
  }
  // vitest prints what a teardown throws, but does not fail by it.
  process.exitCode = 1;
  const lines = left.map(({ pid, command }) => `  ${pid}  ${command}`);
  throw new Error(`processes that the tests started were still running (now ended):\n${lines.join('\n')}`);
}

function survivors(mark: string): Survivor[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && carries(pid, mark))
    .flatMap((pid) => {
      const stat = statOf(pid);
      const command = read(`/proc/${pid}/cmdline`).replaceAll('\0', ' ').trim();
      if (stat === null || 'ZX'.includes(stat.state)) return [];
      // Workers are children of this process; what they started is not.
      if (stat.ppid === process.pid && command.includes('vitest')) return [];
      return [{ pid, startTime: stat.startTime, command }];
    });
}

function carries(pid: number, mark: string): boolean {
  return read(`/proc/${pid}/environ`)
    .split('\0')
    .some((entry) => {
      if (entry.startsWith(`${TOKEN_ENV}=`))
        return entry
          .slice(TOKEN_ENV.length + 1)
          .split(',')
          .includes(mark);
      return entry === `${RUN_ENV}=${mark}`;
    });
}

function statOf(pid: number): { state: string; ppid: number; startTime: string } | null {
  const stat = read(`/proc/${pid}/stat`);
  // The name in brackets may hold spaces and brackets itself. See proc_pid_stat(5) for the fields.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  const [state, ppid, startTime] = [fields[0], fields[1], fields[19]];
  return state === undefined || startTime === undefined ? null : { state, ppid: Number(ppid), startTime };
}

/** Empty when the process is gone or somebody else's. */
function read(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It went by itself in this moment.
  }
}
