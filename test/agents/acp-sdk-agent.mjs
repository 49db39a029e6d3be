// An agent made with the official package of the Agent Client Protocol, so that what we send is checked by it. The
// prompt says what it does.
import { Readable, Writable } from 'node:stream';
import { agent, ndJsonStream } from '@agentclientprotocol/sdk';

const cancels = new Map();
const says = (client, sessionId, update) => client.notify('session/update', { sessionId, update });
const piece = (text) => ({ sessionUpdate: 'agent_message_chunk', content: { type: 'text', text } });

const app = agent({ name: 'test' })
  .onRequest('initialize', ({ params }) => ({
    protocolVersion: params.protocolVersion,
    agentCapabilities: { loadSession: true },
    agentInfo: { name: 'test', version: '1' },
  }))
  .onRequest('session/new', ({ params }) => ({ sessionId: `new in ${params.cwd}` }))
  .onRequest('session/load', async ({ params, client }) => {
    const earlier = { sessionUpdate: 'user_message_chunk', content: { type: 'text', text: 'earlier' } };
    await says(client, params.sessionId, earlier);
    // After the answer, as some do.
    setImmediate(() => void says(client, params.sessionId, piece('what was said before')));
    return {};
  })
  .onNotification('session/cancel', ({ params }) => cancels.get(params.sessionId)?.())
  .onRequest('session/prompt', async ({ params, client }) => {
    const { sessionId, prompt } = params;
    const text = prompt.map((block) => block.text).join('');
    const tool = { toolCallId: 't1', title: 'sleep', kind: 'execute', status: 'in_progress' };
    switch (text) {
      case 'tool': {
        const options = [
          { optionId: 'yes', name: 'Yes', kind: 'allow_once' },
          { optionId: 'no', name: 'No', kind: 'reject_once' },
        ];
        const { outcome } = await client.request('session/request_permission', { sessionId, toolCall: tool, options });
        await says(client, sessionId, { ...tool, sessionUpdate: 'tool_call_update', status: 'completed' });
        await says(client, sessionId, piece(outcome.optionId));
        return { stopReason: 'end_turn' };
      }
      case 'wait':
        await says(client, sessionId, { ...tool, sessionUpdate: 'tool_call' });
        await new Promise((resolve) => cancels.set(sessionId, resolve));
        return { stopReason: 'cancelled' };
      case 'fail':
        throw new Error('no');
      default:
        await says(client, sessionId, piece(`heard: ${text}`));
        return { stopReason: 'end_turn' };
    }
  });

const connection = app.connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
await connection.closed;
process.exit(0);
