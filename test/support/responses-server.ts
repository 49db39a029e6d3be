import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * A model on loopback that answers what a test has scripted, by OpenAI's Responses API as codex asks it: streamed.
 * The model's id names the script; each request takes its next step, and the last step repeats.
 */
export interface ResponsesServer {
  /** `http://127.0.0.1:PORT/v1`. */
  readonly url: string;
  /** The last text of a user in each request, by model. */
  asked(model: string): string[];
  close(): Promise<void>;
}

export interface ResponsesStep {
  /** `{{lastUser}}` and `{{lastTool}}` are filled in. */
  text?: string;
  /** A command for codex's own shell tool. */
  shell?: string;
  error?: { status: number; message: string; type?: string };
}

interface Asked {
  n: number;
  model: string;
  lastUser: string;
  lastTool: string;
}

/** Of each request: 100 went in, 40 of them from the cache, 10 came out. */
const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 40 },
  output_tokens: 10,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 110,
};

export async function startResponsesServer(scripts: Record<string, ResponsesStep[]>): Promise<ResponsesServer> {
  const log: Asked[] = [];
  const server = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.method !== 'POST') {
      sendJson(response, 200, { object: 'list', data: [] });
      return;
    }
    const asked = readRequest(await readAll(request), log.length + 1);
    const at = log.filter(({ model }) => model === asked.model).length;
    log.push(asked);
    const steps = scripts[asked.model] ?? [];
    const step = steps[Math.min(at, steps.length - 1)] ?? { error: { status: 404, message: 'no such script' } };
    if (step.error === undefined) {
      sendStream(response, step, asked);
      return;
    }
    const { status, message, type = 'api_error' } = step.error;
    sendJson(response, status, { error: { message, type, code: type, param: null } });
  }

  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    asked: (model) => log.filter((entry) => entry.model === model).map(({ lastUser }) => lastUser),
    async close() {
      server.closeAllConnections();
      const closed = once(server, 'close');
      server.close();
      await closed;
    },
  };
}

async function readAll(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}

interface InputItem {
  type?: string;
  role?: string;
  content?: { text?: string }[] | string;
  output?: unknown;
}

function readRequest(text: string, n: number): Asked {
  const { model = '', input = [] } = JSON.parse(text) as { model?: string; input?: InputItem[] };
  const users = input.filter(({ role }) => role === 'user').map(({ content }) => flat(content));
  const tools = input.filter(({ type = '' }) => type.endsWith('_output')).map(({ output }) => flat(output));
  // What codex says about its surroundings is a user's text as well.
  const spoken = users.filter((said) => !said.startsWith('<'));
  return { n, model, lastUser: spoken.at(-1) ?? '', lastTool: tools.at(-1) ?? '' };
}

function flat(content: unknown): string {
  if (typeof content === 'string') return content;
  return Array.isArray(content) ? content.map((part: { text?: string }) => part.text ?? '').join('') : '';
}

function sendJson(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(value));
}

function sendStream(response: ServerResponse, { text, shell }: ResponsesStep, asked: Asked): void {
  const { n, model } = asked;
  const frame = { id: `resp_${n}`, object: 'response', created_at: 1_700_000_000, model };
  let sequence = 0;
  const send = (type: string, rest: object): void => {
    response.write(`event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence, ...rest })}\n\n`);
    sequence += 1;
  };
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
  send('response.created', { response: { ...frame, status: 'in_progress', output: [] } });
  const output: object[] = [];
  if (text !== undefined) {
    const said = text.replaceAll('{{lastUser}}', () => asked.lastUser).replaceAll('{{lastTool}}', () => asked.lastTool);
    const item = { id: `msg_${n}`, type: 'message', role: 'assistant', status: 'completed' };
    const part = { type: 'output_text', text: said, annotations: [] };
    const at = { output_index: output.length, item_id: item.id, content_index: 0 };
    send('response.output_item.added', { ...at, item: { ...item, status: 'in_progress', content: [] } });
    send('response.content_part.added', { ...at, part: { ...part, text: '' } });
    send('response.output_text.delta', { ...at, delta: said });
    send('response.output_text.done', { ...at, text: said });
    output.push({ ...item, content: [part] });
    send('response.output_item.done', { ...at, item: output.at(-1) });
  }
  if (shell !== undefined) {
    const item = {
      id: `fc_${n}`,
      type: 'function_call',
      call_id: `call_${n}`,
      name: 'exec_command',
      status: 'completed',
    };
    const at = { output_index: output.length, item_id: item.id };
    const called = { ...item, arguments: JSON.stringify({ cmd: shell }) };
    send('response.output_item.added', { ...at, item: { ...called, status: 'in_progress', arguments: '' } });
    send('response.function_call_arguments.done', { ...at, arguments: called.arguments });
    output.push(called);
    send('response.output_item.done', { ...at, item: called });
  }
  send('response.completed', { response: { ...frame, status: 'completed', output, usage: USAGE } });
  response.end();
}
