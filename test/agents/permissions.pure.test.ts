import { describe, expect, test } from 'vitest';
import type { AgentSettings } from '../../src/agents/index.ts';
import { Talk, openAgent } from './rig.ts';

type Permissions = NonNullable<AgentSettings['permissions']>;

/** How each client asks whether it may use a tool, and what it is answered. */
const clients = {
  acp: {
    tool: 'execute',
    other: 'edit',
    begin(permissions: Permissions): Talk {
      const talk = new Talk('acp', { given: { command: ['agent'], permissions } });
      return talk
        .say({ jsonrpc: '2.0', id: 1, result: { protocolVersion: 1, agentCapabilities: {} } })
        .say({ jsonrpc: '2.0', id: 2, result: { sessionId: 's' } });
    },
    asks: (n: number) => ({
      jsonrpc: '2.0',
      id: `q${n}`,
      method: 'session/request_permission',
      params: {
        sessionId: 's',
        toolCall: { toolCallId: `c${n}`, title: 'rm x', kind: 'execute', status: 'pending' },
        options: [
          { optionId: 'yes', name: 'yes', kind: 'allow_once' },
          { optionId: 'no', name: 'no', kind: 'reject_once' },
        ],
      },
    }),
    yes: { id: 'q1', result: { outcome: { outcome: 'selected', optionId: 'yes' } } },
    no: { id: 'q1', result: { outcome: { outcome: 'selected', optionId: 'no' } } },
    cancelled: { id: 'q1', result: { outcome: { outcome: 'cancelled' } } },
  },
  claude: {
    tool: 'Bash',
    other: 'Edit',
    begin: (permissions: Permissions) =>
      new Talk('claude', { given: { permissions } }).say({ type: 'system', subtype: 'init', model: 'm' }),
    asks: (n: number) => ({
      type: 'control_request',
      request_id: `q${n}`,
      request: { subtype: 'can_use_tool', tool_name: 'Bash', tool_use_id: `c${n}`, input: { command: 'rm x' } },
    }),
    yes: {
      type: 'control_response',
      response: {
        subtype: 'success',
        request_id: 'q1',
        response: { behavior: 'allow', updatedInput: { command: 'rm x' } },
      },
    },
    no: { response: { request_id: 'q1', response: { behavior: 'deny', message: 'use npm' } } },
    cancelled: { response: { request_id: 'q1', response: { behavior: 'deny' } } },
  },
  codex: {
    tool: 'command_execution',
    other: 'file_change',
    begin: (permissions: Permissions) =>
      new Talk('codex', { given: { permissions } })
        .say({ id: 'coxswain-open', result: {} })
        .say({ id: 'coxswain-thread', result: { thread: { id: 't' }, model: 'm' } })
        .say({ method: 'turn/started', params: { threadId: 't', turn: { id: 'u' } } }),
    asks: (n: number) => ({
      id: `q${n}`,
      method: 'item/commandExecution/requestApproval',
      params: { threadId: 't', turnId: 'u', itemId: `c${n}`, command: 'rm x' },
    }),
    yes: { id: 'q1', result: { decision: 'accept' } },
    no: { id: 'q1', result: { decision: 'decline' } },
    cancelled: { id: 'q1', result: { decision: 'decline' } },
  },
} as const;

const askedOf = (talk: Talk): string[] => talk.events.flatMap((event) => (event.t === 'asked' ? [event.ask] : []));
const goneOf = (talk: Talk): string[] => talk.events.flatMap((event) => (event.t === 'ask-gone' ? [event.ask] : []));
const answersOf = (talk: Talk): string[] =>
  talk.events.flatMap((event) => (event.t === 'permission' ? [`${event.id} ${event.tool} ${event.answer}`] : []));

describe.each(Object.entries(clients))('%s', (_name, client) => {
  const { tool, other } = client;

  test('somebody is asked, and the answer goes to whoever waits for it', () => {
    const talk = client.begin({ [tool]: 'ask' }).say(client.asks(1));
    expect(askedOf(talk)).toEqual(['permission-1']);
    expect(talk.events.find(({ t }) => t === 'asked')).toMatchObject({
      text: expect.stringMatching(new RegExp(`^May it use ${tool}: .*rm x.*\nAnswer "allow"`)) as string,
    });
    const before = talk.sent.length;
    expect(answersOf(talk)).toEqual([]);
    talk.answer('permission-1', { type: 'allow' });
    expect(talk.sent.slice(before)).toMatchObject([client.yes]);
    expect(answersOf(talk)).toEqual([`c1 ${tool} allow`]);
    // It is answered once.
    talk.answer('permission-1', { type: 'deny', why: null }).answer('nobody', { type: 'allow' });
    expect(talk.sent).toHaveLength(before + 1);
  });

  test('a no, with the reason where the client can be told one', () => {
    const talk = client.begin({ '*': 'ask' }).say(client.asks(1));
    talk.answer('permission-1', { type: 'deny', why: 'use npm' });
    expect(talk.sent.at(-1)).toMatchObject(client.no);
    expect(answersOf(talk)).toEqual([`c1 ${tool} deny`]);
  });

  test.each<[Permissions, string]>([
    [{ '*': 'ask', [tool]: 'allow' }, 'allow'],
    [{ '*': 'allow', [other]: 'ask' }, 'allow'],
    [{ '*': 'allow', [tool]: 'deny', [other]: 'ask' }, 'deny'],
    [{ [other]: 'ask' }, 'deny'],
    [{}, 'deny'],
  ])('%j answers at once: %s', (permissions, expected) => {
    const talk = client.begin(permissions).say(client.asks(1));
    expect(askedOf(talk)).toEqual([]);
    expect(answersOf(talk)).toEqual([`c1 ${tool} ${expected}`]);
  });

  test('work that is broken off waits for nobody, and neither does a child that has gone', () => {
    const aborted = client
      .begin({ [tool]: 'ask' })
      .say(client.asks(1))
      .abort();
    expect(goneOf(aborted)).toEqual(['permission-1']);
    expect(aborted.sent.filter((message) => JSON.stringify(message).includes('"q1"'))).toMatchObject([
      client.cancelled,
    ]);
    const gone = client
      .begin({ [tool]: 'ask' })
      .say(client.asks(1))
      .exit({ code: null, signal: 'SIGKILL' });
    expect(goneOf(gone)).toEqual(['permission-1']);
  });

  test('of very many questions the last are no', () => {
    const talk = client.begin({ [tool]: 'ask' });
    for (let n = 1; n <= 20; n += 1) talk.say(client.asks(n));
    expect(askedOf(talk)).toHaveLength(16);
    expect(answersOf(talk)).toEqual([17, 18, 19, 20].map((n) => `c${n} ${tool} deny`));
  });
});

test('Claude Code takes a question back', () => {
  const { begin, asks, tool } = clients.claude;
  const talk = begin({ [tool]: 'ask' })
    .say(asks(1))
    .say({ type: 'control_cancel_request', request_id: 'q1' });
  expect(goneOf(talk)).toEqual(['permission-1']);
  const before = talk.sent.length;
  talk.answer('permission-1', { type: 'allow' });
  expect(talk.sent).toHaveLength(before);
});

const argv = (name: 'claude' | 'codex', permissions: Permissions): string =>
  openAgent(name, { given: { permissions } }).launch.argv.join(' ');

test('who is to ask is started so that it asks', () => {
  expect(argv('claude', { Bash: 'ask', Read: 'allow', Edit: 'deny', '*': 'allow' })).toContain(
    '--permission-prompt-tool stdio --allowedTools=Read --disallowedTools=Edit',
  );
  expect(argv('claude', { Bash: 'ask', '*': 'allow' })).not.toContain('bypassPermissions');
  expect(argv('codex', { '*': 'ask' })).toContain('approval_policy="on-request" -c sandbox_mode="read-only"');
  expect(argv('codex', { '*': 'allow', file_change: 'deny' })).toContain('approval_policy="on-request"');
  expect(argv('codex', { '*': 'allow' })).toContain('approval_policy="never" -c sandbox_mode="danger-full-access"');
});
