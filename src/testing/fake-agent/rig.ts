import { access, mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AgentSettings } from '../../agents/index.ts';
import type { Identity } from '../../process/identity/index.ts';
import { type FakeChild, type Handle, meetChild } from './child.ts';
import { inTime } from './control.ts';
import { runs, signal, until } from './processes.ts';
import type { FakeMode } from './wire.ts';

/**
 * Fake agents under the control of a test: they are started by what is tested, and do what the test says.
 * POSIX only (a Unix socket, signals, `sleep`). Freezing, and ending processes at the end, need /proc.
 */
export interface FakeAgents extends AsyncDisposable {
  /** An agent definition for a plan or a configuration. Default: name `fake`, mode `rpc`. */
  settings(
    name?: string,
    mode?: FakeMode,
    options?: SettingsOptions,
  ): Pick<AgentSettings, 'name' | 'adapter' | 'mode' | 'command' | 'args'>;
  /** A plain program for a command step. */
  argv(): string[];
  /**
   * The next agent that has started, in the order in which they did, each of them once.
   * Resolves when it can be told what to do and, but for plain programs, has its task.
   */
  next(options?: NextOptions): Promise<FakeChild>;
  /** How many have started and said who they are. */
  readonly started: number;
  /** Ends every agent and every process they started; resolves when all have gone, rejects when they do not go. */
  dispose(): Promise<void>;
}

export interface SettingsOptions {
  /** It refuses every prompt with this error (`rpc`). */
  refuse?: string;
}

export interface NextOptions {
  /** `started`: without waiting for its task. Default `tasked`. */
  when?: 'started' | 'tasked';
}

export interface FakeAgentsOptions {
  /**
   * The compiled program. Default: the one beside this module; under a test runner that loads the sources,
   * the one in the package's `dist`, which therefore has to be built first.
   */
  agentPath?: string;
  /** Milliseconds any wait may take before it is an error. Default 10,000. */
  patienceMs?: number;
}

export async function startFakeAgents(options: FakeAgentsOptions = {}): Promise<FakeAgents> {
  const { agentPath = compiledAgent(), patienceMs = 10_000 } = options;
  await access(agentPath).catch(() => {
    throw new Error(`the fake agent is not built: there is no ${agentPath}`);
  });
  // mkdtemp makes it 0700: nobody else can drive our agents.
  const folder = await mkdtemp(join(tmpdir(), 'coxswain-fake-'));
  const path = join(folder, 'control');
  const handles: Handle[] = [];
  const sockets = new Set<Socket>();
  const arrivals = createArrivals(patienceMs);
  const server = createServer((socket) => {
    sockets.add(socket);
    meetChild(socket, patienceMs, (handle) => {
      handles.push(handle);
      arrivals.add(handle.child);
    });
  });
  await listen(server, path);
  const command = [process.execPath, agentPath];

  const dispose = async (): Promise<void> => {
    arrivals.close();
    server.close();
    const family = handles.flatMap((handle) => handle.family());
    // Also those who have not said who they are yet: they exit when the rig is gone.
    for (const socket of sockets) socket.destroy();
    await endAll(family, patienceMs);
    await rm(folder, { recursive: true, force: true });
  };

  return {
    settings(name = 'fake', mode = 'rpc', { refuse } = {}) {
      if (mode === 'plain') return { name, adapter: 'command', command: [...command, '--control', path] };
      const refusal = refuse === undefined ? [] : ['--refuse-prompt', refuse];
      return { name, adapter: 'pi', mode, command, args: ['--control', path, ...refusal] };
    },
    argv: () => [...command, '--control', path],
    async next({ when = 'tasked' } = {}) {
      const child = await arrivals.take();
      if (when === 'tasked' && child.mode !== 'plain') await child.tasked();
      return child;
    },
    get started() {
      return handles.length;
    },
    dispose,
    [Symbol.asyncDispose]: dispose,
  };
}

function compiledAgent(): string {
  const fromSource = import.meta.url.endsWith('.ts');
  const relative = fromSource ? '../../../dist/src/testing/fake-agent/agent.js' : './agent.js';
  return fileURLToPath(new URL(relative, import.meta.url));
}

function listen(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(path, resolve);
  });
}

interface Taker {
  resolve: (child: FakeChild) => void;
  reject: (error: Error) => void;
}

/** Agents that have started and those who wait for one, first come first served. */
function createArrivals(patienceMs: number): {
  add(child: FakeChild): void;
  take(): Promise<FakeChild>;
  close(): void;
} {
  const here: FakeChild[] = [];
  let takers: Taker[] = [];
  return {
    add(child) {
      const first = takers.shift();
      if (first === undefined) here.push(child);
      else first.resolve(child);
    },
    async take() {
      const child = here.shift();
      if (child !== undefined) return child;
      const taker: Taker = { resolve: () => {}, reject: () => {} };
      const arrival = new Promise<FakeChild>((resolve, reject) => Object.assign(taker, { resolve, reject }));
      takers.push(taker);
      // Whoever gave up must not take the next one with it.
      return inTime(arrival, patienceMs, 'to be started').finally(() => {
        takers = takers.filter((other) => other !== taker);
      });
    },
    close() {
      for (const taker of takers) taker.reject(new Error('the rig of the fake agents has ended'));
    },
  };
}

async function endAll(family: Identity[], patienceMs: number): Promise<void> {
  for (const member of family) signal(member, 'SIGKILL');
  const left = (): Identity[] => family.filter((member) => member.startTime !== null && runs(member));
  if (await until(() => left().length === 0, patienceMs)) return;
  const pids = left().map(({ pid }) => pid);
  throw new Error(`processes of the fake agents do not end: ${pids.join(', ')}`);
}
