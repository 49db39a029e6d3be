/**
 * The fake agent: a program that a test drives. It is started like any agent, and does what its rig says over
 * the socket that `--control` names (rig.ts). It imports Node's own modules and its neighbours in this folder,
 * so that it starts as fast as a program can.
 *
 * By itself it only answers pi's two-way commands, reads its task and its mailbox, and ends as pi would: when its stdin
 * is closed (rpc), by SIGTERM with exit code 143. A session is a file with a line for each answer (`--session`). When its rig is gone it exits with code 70. `--version` answers and exits.
 * Other arguments are ignored.
 */
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { appendFileSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { text as readAll } from 'node:stream/consumers';
import type { Writable } from 'node:stream';
import { type Request, acknowledge, ask, listen, review, withdraw } from './inbox.ts';
import { Voice } from './voice.ts';
import {
  type AckState,
  type FakeAnswer,
  type FakeMode,
  type Notice,
  type Numbered,
  type Offspring,
  type Order,
  SEEN_SIGNALS,
  type SteerMode,
  readLines,
} from './wire.ts';

const RIG_GONE = 70;
const GRANDCHILD_SECONDS = '120';
const TOKEN_ENV = 'COXSWAIN_TOKEN';

const { argv, stdin, stdout, stderr } = process;
const { COXSWAIN_STEER_DIR: steerDir = '', COXSWAIN_ASK_DIR: askDir = '' } = process.env;
if (argv.includes('--version')) {
  stdout.write('0.73.1 (fake)\n');
  process.exit(0);
}

const mode = readMode(option('--mode'));
const refusal = option('--refuse-prompt');
const ignored = new Set<string>();
const control = connect(option('--control') ?? '');
const voice = new Voice({
  emit: (record) => stdout.write(`${JSON.stringify(record)}\n`),
  now: Date.now,
  model: option('--model')?.replace(/:.*$/, '') ?? 'fake/agent',
  sessionId: randomUUID(),
  earlier: earlierAnswers(),
  answered: keepAnswer,
});
/** Messages in the mailbox that have had no end yet. */
const inMailbox: (Request & { taken: boolean })[] = [];

// A reader that went away is for the test to notice, not a reason to die of.
for (const stream of [control, stdout, stderr, stdin]) stream.on('error', () => {});
control.once('close', () => {
  if (ignored.has('control-close')) return;
  stderr.write('fake agent: its rig is gone\n');
  process.exit(RIG_GONE);
});
control.once('connect', () => {
  const envNames = Object.keys(process.env).toSorted();
  for (const name of SEEN_SIGNALS) process.on(name, () => seeSignal(name));
  tell({ t: 'hello', pid: process.pid, mode, argv: argv.slice(2), cwd: process.cwd(), envNames });
  readLines(control, (line) => void follow(JSON.parse(line) as Numbered));
  void readStdin();
});

function earlierAnswers(): number {
  try {
    return readFileSync(option('--session') ?? '', 'utf8').split('\n').length - 1;
  } catch {
    return 0;
  }
}

function keepAnswer(): void {
  try {
    appendFileSync(option('--session') ?? '', '{"type":"message"}\n');
  } catch {
    // A test that gave it no folder wants no session.
  }
}

function option(name: string): string | undefined {
  const at = argv.lastIndexOf(name);
  return at < 0 ? undefined : argv[at + 1];
}

function readMode(name: string | undefined): FakeMode {
  return name === 'rpc' || name === 'json' ? name : 'plain';
}

function tell(notice: Notice, told: () => void = () => {}): void {
  control.write(`${JSON.stringify(notice)}\n`, told);
}

/* ------------------------------------------------------------------ stdin */

async function readStdin(): Promise<void> {
  if (mode === 'rpc') {
    readLines(stdin, hear);
    stdin.once('end', () => {
      if (!ignored.has('stdin-close')) process.exit(0);
    });
    return;
  }
  const task = await readAll(stdin).catch(() => '');
  if (mode === 'json') {
    voice.session(process.cwd());
    voice.begin(task);
    // As pi does by the bundled extension.
    if (steerDir !== '') listenTo(['now', 'next']);
  }
  tell({ t: 'task', text: task });
}

function hear(line: string): void {
  const command = parse(line);
  if (command === null) {
    voice.answer('parse', undefined, { error: 'Failed to parse command' });
    return;
  }
  const name = String(command['type']);
  tell({ t: 'command', name });
  answer(name, command);
}

function parse(line: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

function answer(name: string, command: Record<string, unknown>): void {
  const { id } = command;
  switch (name) {
    case 'get_state':
      voice.answer(name, id, { data: voice.state() });
      return;
    case 'prompt':
      prompt(id, String(command['message']));
      return;
    case 'steer':
    case 'follow_up':
      if (!ignored.has('steer')) {
        voice.queue(name === 'steer' ? 'steering' : 'followUp', String(command['message']));
        voice.answer(name, id, {});
      }
      tell({ t: 'steer', text: String(command['message']) });
      return;
    case 'abort':
      if (ignored.has('abort')) return;
      voice.abort();
      voice.answer(name, id, {});
      return;
    default:
      voice.answer(name, id, { error: `Unknown command: ${name}` });
  }
}

function prompt(id: unknown, task: string): void {
  const busy = voice.busy ? 'Agent is already processing a prompt.' : undefined;
  const error = refusal ?? busy;
  if (error === undefined) {
    voice.answer('prompt', id, {});
    voice.begin(task);
  } else {
    voice.answer('prompt', id, { error });
  }
  if (busy === undefined) tell({ t: 'task', text: task });
}

/* ------------------------------------------------------------------ mailbox */

function listenTo(modes: SteerMode[]): void {
  listen(steerDir, modes, (request) => {
    inMailbox.push({ ...request, taken: false });
    if (mode === 'json' && !ignored.has('steer')) {
      voice.queue(request.mode === 'next' ? 'followUp' : 'steering', request.text);
      acknowledge(steerDir, request, { state: 'queued' });
    }
    tell({ t: 'steer', text: request.text });
  });
}

/** The first message that waits is taken; one of the mailbox is acknowledged. */
function take(): void {
  const text = voice.take();
  if (text === null) throw new Error('no message waits');
  const request = inMailbox.find((candidate) => candidate.text === text && !candidate.taken);
  if (request === undefined) return;
  request.taken = true;
  acknowledge(steerDir, request, { state: 'taken' });
}

/** The work goes on, so what was taken is delivered. */
function wentOn(): void {
  for (const request of inMailbox.filter(({ taken }) => taken)) acknowledgeAs(request.id, { state: 'delivered' });
}

/** `told` is what the order carries: more than the acknowledgement. */
function acknowledgeAs(id: string, told: AckState): void {
  const state: AckState =
    told.state === 'undelivered' ? { state: told.state, reason: told.reason } : { state: told.state };
  const request = inMailbox.find((candidate) => candidate.id === id);
  if (request === undefined) throw new Error(`no message "${id}" lies in the mailbox`);
  acknowledge(steerDir, request, state);
  if (state.state === 'delivered' || state.state === 'undelivered') inMailbox.splice(inMailbox.indexOf(request), 1);
}

/* ------------------------------------------------------------------ orders */

async function follow(order: Numbered): Promise<void> {
  const { id } = order;
  try {
    const pids = await obey(order);
    tell({ t: 'done', id, pids });
  } catch (error) {
    tell({ t: 'failed', id, message: error instanceof Error ? error.message : String(error) });
  }
}

/** Done when the system has taken every byte. Yields the pids of new processes. */
async function obey(order: Order): Promise<number[]> {
  switch (order.do) {
    case 'say':
      wentOn();
      voice.say(order.text, order.usage);
      break;
    case 'partial':
      wentOn();
      voice.partial(order.text);
      break;
    case 'toolStart':
      wentOn();
      voice.toolStart(order.name, order.input);
      break;
    case 'toolEnd':
      if (!voice.toolEnd(order.name, order.ok, order.output)) throw new Error(`no open tool "${order.name}"`);
      break;
    case 'finish':
      if (order.stopReason !== 'error' && order.stopReason !== 'aborted') wentOn();
      voice.finish(order);
      break;
    case 'take':
      take();
      break;
    case 'listen':
      listenTo(order.modes);
      break;
    case 'ack': {
      const { message, ...state } = order;
      acknowledgeAs(message, state);
      break;
    }
    case 'ask':
      ask(askDir, { ...order, id: order.ask }, (given) =>
        tell({ t: 'answer', ask: order.ask, answer: given as FakeAnswer }),
      );
      break;
    case 'withdraw':
      withdraw(askDir, order.ask);
      break;
    case 'review':
      review(askDir, order);
      break;
    case 'raw':
      stdout.write(Buffer.from(order.base64, 'base64'));
      break;
    case 'stderr':
      await write(stderr, order.text);
      break;
    case 'flood':
      await flood(order.bytes, order.lineBytes);
      break;
    case 'ignore':
      ignored.add(order.what);
      break;
    case 'spawn':
      return spawnOffspring(order);
    case 'exit':
      return process.exit(order.code);
    case 'die':
      dieOf(order.signal);
      break;
  }
  await write(stdout, '');
  return [];
}

function write(stream: Writable, chunk: string | Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(chunk, (error) => (error ? reject(error) : resolve()));
  });
}

/** Lines of `lineBytes` with their newlines; the last one is shorter, so that the sum is exact. */
async function flood(bytes: number, lineBytes: number): Promise<void> {
  const line = floodLine(lineBytes);
  const block = Buffer.concat(Array.from({ length: Math.max(1, Math.floor(65_536 / lineBytes)) }, () => line));
  let left = bytes;
  for (; left >= block.length; left -= block.length) await write(stdout, block);
  for (; left >= lineBytes; left -= lineBytes) await write(stdout, line);
  if (left > 0) await write(stdout, `${'x'.repeat(left - 1)}\n`);
}

/** For pi's reader a record, where one fits; else text. */
function floodLine(lineBytes: number): Buffer {
  const head = '{"type":"message_update","padding":"';
  const tail = '"}\n';
  const room = lineBytes - head.length - tail.length;
  const line = mode === 'plain' || room < 0 ? `${'x'.repeat(lineBytes - 1)}\n` : `${head}${'x'.repeat(room)}${tail}`;
  return Buffer.from(line);
}

/* ------------------------------------------------------------------ processes and signals */

async function spawnOffspring({ count, setsid, holdPipes, keepToken }: Offspring): Promise<number[]> {
  const env = { ...process.env };
  if (!keepToken) delete env[TOKEN_ENV];
  const output = holdPipes ? 'inherit' : 'ignore';
  const starts = Array.from({ length: count }, () => {
    const child = spawn('sleep', [GRANDCHILD_SECONDS], { env, detached: setsid, stdio: ['ignore', output, output] });
    child.unref();
    return new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('spawn', () => resolve(child.pid ?? 0));
    });
  });
  return Promise.all(starts);
}

function seeSignal(name: (typeof SEEN_SIGNALS)[number]): void {
  // The rig hears of it before the end, whatever the end is.
  tell({ t: 'signal', name }, () => {
    if (ignored.has(name)) return;
    if (name === 'SIGTERM' && mode !== 'plain') process.exit(143);
    dieOf(name);
  });
}

function dieOf(signal: NodeJS.Signals): void {
  process.removeAllListeners(signal);
  process.kill(process.pid, signal);
}
