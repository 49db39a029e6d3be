// A small agent of the Agent Client Protocol, as somebody could write one: what it does is the first word of its task.
import { createInterface } from 'node:readline';

const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const session = 's-1';
const update = (sessionUpdate, fields) =>
  say({ method: 'session/update', params: { sessionId: session, update: { sessionUpdate, ...fields } } });
const tell = (text) => update('agent_message_chunk', { content: { type: 'text', text } });
let prompt = null;
let permission = 0;

const tool = (status) =>
  update('tool_call', { toolCallId: 't1', title: 'sleep', kind: 'execute', status, rawInput: { command: 'sleep' } });
const end = (stopReason, usage = { inputTokens: 7, outputTokens: 3, cachedReadTokens: 2, cachedWriteTokens: 0 }) => {
  say({ id: prompt, result: { stopReason, usage } });
  prompt = null;
};
const refuse = (message, data) => {
  say({ id: prompt, error: { code: -32_603, message, ...(data === undefined ? {} : { data }) } });
  prompt = null;
};

const work = {
  reply: () => {
    tell('Hel');
    tell('lo.');
    end('end_turn');
  },
  tool: () => {
    tool('in_progress');
    update('tool_call_update', { toolCallId: 't1', status: 'completed' });
    tell('Done.');
    end('end_turn');
  },
  /** Asks whether it may use a tool, and says what it was answered. */
  ask: () => {
    permission += 1;
    say({
      id: `p${permission}`,
      method: 'session/request_permission',
      params: {
        sessionId: session,
        toolCall: { toolCallId: 't1', title: 'rm -r build', kind: 'execute' },
        options: [
          { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
          { optionId: 'no', name: 'No', kind: 'reject_once' },
        ],
      },
    });
  },
  rejected: () => refuse('400 bad request'),
  auth: () => refuse('401 invalid api key'),
  busy: () => refuse('429 too many requests'),
  down: () => refuse('503 service unavailable'),
  long: () => {
    tell('Once upon a');
    end('max_tokens');
  },
  empty: () => end('end_turn'),
  wait: () => tool('in_progress'),
};

function request({ id, method, params, result }) {
  switch (method) {
    case 'initialize':
      return say({
        id,
        result: {
          protocolVersion: 1,
          agentInfo: { name: 'small', version: '0.4.2' },
          agentCapabilities: { sessionCapabilities: { resume: {} } },
        },
      });
    case 'session/new':
      return say({ id, result: { sessionId: session } });
    case 'session/resume':
      return say({ id, result: {} });
    case 'session/prompt': {
      prompt = id;
      const words = params.prompt.map(({ text }) => text).join('\n');
      const [, name = 'reply'] = /^(\w+)(?: |$)/.exec(words) ?? [];
      return (work[name] ?? work.reply)();
    }
    case 'session/cancel':
      return prompt === null ? undefined : end('cancelled');
    case undefined:
      if (result?.outcome === undefined) return undefined;
      tell(result.outcome.optionId ?? result.outcome.outcome);
      return end('end_turn');
    default:
      return id === undefined ? undefined : say({ id, error: { code: -32_601, message: 'Method not found' } });
  }
}

createInterface({ input: process.stdin }).on('line', (line) => request(JSON.parse(line)));
