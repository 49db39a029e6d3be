import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A model on loopback that answers what a test has scripted: OpenAI chat completions, streamed or whole.
 *
 * Which script answers: `[[scenario:NAME]]` in a user's message (the last one wins), else the model's id, else
 * `default`. Which step: the next one for each request of a scenario and API key; the last step repeats.
 */
export interface ModelServer {
  /** `http://127.0.0.1:PORT/v1`. */
  readonly url: string;
  /** Every request in order, also those that were not answered yet. */
  readonly requests: readonly ModelRequest[];
  /** Resolves with the n-th request (from 1), at once when it has come already. */
  request(n: number): Promise<ModelRequest>;
  /** Lets every request go on that waits, or will wait, at this gate. */
  open(gate: string): void;
  /** Resolves when a request has come to this gate. */
  reached(gate: string): Promise<void>;
  /** Ends the server and every open answer. */
  close(): Promise<void>;
}

export interface ModelRequest {
  /** From 1. */
  n: number;
  scenario: string;
  step: number;
  model: string;
  /** The texts of all messages with role user. */
  userTexts: string[];
  lastUser: string;
  lastToolResult: string;
  tools: string[];
  /** The texts of all messages with role system or developer. */
  system: string;
}

export interface ModelStep {
  /** Answer. `{{lastUser}}` and `{{lastToolResult}}` are filled in. */
  text?: string;
  tools?: { name: string; arguments: Record<string, unknown> }[];
  /** Default: `tool` with tools, else `stop`. */
  stop?: 'stop' | 'length' | 'tool';
  /** Default: 100 in, 10 out, nothing cached. `input` is without the cached part. */
  usage?: { input: number; output: number; cached: number };
  /** Answer with this status and error instead. */
  error?: { status: number; message: string; type?: string; headers?: Record<string, string> };
  /** Wait at this gate before anything is answered. */
  gate?: string;
  /** Wait at this gate after the first piece of the text. */
  gateMid?: string;
  /** Break the connection after the first piece of the text. */
  drop?: boolean;
  /** Characters in a piece of the text. Default 16. */
  piece?: number;
}

export type Scenarios = Record<string, ModelStep[]>;

export async function startModelServer(scenarios: Scenarios): Promise<ModelServer> {
  const gates = createGates();
  const log = createLog();
  const cursors = new Map<string, number>();

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => {
      if (response.headersSent) response.destroy();
      else sendJson(response, 400, errorBody(String(error), 'invalid_request_error'));
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') {
      sendJson(response, 200, { object: 'list', data: [] });
      return;
    }
    const body = readBody(await readAll(request));
    const scenario = pickScenario(scenarios, body);
    const slot = `${scenario} ${request.headers.authorization ?? ''}`;
    const at = cursors.get(slot) ?? 0;
    cursors.set(slot, at + 1);
    const steps = scenarios[scenario] ?? [];
    const step = steps[Math.min(at, steps.length - 1)];
    const entry = log.add({ ...body, scenario, step: at });
    if (step === undefined) throw new Error(`no scenario for model "${body.model}"`);
    const gone = once(response, 'close');
    if (step.gate !== undefined) await Promise.race([gates.pass(step.gate), gone]);
    if (response.destroyed) return;
    if (step.error !== undefined) sendError(response, step.error);
    else if (body.stream) await sendStream(response, step, entry, (gate) => Promise.race([gates.pass(gate), gone]));
    else sendJson(response, 200, whole(step, entry));
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests: log.entries,
    request: (n) => log.wait(n),
    open: (gate) => gates.open(gate),
    reached: (gate) => gates.reached(gate),
    async close() {
      server.closeAllConnections();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

/* ------------------------------------------------------------------ requests */

interface Body {
  model: string;
  stream: boolean;
  userTexts: string[];
  lastUser: string;
  lastToolResult: string;
  tools: string[];
  system: string;
}

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

function readBody(text: string): Body {
  const body = JSON.parse(text) as {
    model?: string;
    stream?: boolean;
    messages?: { role: string; content?: unknown }[];
    tools?: { function?: { name?: string } }[];
  };
  const texts = (role: string): string[] =>
    (body.messages ?? []).filter((message) => message.role === role).map((message) => flat(message.content));
  const userTexts = texts('user');
  return {
    model: body.model ?? '',
    stream: body.stream === true,
    userTexts,
    lastUser: userTexts.at(-1) ?? '',
    lastToolResult: texts('tool').at(-1) ?? '',
    tools: (body.tools ?? []).map((tool) => tool.function?.name ?? ''),
    system: [...texts('system'), ...texts('developer')].join('\n'),
  };
}

function flat(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: { text?: string }) => part.text ?? '').join('');
}

function pickScenario(scenarios: Scenarios, { model, userTexts }: Body): string {
  const marked = userTexts.findLast((text) => text.includes('[[scenario:'));
  const name = marked === undefined ? model : (/\[\[scenario:([\w.-]+)\]\]/.exec(marked)?.[1] ?? model);
  return name in scenarios ? name : 'default';
}

function createLog(): {
  entries: ModelRequest[];
  add(request: Omit<ModelRequest, 'n'>): ModelRequest;
  wait(n: number): Promise<ModelRequest>;
} {
  const entries: ModelRequest[] = [];
  const waiting = new Map<number, ((request: ModelRequest) => void)[]>();
  return {
    entries,
    add(request) {
      const entry = { ...request, n: entries.length + 1 };
      entries.push(entry);
      for (const resolve of waiting.get(entry.n) ?? []) resolve(entry);
      return entry;
    },
    wait(n) {
      const entry = entries[n - 1];
      if (entry !== undefined) return Promise.resolve(entry);
      return new Promise((resolve) => {
        waiting.set(n, [...(waiting.get(n) ?? []), resolve]);
      });
    },
  };
}

function createGates(): {
  open(name: string): void;
  reached(name: string): Promise<void>;
  pass(name: string): Promise<void>;
} {
  const doors = new Map<string, { reached: PromiseWithResolvers; opened: PromiseWithResolvers }>();
  const door = (name: string): { reached: PromiseWithResolvers; opened: PromiseWithResolvers } => {
    const there = doors.get(name) ?? { reached: withResolvers(), opened: withResolvers() };
    doors.set(name, there);
    return there;
  };
  return {
    open: (name) => door(name).opened.resolve(),
    reached: (name) => door(name).reached.promise,
    pass(name) {
      door(name).reached.resolve();
      return door(name).opened.promise;
    },
  };
}

interface PromiseWithResolvers {
  promise: Promise<void>;
  resolve: () => void;
}

function withResolvers(): PromiseWithResolvers {
  let resolve: () => void;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve: () => resolve() };
}

/* ------------------------------------------------------------------ answers */

function sendJson(
  response: ServerResponse,
  status: number,
  value: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
}

const errorBody = (message: string, type: string): unknown => ({ error: { message, type, code: type, param: null } });

function sendError(response: ServerResponse, error: NonNullable<ModelStep['error']>): void {
  sendJson(response, error.status, errorBody(error.message, error.type ?? 'api_error'), error.headers);
}

async function sendStream(
  response: ServerResponse,
  step: ModelStep,
  request: ModelRequest,
  pass: (gate: string) => Promise<unknown>,
): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  const send = (data: unknown): void => {
    response.write(`data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`);
  };
  const delta = (value: unknown, finish: string | null = null): void => {
    send({ ...frame(request, 'chat.completion.chunk'), choices: [{ index: 0, delta: value, finish_reason: finish }] });
  };
  delta({ role: 'assistant', content: '' });
  for (const [index, content] of pieces(fill(step.text ?? '', request), step.piece ?? 16).entries()) {
    delta({ content });
    if (index > 0) continue;
    if (step.gateMid !== undefined) await pass(step.gateMid);
    if (step.drop === true) response.destroy();
    if (response.destroyed) return;
  }
  for (const [index, call] of calls(step, request).entries()) delta({ tool_calls: [{ index, ...call }] });
  delta({}, finishReason(step));
  send({ ...frame(request, 'chat.completion.chunk'), choices: [], usage: usageOf(step) });
  send('[DONE]');
  response.end();
}

function whole(step: ModelStep, request: ModelRequest): unknown {
  const message = { role: 'assistant', content: fill(step.text ?? '', request), tool_calls: calls(step, request) };
  return {
    ...frame(request, 'chat.completion'),
    usage: usageOf(step),
    choices: [{ index: 0, finish_reason: finishReason(step), message }],
  };
}

const frame = ({ n, model }: ModelRequest, object: string): Record<string, unknown> => ({
  id: `chatcmpl-${n}`,
  object,
  created: 1_700_000_000,
  model,
});

function calls(step: ModelStep, { n }: ModelRequest): Record<string, unknown>[] {
  return (step.tools ?? []).map((tool, index) => ({
    id: `call_${n}_${index}`,
    type: 'function',
    function: { name: tool.name, arguments: JSON.stringify(tool.arguments) },
  }));
}

function finishReason(step: ModelStep): string {
  const stop = step.stop ?? ((step.tools ?? []).length > 0 ? 'tool' : 'stop');
  return stop === 'tool' ? 'tool_calls' : stop;
}

function usageOf(step: ModelStep): Record<string, unknown> {
  const { input, output, cached } = step.usage ?? { input: 100, output: 10, cached: 0 };
  return {
    prompt_tokens: input + cached,
    completion_tokens: output,
    total_tokens: input + cached + output,
    prompt_tokens_details: { cached_tokens: cached },
  };
}

function fill(text: string, request: ModelRequest): string {
  return text
    .replaceAll('{{lastUser}}', () => request.lastUser)
    .replaceAll('{{lastToolResult}}', () => request.lastToolResult);
}

/** Always at least one piece, so that a gate in the middle of an empty answer exists too. */
function pieces(text: string, size: number): string[] {
  const out: string[] = [];
  for (let at = 0; at < text.length; at += size) out.push(text.slice(at, at + size));
  return out.length === 0 ? [''] : out;
}
