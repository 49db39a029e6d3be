import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import {
  type AgentEvent,
  type AgentSession,
  type AgentSettings,
  type LaunchRequest,
  type Reply,
  createRegistry,
} from '../../src/agents/index.ts';
import { PI_CLI, type PiHome } from './pi-home.ts';

export interface PiChildOptions {
  home: PiHome;
  mode: 'rpc' | 'json';
  task: string;
  /** `provider/id`. */
  model: string;
  /** Its folder; default one that no other child of this home has. */
  name?: string;
  args?: string[];
  /** What its definition says besides. */
  defines?: Partial<AgentSettings>;
  resume?: LaunchRequest['resume'];
  mailbox?: LaunchRequest['mailbox'];
}

/** A real pi, driven by its adapter as the runtime does it: replies are written, stdin is closed after the end. */
export interface PiChild {
  readonly events: readonly AgentEvent[];
  /** Resolves with the first event that fits, now or when it comes; rejects when the child ends without it. */
  seen(fits: (event: AgentEvent) => boolean): Promise<AgentEvent>;
  steer(...message: Parameters<AgentSession['steer']>): ReturnType<AgentSession['steer']>['verdict'];
  wrapUp(leftMs: number): void;
  abort(): void;
  readonly ended: Promise<{ code: number | null; signal: string | null }>;
  kill(): void;
}

let count = 0;

export async function startPiChild(options: PiChildOptions): Promise<PiChild> {
  const { home, mode, task, model, args, resume = null, mailbox = null } = options;
  const definition = { name: 'pi', adapter: 'pi', mode, ...(args === undefined ? {} : { args }), ...options.defines };
  const found = await createRegistry({ pi: definition }, { env: { COXSWAIN_AGENT_PI: PI_CLI } }).resolve('pi', 'task');
  if (found.type !== 'agent') throw new Error(found.message);
  const { adapter, settings } = found.agent;
  count += 1;
  const request: LaunchRequest = {
    settings,
    task,
    run: null,
    model,
    cwd: home.work,
    env: home.env,
    privateDir: join(home.dir, 'attempts', options.name ?? `pi${count}`, '1'),
    sessionDir: join(home.dir, 'sessions'),
    resume,
    mailbox,
  };
  const launch = adapter.launch(request);
  for (const folder of [request.privateDir, ...(launch.folders ?? [])]) mkdirSync(folder, { recursive: true });
  for (const { path, text } of launch.files ?? []) writeFileSync(path, text, { mode: 0o600 });
  const [program = '', ...rest] = launch.argv;
  const child = spawn(program, rest, { cwd: launch.cwd, env: launch.env, stdio: ['pipe', 'pipe', 'pipe'] });
  return drive(child, adapter.open(request), launch.stdin);
}

export function drive(
  child: ChildProcess & { stdin: NonNullable<ChildProcess['stdin']> },
  session: AgentSession,
  input: { type: string; text?: string },
): PiChild {
  const events: AgentEvent[] = [];
  let waiting: {
    fits: (event: AgentEvent) => boolean;
    resolve: (event: AgentEvent) => void;
    reject: (error: Error) => void;
  }[] = [];
  const take = (reply: Reply): void => {
    for (const event of reply.events) {
      events.push(event);
      for (const wait of waiting.filter(({ fits }) => fits(event))) {
        waiting = waiting.filter((other) => other !== wait);
        wait.resolve(event);
      }
    }
    for (const line of reply.send) child.stdin.write(line);
    if (reply.closeStdin) child.stdin.end();
    if (reply.events.some(({ t }) => t === 'final' || t === 'error')) take(session.finish());
  };
  // What it leaves unread is for the test to notice.
  child.stdin.on('error', () => {});
  let stderrTail = '';
  child.stderr?.on('data', (bytes: Buffer) => (stderrTail += bytes.toString()));
  child.stdout?.on('data', (bytes: Buffer) => take(session.push(bytes)));
  if (input.type === 'text') child.stdin.end(input.text);
  take(session.start());
  const ended = once(child, 'close').then(([code, signal]: (number | string | null)[]) => {
    const exit = { code: code as number | null, signal: signal as string | null };
    take(session.exited({ ...exit, stderrTail }));
    for (const { reject } of waiting) reject(new Error(`pi has ended: ${JSON.stringify(exit)} ${stderrTail}`));
    return exit;
  });
  return {
    events,
    seen(fits) {
      const there = events.find(fits);
      if (there !== undefined) return Promise.resolve(there);
      return new Promise((resolve, reject) => waiting.push({ fits, resolve, reject }));
    },
    steer(message) {
      const { verdict, ...reply } = session.steer(message);
      take(reply);
      return verdict;
    },
    wrapUp: (leftMs) => take(session.wrapUp(leftMs)),
    abort: () => take(session.abort()),
    ended,
    kill() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
    },
  };
}

/** A gate for other processes, each of which waits at it by reading (`cat <path>`) and passes it once. */
export interface Gate {
  readonly path: string;
  /** Resolves when somebody waits at it; `release` lets it go on. */
  reached(): Promise<{ release(): Promise<void> }>;
}

export function makeGate(path: string): Gate {
  execFileSync('mkfifo', [path]);
  return {
    path,
    async reached() {
      // The system opens it when there is a reader.
      const handle: FileHandle = await open(path, 'w');
      return { release: () => handle.close() };
    },
  };
}
