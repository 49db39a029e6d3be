/**
 * The bundled extension, loaded by pi itself (`-e`): so it imports Node's own modules and nothing else.
 *
 * With `COXSWAIN_VALUE_TOOL` the model has a tool to hand in the value that is asked for.
 * With `COXSWAIN_STEER_DIR` it hands requests over to a one-way pi and acknowledges them; with `COXSWAIN_ASK_DIR` the
 * model has a tool to ask its supervisor, and other extensions can say that they review. All by the contract of docs/mailbox.md. What it cannot do it leaves alone:
 * an error thrown here would be one of the user's work.
 */
import { randomBytes } from 'node:crypto';
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

/** As much of pi's interface as is used here. */
interface Pi {
  on(event: string, handler: (event: PiEvent) => void): void;
  sendUserMessage(text: string, options: { deliverAs: 'steer' | 'followUp' }): unknown;
  registerTool(tool: Tool): void;
  /** Shared by all extensions. */
  events?: { on(channel: string, handler: (data: unknown) => void): void };
}
interface PiEvent {
  message?: { role?: string; content?: unknown; stopReason?: string };
}
interface Tool {
  name: string;
  label: string;
  description: string;
  parameters: object;
  execute(id: string, params: { question?: unknown; result?: unknown }, signal?: AbortSignal): Promise<ToolResult>;
}
interface ToolResult {
  content: { type: 'text'; text: string }[];
  details: object;
  /** The run ends with this, and no further answer of the model. */
  terminate?: boolean;
}

const POLL_MS = 250;
const MAX_QUESTION_CHARS = 16 * 1024;

export default function coxswain(pi: Pi): void {
  const { COXSWAIN_STEER_DIR: steerDir, COXSWAIN_ASK_DIR: askDir, COXSWAIN_VALUE_TOOL: valueTool } = process.env;
  // What a tool starts is not who listens here, and hands nothing in.
  delete process.env['COXSWAIN_STEER_DIR'];
  delete process.env['COXSWAIN_VALUE_TOOL'];
  if (valueTool !== undefined) pi.registerTool(valueToolOf(JSON.parse(readFileSync(valueTool, 'utf8')) as object));
  if (steerDir !== undefined) new Steering(pi, steerDir).listen();
  if (askDir === undefined) return;
  pi.registerTool(supervisorTool(askDir));
  reportReviews(pi, askDir);
}

/* ------------------------------------------------------------------ the value */

/** The last of its calls that fits counts; whether it fits is for whoever has asked for it. */
function valueToolOf(parameters: object): Tool {
  return {
    name: 'structured_output',
    label: 'Structured output',
    description:
      'Hand in the result of the whole task, in the parameter "result". Call it once the work is done, as your last ' +
      'action: your work ends with it, and nothing that you say besides is read.',
    parameters,
    execute: async (_id, { result: value }) => ({
      content: [{ type: 'text', text: 'The result was taken.' }],
      details: { result: value },
      terminate: true,
    }),
  };
}

/* ------------------------------------------------------------------ steering */

interface Message {
  /** The request's file; the acknowledgement has the same name. */
  file: string;
  id: string;
  text: string;
  deliverAs: 'steer' | 'followUp';
  state: 'waiting' | 'queued' | 'taken';
}
type End = { state: 'delivered' } | { state: 'undelivered'; reason: 'aborted' | 'failed' | 'step-ended' };

/**
 * Requests become messages of the user. One is taken when pi reports it as a part of the conversation (of several with
 * the same text the first), and delivered when the model goes on after it.
 */
class Steering {
  readonly #pi: Pi;
  readonly #dir: string;
  #messages: Message[] = [];
  #seen = new Set<string>();
  /** Only then does pi queue a message; at rest it would begin a run of its own. */
  #running = false;
  #begun = false;
  #failed = false;
  #watching: Watching | null = null;

  constructor(pi: Pi, dir: string) {
    this.#pi = pi;
    this.#dir = dir;
  }

  listen(): void {
    const pi = this.#pi;
    pi.on('session_start', () => this.#open());
    pi.on('session_shutdown', () => this.#close());
    pi.on('agent_start', () => {
      this.#running = true;
      this.#look();
    });
    pi.on('agent_end', () => (this.#running = false));
    pi.on('message_start', ({ message }) => this.#started(message));
    pi.on('message_update', () => this.#wentOn());
    pi.on('message_end', ({ message }) => this.#ended(message));
    pi.on('tool_execution_start', () => this.#wentOn());
  }

  #open(): void {
    if (this.#watching !== null) return;
    put(this.#dir, 'capability.json', { v: 1, modes: ['now', 'next'] });
    this.#watching = watching(join(this.#dir, 'requests'), { keepsAlive: false }, () => this.#look());
  }

  #close(): void {
    this.#watching?.close();
    this.#watching = null;
    const dropped = this.#failed ? 'failed' : 'aborted';
    this.#end('taken', { state: 'undelivered', reason: dropped });
    for (const state of ['queued', 'waiting'] as const)
      this.#end(state, { state: 'undelivered', reason: 'step-ended' });
  }

  #look(): void {
    const files = namesIn(join(this.#dir, 'requests'));
    this.#seen = new Set(files.filter((file) => this.#seen.has(file)));
    for (const file of files) if (!this.#seen.has(file)) this.#read(file);
    if (this.#running) for (const message of this.#messages) if (message.state === 'waiting') this.#handOver(message);
  }

  #read(file: string): void {
    this.#seen.add(file);
    const request = get(join(this.#dir, 'requests', file));
    const { id, text, mode } = request ?? {};
    if (typeof id !== 'string' || typeof text !== 'string') return;
    this.#messages.push({ file, id, text, deliverAs: mode === 'next' ? 'followUp' : 'steer', state: 'waiting' });
  }

  #handOver(message: Message): void {
    message.state = 'queued';
    this.#ack(message, { state: 'queued' });
    this.#pi.sendUserMessage(message.text, { deliverAs: message.deliverAs });
  }

  #started(message: PiEvent['message']): void {
    if (message?.role !== 'user') return;
    const first = !this.#begun;
    this.#begun = true;
    // The task, also when a message says the same.
    if (first) return;
    const text = textOf(message.content);
    const same = this.#messages.filter((candidate) => candidate.state === 'queued' && candidate.text === text);
    const taken = same.find(({ deliverAs }) => deliverAs === 'steer') ?? same[0];
    if (taken === undefined) return;
    taken.state = 'taken';
    this.#ack(taken, { state: 'taken' });
  }

  #ended(message: PiEvent['message']): void {
    if (message?.role !== 'assistant') return;
    this.#failed = message.stopReason === 'error';
    if (message.stopReason === 'aborted') this.#end('taken', { state: 'undelivered', reason: 'aborted' });
    // After an error pi may try again.
    else if (!this.#failed) this.#wentOn();
  }

  #wentOn(): void {
    this.#end('taken', { state: 'delivered' });
  }

  #end(state: Message['state'], end: End): void {
    if (this.#messages.length === 0) return;
    for (const message of this.#messages) if (message.state === state) this.#ack(message, end);
    this.#messages = this.#messages.filter((message) => message.state !== state);
  }

  #ack({ file, id }: Message, state: { state: 'queued' | 'taken' } | End): void {
    put(join(this.#dir, 'acks'), file, { v: 1, id, ...state });
  }
}

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  const parts = content as { type?: string; text?: string }[];
  return parts.map((part) => (part.type === 'text' ? (part.text ?? '') : '')).join('');
}

/* ------------------------------------------------------------------ asking */

function supervisorTool(dir: string): Tool {
  return {
    name: 'contact_supervisor',
    label: 'Contact supervisor',
    description:
      'Ask the person or program that supervises your work, and wait for the answer. Use it for a decision that is ' +
      'not yours, or for something you cannot find out by yourself. Nobody may be there to answer: then go on as you ' +
      'think best, and say in your result what you assumed.',
    parameters: {
      type: 'object',
      properties: {
        question: { type: 'string', description: 'The whole question, with what is needed to answer it.' },
      },
      required: ['question'],
    },
    execute: (_id, { question }, signal) => ask(dir, typeof question === 'string' ? question : '', signal),
  };
}

async function ask(dir: string, question: string, signal: AbortSignal | undefined): Promise<ToolResult> {
  if (question.trim() === '') return result('empty', 'There was no question.');
  if (question.length > MAX_QUESTION_CHARS) {
    return result('too-long', `The question is too long: at most ${MAX_QUESTION_CHARS} characters.`);
  }
  const file = `${Date.now().toString(36)}-${randomBytes(6).toString('hex')}.json`;
  const requests = join(dir, 'requests');
  if (!put(requests, file, { v: 1, id: file.slice(0, -'.json'.length), text: question }))
    return result('failed', NOBODY);
  const answer = await answerTo(join(dir, 'answers'), file, signal);
  if (answer === null) {
    remove(join(requests, file));
    return result('withdrawn', 'The question was withdrawn.');
  }
  remove(join(dir, 'answers', file));
  return answer['state'] === 'answered' ? result('answered', String(answer['text'])) : result('declined', NOBODY);
}

const NOBODY = 'Nobody answers. Go on as you think best, and say in your result what you assumed.';

const result = (outcome: string, text: string): ToolResult => ({
  content: [{ type: 'text', text }],
  details: { outcome },
});

/** Null when the tool was aborted. */
function answerTo(folder: string, file: string, signal: AbortSignal | undefined): Promise<Fields | null> {
  return new Promise((resolve) => {
    const end = (answer: Fields | null): void => {
      seen.close();
      signal?.removeEventListener('abort', abort);
      resolve(answer);
    };
    const abort = (): void => end(null);
    const look = (): void => {
      const answer = get(join(folder, file));
      if (answer !== null) end(answer);
    };
    // Nothing else may keep pi alive while it waits.
    const seen = watching(folder, { keepsAlive: true }, look);
    signal?.addEventListener('abort', abort);
    if (signal?.aborted === true) abort();
    else look();
  });
}

/* ------------------------------------------------------------------ reviews */

const REVIEW_CHANNEL = 'coxswain:review';
/** Of extensions that review; one more is passed over. */
const MOST_REVIEWS = 64;

/**
 * An extension that reviews in the background says so on pi's own bus: `{ id, active }`. As long as one of them is at it, the
 * runner lets pi go on after its last answer.
 */
function reportReviews(pi: Pi, dir: string): void {
  const active = new Set<string>();
  let seq = 0;
  let said = false;
  pi.events?.on(REVIEW_CHANNEL, (data) => {
    const { id = '', active: begins } = typeof data === 'object' && data !== null ? (data as Fields) : {};
    if (typeof id !== 'string' || typeof begins !== 'boolean') return;
    if (!begins) active.delete(id);
    else if (active.size < MOST_REVIEWS) active.add(id);
    if (active.size > 0 === said) return;
    said = active.size > 0;
    seq += 1;
    put(dir, 'review.json', { v: 1, seq, active: said });
  });
}

/* ------------------------------------------------------------------ files */

type Fields = Record<string, unknown>;

interface Watching {
  close(): void;
}

/** Calls `look` when the folder changes, and now and then. */
function watching(folder: string, { keepsAlive }: { keepsAlive: boolean }, look: () => void): Watching {
  const timer = setInterval(look, POLL_MS);
  if (!keepsAlive) timer.unref();
  let watcher: FSWatcher | null = null;
  try {
    watcher = watch(folder, { persistent: false }, look);
    // The timer is the net.
    watcher.on('error', () => {});
  } catch {
    watcher = null;
  }
  return {
    close() {
      clearInterval(timer);
      watcher?.close();
    },
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

function get(path: string): Fields | null {
  try {
    const value: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return typeof value === 'object' && value !== null ? { ...value } : null;
  } catch {
    return null;
  }
}

/** In one step: a reader sees all of it or nothing. */
function put(folder: string, name: string, value: object): boolean {
  const temporary = join(folder, `.${name}.tmp`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(temporary, `${JSON.stringify(value)}\n`, { mode: 0o600 });
    renameSync(temporary, join(folder, name));
    return true;
  } catch {
    return false;
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // The runner removes the folder.
  }
}
