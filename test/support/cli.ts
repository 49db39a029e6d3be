import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Status } from '../../machines/protocol.ts';
import { isSame } from '../../src/process/identity/index.ts';

/** The built command line. */
export const MAIN = fileURLToPath(new URL('../../dist/src/cli/main.js', import.meta.url));

const PATIENCE_MS = 20_000;
const POLL_MS = 20;

export interface Ended {
  code: number | null;
  signal: NodeJS.Signals | null;
  stdout: string;
  stderr: string;
  /** Milliseconds from the start to the end. */
  ms: number;
}

export interface Started {
  child: ChildProcessWithoutNullStreams;
  ended: Promise<Ended>;
}

export interface CallOptions {
  env?: Record<string, string>;
  cwd?: string;
  input?: string;
}

/** The command line with a home, a state root and a working directory of its own. */
export interface Cli extends AsyncDisposable {
  readonly home: string;
  readonly root: string;
  readonly cwd: string;
  readonly env: Record<string, string>;
  /** Starts any program with its arguments. */
  launch(argv: readonly string[], options?: CallOptions): Started;
  start(args: readonly string[], options?: CallOptions): Started;
  run(args: readonly string[], options?: CallOptions): Promise<Ended>;
  /** Runs a script with node. */
  node(script: string, options?: CallOptions): Promise<Ended>;
  /** An environment in which node names every module it loads on stderr, as `loaded <url>`. */
  traced(): Record<string, string>;
  /** Runs a line of shell. */
  shell(line: string): Promise<Ended>;
  /** Writes a file into `cwd` and returns its path. */
  file(name: string, content: string): string;
  /** `run --detach` with these arguments. */
  detach(args: readonly string[], options?: CallOptions): Promise<DetachedRun>;
  /** Ids of the runs in the state root. */
  ids(): string[];
  status(id: string): Status;
}

export interface DetachedRun {
  id: string;
  directory: string;
  pid: number;
}

export function openCli(): Cli {
  const folder = mkdtempSync(join(tmpdir(), 'coxswain-cli-'));
  const [home, root, cwd] = [join(folder, 'home'), join(folder, 'state'), join(folder, 'work')];
  for (const path of [home, cwd]) mkdirSync(path);
  const env = { ...inherited(), HOME: home, COXSWAIN_HOME: root };
  const children: ChildProcessWithoutNullStreams[] = [];

  const launch = ([program = '', ...args]: readonly string[], options: CallOptions = {}): Started => {
    const began = performance.now();
    const child = spawn(program, args, { cwd: options.cwd ?? cwd, env: { ...env, ...options.env } });
    children.push(child);
    child.stdin.on('error', () => {});
    child.stdin.end(options.input ?? '');
    return { child, ended: endOf(child, began) };
  };
  const start: Cli['start'] = (args, options) => launch([process.execPath, MAIN, ...args], options);
  const run: Cli['run'] = (args, options) => start(args, options).ended;
  const status = (id: string): Status =>
    JSON.parse(readFileSync(join(root, 'runs', id, 'status.json'), 'utf8')) as Status;
  const ids = (): string[] => namesIn(join(root, 'runs'));

  return {
    home,
    root,
    cwd,
    env,
    launch,
    start,
    run,
    node: (script, options) => launch([process.execPath, script], options).ended,
    traced() {
      writeFileSync(join(folder, 'trace.mjs'), TRACE);
      return { NODE_OPTIONS: `--import ${join(folder, 'trace.mjs')}` };
    },
    shell: (line) => launch(['sh', '-c', line]).ended,
    ids,
    status,
    file(name, content) {
      const path = join(cwd, name);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, content);
      return path;
    },
    async detach(args, options) {
      const { code, stdout, stderr } = await run(['run', '--detach', '--json', ...args], options);
      if (code !== 0) throw new Error(`it did not start: ${stderr}`);
      return JSON.parse(stdout) as DetachedRun;
    },
    async [Symbol.asyncDispose]() {
      for (const child of children) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await Promise.all(ids().map((id) => endRunner(() => status(id))));
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

const TRACE = `
import { register } from 'node:module';
const hooks = "import { writeSync } from 'node:fs'; export async function load(url, context, next) { writeSync(2, 'loaded ' + url + String.fromCharCode(10)); return next(url, context); }";
register('data:text/javascript,' + encodeURIComponent(hooks));
`;

/** The environment without what changes how the command line behaves. */
function inherited(): Record<string, string> {
  const dropped = /^(?:NODE_OPTIONS|NO_COLOR|FORCE_COLOR|XDG_STATE_HOME|COXSWAIN_(?:HOME|AGENT_.*)|VITEST.*)$/;
  const kept = Object.entries(process.env).filter(([name, value]) => value !== undefined && !dropped.test(name));
  return Object.fromEntries(kept) as Record<string, string>;
}

async function endOf(child: ChildProcessWithoutNullStreams, began: number): Promise<Ended> {
  const [[code, signal], stdout, stderr] = await Promise.all([
    once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>,
    text(child.stdout).catch(() => ''),
    text(child.stderr).catch(() => ''),
  ]);
  return { code, signal, stdout, stderr, ms: performance.now() - began };
}

/** A detached runner that is still there is ended in good order. */
async function endRunner(read: () => Status): Promise<void> {
  const owner = attempt(read)?.owner;
  const lives = (): boolean => owner !== undefined && owner.pid !== process.pid && isSame(owner.pid, owner.startTime);
  if (owner !== undefined && lives()) process.kill(owner.pid, 'SIGTERM');
  await until(() => !lives(), `the runner ${owner?.pid} ends`);
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).toSorted();
  } catch {
    return [];
  }
}

/** Polls until something is so, and returns what it gave; an error names what was waited for. */
export async function until<T>(look: () => T, what: string, patienceMs = PATIENCE_MS): Promise<NonNullable<T>> {
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const seen = look();
    if (seen !== false && seen !== null && seen !== undefined) return seen;
    if (performance.now() > deadline) throw new Error(`in ${patienceMs} ms it did not come about that ${what}`);
    await pause(POLL_MS);
  }
}

/** What `look` gives, or null where it throws: for files that are not there yet. */
export function attempt<T>(look: () => T): T | null {
  try {
    return look();
  } catch {
    return null;
  }
}
