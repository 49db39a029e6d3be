import { type ChildProcess, fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { ChildHandlers } from '../handlers.ts';
import type { Child, LaunchSpec } from '../launch.ts';
import type { FromNursery, News, ToNursery } from './messages.ts';

/** Of what it wrote before it ended. */
const STDERR_TAIL = 4_000;

/**
 * A process that starts children in our place. Fork copies the page tables of whoever forks, and blocks it
 * for that long: 1 ms more for every 60 MB of a runner, and none of it here.
 */
export interface Nursery {
  /** It can be given launches. It does not become ready again after it has ended. */
  readonly ready: boolean;
  /** As `launch` (launch.ts) does; `token` is the one in the child's environment. Not for containers. */
  launch(spec: Omit<LaunchSpec, 'contain'>, token: string, handlers: ChildHandlers): Child;
  /** Ends it; resolves when it has gone. Children that are still there are ended with it, so first be done with them. */
  close(): Promise<void>;
}

/**
 * Opens a nursery. `onLost` is told once if it ends without having been closed: its children have lost their parent,
 * nobody knows how they end, and no handler of theirs is called any more.
 */
export function openNursery(onLost: (error: Error) => void): Nursery {
  return new ForkedNursery(onLost);
}

class ForkedNursery implements Nursery {
  readonly #process: ChildProcess;
  readonly #gone: Promise<void>;
  readonly #children = new Map<number, ChildHandlers>();
  #state: 'starting' | 'ready' | 'over' = 'starting';
  #launches = 0;
  #said = '';

  constructor(onLost: (error: Error) => void) {
    // A session of its own: Ctrl-C in a terminal is for the runner.
    this.#process = fork(entry(), [], {
      detached: true,
      serialization: 'advanced',
      execArgv: [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
      cwd: '/',
      env: { ...process.env, NODE_OPTIONS: '' },
    });
    this.#process.stderr?.on('data', (chunk: Buffer) => {
      this.#said = (this.#said + chunk.toString()).slice(-STDERR_TAIL);
    });
    this.#process.on('message', (message) => this.#hear(message as FromNursery));
    this.#gone = new Promise((resolve) => {
      const end = (how: string): void => {
        if (this.#state !== 'over') this.#lost(how, onLost);
        resolve();
      };
      this.#process.on('error', (error) => end(error.message));
      this.#process.on('exit', (code, signal) => end(signal ?? `exit code ${code}`));
    });
  }

  get ready(): boolean {
    return this.#state === 'ready';
  }

  launch({ argv, shell, cwd, env, stdin }: Omit<LaunchSpec, 'contain'>, token: string, handlers: ChildHandlers): Child {
    const id = (this.#launches += 1);
    this.#children.set(id, handlers);
    this.#tell({ type: 'launch', id, token, spec: { argv, shell, cwd, env, stdin } });
    return {
      write: (text) => this.#tell({ type: 'write', id, text }),
      closeStdin: () => this.#tell({ type: 'close-stdin', id }),
    };
  }

  async close(): Promise<void> {
    this.#state = 'over';
    this.#children.clear();
    if (this.#process.connected) this.#process.disconnect();
    await this.#gone;
  }

  #tell(message: ToNursery): void {
    // One that has just gone is told of by its exit.
    if (this.#process.connected) this.#process.send(message, undefined, {}, () => {});
  }

  #hear(message: FromNursery): void {
    if (this.#state === 'over') return;
    switch (message.type) {
      case 'ready':
        this.#state = 'ready';
        return;
      case 'news':
        for (const one of message.news) this.#pass(one);
        return;
    }
  }

  #pass(one: News): void {
    const handlers = this.#children.get(one.id);
    if (handlers === undefined) return;
    switch (one.type) {
      case 'started':
        handlers.started(one.process);
        return;
      case 'unstarted':
        this.#children.delete(one.id);
        handlers.unstarted(one.failure);
        return;
      case 'stdout':
        handlers.stdout(bufferOf(one.chunk));
        return;
      case 'stderr':
        handlers.stderr(bufferOf(one.chunk));
        return;
      case 'exited':
        handlers.exited({ code: one.code, signal: one.signal });
        return;
      case 'drained':
        this.#children.delete(one.id);
        handlers.drained(one.how);
        return;
    }
  }

  #lost(how: string, onLost: (error: Error) => void): void {
    this.#state = 'over';
    this.#children.clear();
    const said = this.#said === '' ? '' : `; it wrote: ${this.#said.trim()}`;
    onLost(new Error(`the process that starts the children has ended (${how})${said}`));
  }
}

const bufferOf = ({ buffer, byteOffset, byteLength }: Uint8Array): Buffer =>
  Buffer.from(buffer, byteOffset, byteLength);

/** A process runs the build; in a test this file is the source. */
function entry(): string {
  const here = fileURLToPath(new URL('main.js', import.meta.url));
  return import.meta.url.endsWith('.ts') ? here.replace(/src(?=[/\\]process[/\\]nursery)/, 'dist/src') : here;
}
