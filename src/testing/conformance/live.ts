import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { AgentEvent, LaunchRequest, Reply } from '../../agents/index.ts';
import { agentOf, askedOf, difference, requestFor } from './play.ts';
import { OCCASIONS, type Captured, type Occasion, type Subject, isCaptured } from './subject.ts';

/** A child as it was. */
export interface Lived {
  events: AgentEvent[];
  stdout: Buffer;
  exit: { code: number | null; signal: string | null; stderrTail: string };
}

/** What to start instead of what the definition says, and with what. */
export interface LiveOptions extends Partial<Pick<LaunchRequest, 'task' | 'model' | 'resume' | 'env' | 'cwd'>> {
  /** A folder of the caller's, who removes it. */
  dir: string;
  command: string[];
  mode?: string;
  /** Called with every event; `abort` asks the agent to drop its work, `kill` does not ask. */
  on?: (event: AgentEvent, child: { abort(): void; kill(signal: NodeJS.Signals): void }) => void;
}

/**
 * Starts a child as the adapter says and speaks with it until its pipes are closed: the shortest runner there is. It sets
 * no limits and looks for no leftovers.
 */
export async function live(subject: Subject, { dir, command, mode, on, ...change }: LiveOptions): Promise<Lived> {
  const found = agentOf(subject, mode);
  const agent = { ...found, settings: { ...found.settings, command } };
  const request = requestFor(agent, {
    cwd: dir,
    env: processEnvironment(),
    privateDir: join(dir, 'private'),
    sessionDir: join(dir, 'sessions'),
    ...change,
  });
  const launch = agent.adapter.launch(request);
  for (const folder of [request.privateDir, request.sessionDir, ...(launch.folders ?? [])]) {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  }
  for (const { path, text } of launch.files ?? []) writeFileSync(path, text, { mode: 0o600 });

  const session = agent.adapter.open(request);
  const [program = '', ...args] = launch.argv;
  const child = spawn(program, args, { cwd: launch.cwd, env: launch.env, shell: launch.shell, stdio: 'pipe' });
  // One that exits early reads no more.
  child.stdin.on('error', () => {});
  const events: AgentEvent[] = [];
  const stdout: Buffer[] = [];
  let stderrTail = '';

  const hands = {
    abort: () => take(session.abort()),
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
  };
  function take(reply: Reply): void {
    for (const text of reply.send) child.stdin.write(text);
    if (reply.closeStdin) child.stdin.end();
    for (const event of reply.events) {
      events.push(event);
      on?.(event, hands);
      const told = event.t === 'final' || event.t === 'error';
      if (told && launch.exit === 'asked') take(session.finish());
    }
  }

  take(session.start());
  if (launch.stdin.type !== 'protocol') child.stdin.end(launch.stdin.type === 'text' ? launch.stdin.text : '');
  child.stdout.on('data', (chunk: Buffer) => {
    stdout.push(chunk);
    take(session.push(chunk));
  });
  child.stderr.on('data', (chunk: Buffer) => (stderrTail = (stderrTail + chunk.toString('utf8')).slice(-4096)));
  const gone = await exitOf(child);
  const exit = { ...gone, stderrTail };
  take({ ...session.exited(exit), send: [] });
  return { events, stdout: Buffer.concat(stdout), exit };
}

function exitOf(child: ChildProcess): Promise<{ code: number | null; signal: string | null }> {
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal }));
  });
}

function processEnvironment(): Record<string, string> {
  return Object.fromEntries(
    Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** One occasion that was lived through. */
export type LiveFinding = { occasion: Occasion } & ({ outcome: 'holds' } | { outcome: 'fails'; why: string });

const NOT_HEARD = 'replay: nothing came on stdin';

// The compiled one: Node runs no TypeScript by itself.
const REPLAY = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? '../../../dist/src/testing/conformance/replay.js' : './replay.js',
    import.meta.url,
  ),
);

/**
 * Plays each captured occasion by a process of its own, which waits for its task, prints the stream in odd pieces and ends
 * as it was seen to end. One after the other.
 */
export async function conformLive(subject: Subject, dir: string): Promise<LiveFinding[]> {
  const findings: LiveFinding[] = [];
  for (const occasion of OCCASIONS) {
    const captured = subject.occasions[occasion];
    if (!isCaptured(captured)) continue;
    const folder = join(dir, occasion);
    mkdirSync(folder, { recursive: true });
    findings.push({ occasion, ...(await replayed(subject, captured, folder)) });
  }
  return findings;
}

async function replayed(
  subject: Subject,
  captured: Captured,
  dir: string,
): Promise<{ outcome: 'holds' } | { outcome: 'fails'; why: string }> {
  const stream = join(dir, 'stream');
  writeFileSync(stream, captured.stdout);
  const { code, signal, stderrTail = '' } = captured.exit;
  const command = [process.execPath, REPLAY, stream, String(signal ?? code ?? 0), stderrTail];
  const { mode } = captured;
  const lived = await live(subject, { dir, command, ...askedOf(captured), ...(mode === undefined ? {} : { mode }) });
  const why = difference(lived.events, captured.expect) ?? heard(lived.exit.stderrTail);
  return why === null ? { outcome: 'holds' } : { outcome: 'fails', why };
}

/** The replay says on stderr when it was given nothing. */
const heard = (stderr: string): string | null => (stderr.includes(NOT_HEARD) ? 'it was given no task' : null);
