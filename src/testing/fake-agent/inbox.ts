import {
  type FSWatcher,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  watch,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import type { AckState, SteerMode } from './wire.ts';

/** The child's side of its mailbox (docs/mailbox.md). Nothing here keeps the process alive. */
const POLL_MS = 100;

export interface Request {
  /** The acknowledgement has the same name. */
  file: string;
  id: string;
  mode: SteerMode;
  text: string;
}

/** Says that it listens, and tells each request once. */
export function listen(steerDir: string, modes: SteerMode[], heard: (request: Request) => void): void {
  const folder = join(steerDir, 'requests');
  const seen = new Set<string>();
  put(steerDir, 'capability.json', { v: 1, modes });
  look(folder, () => {
    for (const file of namesIn(folder)) {
      if (seen.has(file)) continue;
      seen.add(file);
      const request = get(join(folder, file)) as Omit<Request, 'file'> | null;
      if (request !== null) heard({ ...request, file });
    }
  });
}

export function acknowledge(steerDir: string, { file, id }: Request, state: AckState): void {
  put(join(steerDir, 'acks'), file, { v: 1, id, ...state });
}

/** Puts a question, and tells the answer once. */
export function ask(
  askDir: string,
  question: { id: string; text: string; expiresMs?: number },
  heard: (answer: unknown) => void,
): void {
  const file = `${question.id}.json`;
  const answers = join(askDir, 'answers');
  const { id, text, expiresMs } = question;
  put(join(askDir, 'requests'), file, { v: 1, id, text, ...(expiresMs === undefined ? {} : { expiresMs }) });
  const stop = look(answers, () => {
    const answer = get(join(answers, file));
    if (answer === null) return;
    stop();
    rmSync(join(answers, file), { force: true });
    heard(answer);
  });
}

export function withdraw(askDir: string, id: string): void {
  rmSync(join(askDir, 'requests', `${id}.json`), { force: true });
}

/** Says that its work is reviewed in the background, or is not any more. */
export function review(askDir: string, { seq, active }: { seq: number; active: boolean }): void {
  put(askDir, 'review.json', { v: 1, seq, active });
}

function look(folder: string, seen: () => void): () => void {
  const timer = setInterval(seen, POLL_MS);
  timer.unref();
  let watcher: FSWatcher | null = null;
  try {
    watcher = watch(folder, { persistent: false }, seen);
    watcher.on('error', () => {});
  } catch {
    // The timer is the net.
  }
  setImmediate(seen);
  return () => {
    clearInterval(timer);
    watcher?.close();
  };
}

function namesIn(folder: string): string[] {
  try {
    const names = readdirSync(folder).filter((name) => name.endsWith('.json') && !name.startsWith('.'));
    // In the order in which they were sent.
    return names.toSorted();
  } catch {
    return [];
  }
}

function get(path: string): object | null {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as object;
  } catch {
    return null;
  }
}

function put(folder: string, name: string, value: object): void {
  const temporary = join(folder, `.${name}.tmp`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(temporary, JSON.stringify(value), { mode: 0o600 });
  renameSync(temporary, join(folder, name));
}
