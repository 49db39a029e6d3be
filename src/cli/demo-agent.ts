/**
 * The bundled demo agent: pretends to work for about two seconds and changes nothing. No key, no network, no files
 * but those of its mailbox (docs/mailbox.md): it can be steered between its moves.
 *
 * It speaks the records of one-shot pi (`--mode json -p`): the task is the whole of stdin, the exit is its own.
 * The answer depends on the task alone. Arguments are ignored. SIGTERM ends it at once, exit code 143.
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text as readAll } from 'node:stream/consumers';
import { setTimeout as pause } from 'node:timers/promises';

type Fields = Record<string, unknown>;
/** One thing the agent does: it says a sentence, uses a tool for `ms`, and gets `output`. */
interface Move {
  text: string;
  tool: string;
  input: Fields;
  output: string;
  ms: number;
}

const { stdout } = process;
const STEER_DIR = process.env['COXSWAIN_STEER_DIR'];
const taken = new Set<string>();
const THINKING_MS = 120;
const TITLE_CHARS = 72;

process.on('SIGTERM', () => process.exit(143));
// Whoever listened has gone: then there is nobody to pretend for.
stdout.on('error', () => process.exit(1));

await work(await readAll(process.stdin));

async function work(task: string): Promise<void> {
  const messages: Fields[] = [{ role: 'user', content: textContent(task) }];
  emit({ type: 'session', version: 3, id: 'demo', timestamp: new Date().toISOString(), cwd: process.cwd() });
  emit({ type: 'agent_start' });
  emit({ type: 'turn_start' });
  emit({ type: 'message_end', message: messages[0] });
  if (STEER_DIR !== undefined) put(STEER_DIR, 'capability.json', { v: 1, modes: ['now', 'next'] });
  for (const [index, move] of movesFor(task).entries()) {
    messages.push(...(await act(move, `demo_${index + 1}`)), ...(await follow(['now', 'auto'])));
  }
  messages.push(...(await follow(['now', 'auto', 'next'])));
  const last = await answer(`Done: ${titleOf(task)}`);
  emit({ type: 'turn_end', message: last, toolResults: [] });
  emit({ type: 'agent_end', messages: [...messages, last] });
}

/** Two or three moves, by the length of the task, so that the steps of a plan differ. */
function movesFor(task: string): Move[] {
  const title = titleOf(task);
  const look: Move = {
    text: `Let me see what "${title}" is about.`,
    tool: 'read',
    input: { path: 'README.md' },
    output: 'a short file',
    ms: 200,
  };
  const search: Move = {
    text: 'Now the places it concerns.',
    tool: 'grep',
    input: { pattern: title.split(' ')[0] ?? '' },
    output: '3 places',
    ms: 200,
  };
  const check: Move = {
    text: 'That should be it. One check.',
    tool: 'bash',
    input: { command: 'npm test' },
    output: 'all good',
    ms: 200,
  };
  return task.length % 2 === 0 ? [look, search, check] : [look, check];
}

async function act({ text, tool, input, output, ms }: Move, id: string): Promise<Fields[]> {
  await pause(THINKING_MS);
  const call = { type: 'toolCall', id, name: tool, arguments: input };
  const message = assistant([...textContent(text), call], 'toolUse', text.length);
  emit({ type: 'message_end', message });
  emit({ type: 'tool_execution_start', toolCallId: id, toolName: tool, args: input });
  await pause(ms);
  const result = { content: textContent(output) };
  emit({ type: 'tool_execution_end', toolCallId: id, toolName: tool, result, isError: false });
  const toolResult = { role: 'toolResult', toolCallId: id, toolName: tool, ...result, isError: false };
  emit({ type: 'message_end', message: toolResult });
  emit({ type: 'turn_end', message, toolResults: [toolResult] });
  emit({ type: 'turn_start' });
  return [message, toolResult];
}

/** Takes the messages that wait, as pi would, and says so to whoever sent them. */
async function follow(modes: string[]): Promise<Fields[]> {
  const said: Fields[] = [];
  for (const { file, id, text } of waiting(modes)) {
    acknowledge(file, { id, state: 'taken' });
    const message = { role: 'user', content: textContent(text) };
    emit({ type: 'message_end', message });
    said.push(message, await answer(`As you say: ${titleOf(text)}`, 'toolUse'));
    acknowledge(file, { id, state: 'delivered' });
  }
  return said;
}

function waiting(modes: string[]): { file: string; id: string; text: string }[] {
  if (STEER_DIR === undefined) return [];
  const folder = join(STEER_DIR, 'requests');
  if (!existsSync(folder)) return [];
  const found = readdirSync(folder).filter((file) => /^[^.].*\.json$/.test(file) && !taken.has(file));
  return found.toSorted().flatMap((file) => {
    const { id, text, mode } = JSON.parse(readFileSync(join(folder, file), 'utf8')) as Record<string, string>;
    if (!modes.includes(mode ?? '')) return [];
    taken.add(file);
    return [{ file, id: id ?? '', text: text ?? '' }];
  });
}

function acknowledge(file: string, ack: Fields): void {
  if (STEER_DIR !== undefined) put(join(STEER_DIR, 'acks'), file, { v: 1, ...ack });
}

/** In one step: whoever reads it sees all of it. */
function put(folder: string, name: string, value: Fields): void {
  const temporary = join(folder, `.${name}.tmp`);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(temporary, JSON.stringify(value), { mode: 0o600 });
  renameSync(temporary, join(folder, name));
}

async function answer(text: string, stop = 'stop'): Promise<Fields> {
  await pause(THINKING_MS);
  const message = assistant(textContent(text), stop, text.length);
  emit({ type: 'message_end', message });
  return message;
}

/** The usage is as invented as the work. */
function assistant(content: Fields[], stopReason: string, chars: number): Fields {
  const usage = { input: 200, output: chars, cacheRead: 0, cacheWrite: 0, totalTokens: 200 + chars };
  const cost = { total: (usage.input + 4 * usage.output) / 1_000_000 };
  return { role: 'assistant', content, provider: 'demo', model: 'demo', usage: { ...usage, cost }, stopReason };
}

/** The first line of the task that says something, cut to fit a line. */
function titleOf(task: string): string {
  const line = task.split('\n').find((candidate) => candidate.trim() !== '') ?? 'nothing';
  const title = line.trim();
  if (title.length <= TITLE_CHARS) return title;
  // Not in the middle of a character.
  return `${title.slice(0, TITLE_CHARS - 1).replace(/[\uD800-\uDBFF]$/, '')}…`;
}

function textContent(text: string): Fields[] {
  return [{ type: 'text', text }];
}

function emit(record: Fields): void {
  stdout.write(`${JSON.stringify(record)}\n`);
}
