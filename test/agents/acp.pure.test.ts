import { describe, expect, test } from 'vitest';
import type { AgentEvent, AgentSession, LaunchRequest } from '../../src/agents/index.ts';
import { TASK, endOf, lines, notes, open } from './drive.ts';

const SESSION = 's1';

/** An agent that a test plays, line by line. */
class Played {
  readonly session: AgentSession;
  readonly events: AgentEvent[] = [];
  readonly sent: Record<string, unknown>[] = [];

  constructor(change: Partial<LaunchRequest> & { permissions?: Record<string, 'allow' | 'deny'> } = {}) {
    this.session = open('acp', change);
    this.#take(this.session.start());
  }

  say(...records: unknown[]): this {
    this.#take(this.session.push(Buffer.from(lines(...records))));
    return this;
  }

  answer(result: object): this {
    return this.say({ jsonrpc: '2.0', id: this.last.id, result });
  }

  refuse(error: object): this {
    return this.say({ jsonrpc: '2.0', id: this.last.id, error });
  }

  update(...updates: object[]): this {
    for (const update of updates)
      this.say({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: SESSION, update } });
    return this;
  }

  /** As far as the prompt. */
  begin(capabilities: object = {}, opened: object = { sessionId: SESSION }): this {
    return this.answer({ protocolVersion: 1, agentCapabilities: capabilities }).answer(opened);
  }

  exit(code: number | null = 0, signal: string | null = null): this {
    this.#take(this.session.exited({ code, signal, stderrTail: '' }));
    return this;
  }

  get last(): { id: number; method: string; params: Record<string, unknown> } {
    return this.sent.at(-1) as never;
  }

  get methods(): unknown[] {
    return this.sent.map(({ method }) => method);
  }

  get failure() {
    const end = endOf(this.events);
    if (end.t !== 'error') throw new Error('it ended well');
    return end.failure;
  }

  abort(): boolean {
    const reply = this.session.abort();
    this.#take(reply);
    return reply.supported;
  }

  #take({ events, send }: { events: AgentEvent[]; send: string[] }): void {
    this.events.push(...events.filter(({ t }) => t !== 'activity'));
    this.sent.push(...send.map((text) => JSON.parse(text) as Record<string, unknown>));
  }
}

const piece = (text: string, messageId?: string): object => ({
  sessionUpdate: 'agent_message_chunk',
  content: { type: 'text', text },
  ...(messageId === undefined ? {} : { messageId }),
});
const call = (status: string, more: object = {}): object => ({
  sessionUpdate: 'tool_call',
  toolCallId: 'c1',
  title: 'ls -l',
  kind: 'execute',
  status,
  ...more,
});
const changed = (status: string, more: object = {}): object => ({
  sessionUpdate: 'tool_call_update',
  toolCallId: 'c1',
  status,
  ...more,
});
const usageOf = ({ events }: Played) => events.findLast((event) => event.t === 'usage')?.usage;

describe('the way to the answer', () => {
  test('initialize, a session, the prompt; the answer is what came since the last tool', () => {
    const agent = new Played().begin();
    expect(agent.sent[0]).toEqual({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: 1,
        clientCapabilities: { fs: { readTextFile: false, writeTextFile: false }, terminal: false },
      },
    });
    expect(agent.sent[1]).toMatchObject({ method: 'session/new', params: { cwd: '/', mcpServers: [] } });
    expect(agent.last).toMatchObject({ method: 'session/prompt', params: { prompt: [{ type: 'text', text: TASK }] } });
    agent.update(piece('Let me '), piece('see.'), call('pending'), changed('in_progress', { rawInput: { a: 1 } }));
    agent.update(changed('completed', { content: [{ type: 'content', content: { type: 'text', text: 'out' } }] }));
    agent.update(
      { sessionUpdate: 'agent_thought_chunk', content: { type: 'text', text: 'hm' } },
      piece('Do'),
      piece('ne.\n'),
    );
    agent.answer({ stopReason: 'end_turn' }).exit();
    expect(agent.events).toEqual([
      { t: 'session', session: SESSION },
      { t: 'message', role: 'assistant', text: 'Let me see.' },
      { t: 'toolStart', id: 'c1', name: 'execute', input: { a: 1 } },
      { t: 'usage', usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, turns: 1, tools: 1 } },
      { t: 'toolEnd', id: 'c1', name: 'execute', ok: true, output: 'out', truncated: false },
      { t: 'message', role: 'assistant', text: 'Done.\n' },
      { t: 'usage', usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, turns: 2, tools: 1 } },
      { t: 'final', text: 'Done.', stop: 'stop', truncated: false },
    ]);
  });

  test.each([
    ['max_tokens', 'half', { t: 'final', stop: 'length' }],
    ['max_tokens', '', { t: 'error', failure: { code: 'length' } }],
    ['end_turn', ' ', { t: 'error', failure: { code: 'empty-output' } }],
    ['refusal', 'no', { t: 'error', failure: { code: 'model-error' } }],
    ['max_turn_requests', 'half', { t: 'error', failure: { code: 'aborted' } }],
    ['cancelled', 'half', { t: 'error', failure: { code: 'aborted' } }],
    ['of-a-later-version', 'x', { t: 'error', failure: { code: 'protocol' } }],
  ])('it ends with %s after %o', (stopReason, text, end) => {
    expect(endOf(new Played().begin().update(piece(text)).answer({ stopReason }).events)).toMatchObject(end);
  });

  test('another message begins the answer anew; updates of other sessions are not ours', () => {
    const agent = new Played().begin().update(piece('first', 'm1'), piece('second ', 'm2'), piece('half', 'm2'));
    agent.say({ jsonrpc: '2.0', method: 'session/update', params: { sessionId: 'other', update: piece('x') } });
    expect(endOf(agent.answer({ stopReason: 'end_turn' }).events)).toMatchObject({ text: 'second half' });
  });

  test('a version it does not share, and a session without a name', () => {
    expect(new Played().answer({ protocolVersion: 2 }).failure.code).toBe('protocol');
    expect(new Played().begin({}, {}).failure.code).toBe('protocol');
  });

  test('an error: by its code, by what came along, and a prompt that was cancelled', () => {
    expect(new Played().answer({ protocolVersion: 1 }).refuse({ code: -32_000, message: 'Log in' }).failure.code).toBe(
      'auth',
    );
    const error = { code: -32_603, message: 'Internal error', data: { details: 'HTTP 429: slow down' } };
    expect(new Played().begin().refuse(error).failure).toMatchObject({
      code: 'rate-limited',
      message: 'Internal error: HTTP 429: slow down',
    });
    expect(new Played().refuse({ code: 1, message: 'odd' }).failure.code).toBe('protocol');
    const cancelled = new Played().begin();
    cancelled.abort();
    // The last thing sent was the cancel, which has no answer.
    cancelled.say({ jsonrpc: '2.0', id: 3, error: { code: 1, message: 'odd' } });
    expect(cancelled.failure.code).toBe('aborted');
  });

  test('S037, S039, S040: without an answer the exit decides', () => {
    expect(new Played().exit().failure.code).toBe('empty-output');
    expect(new Played().begin().exit().failure.code).toBe('no-end-record');
    expect(new Played().begin().exit(null, 'SIGKILL').failure.code).toBe('signal');
    const stray = new Played()
      .begin()
      .say({ type: 'turn.failed', error: { message: '429 quota' } })
      .exit();
    expect(stray.failure.code).toBe('rate-limited');
    for (const status of ['pending', 'in_progress']) {
      const broken = new Played().begin().update(piece('hm'), call(status)).exit();
      expect(broken.failure).toMatchObject({ code: 'exited-mid-tool', detail: { tool: 'execute' } });
    }
  });

  test('S041: the first answer stands', () => {
    const agent = new Played().begin().update(piece('x')).answer({ stopReason: 'end_turn' });
    agent.answer({ stopReason: 'cancelled' }).update(piece('late')).exit(1);
    expect(endOf(agent.events)).toMatchObject({ text: 'x' });
    expect(notes(agent.events, 'second-end')).toHaveLength(1);
    expect(notes(agent.events, 'text')).toEqual(['exit code 1 after the end of the work']);
  });
});

describe('going on in a session', () => {
  const resume = { session: SESSION };

  test('the agent loads it and repeats the conversation: that is no work of ours', () => {
    const agent = new Played({ resume }).answer({ protocolVersion: 1, agentCapabilities: { loadSession: true } });
    expect(agent.last).toMatchObject({ method: 'session/load', params: { sessionId: SESSION } });
    agent.update({ sessionUpdate: 'user_message_chunk', content: {} }, piece('old'), call('completed'));
    agent.update({ sessionUpdate: 'usage_update', used: 1, size: 2, cost: { amount: 3, currency: 'USD' } });
    agent.answer({});
    // Some agents do so after their answer; when nothing came with a ping, it is over.
    expect(agent.last.method).toBe('_coxswain/ping');
    agent.update(piece('old too')).refuse({ code: -32_601, message: 'Method not found' });
    expect(agent.last.method).toBe('_coxswain/ping');
    agent.answer({});
    expect(JSON.stringify(agent.last)).toContain('You were interrupted');
    expect(JSON.stringify(agent.last)).not.toContain(TASK);
    agent.update(piece('new'), {
      sessionUpdate: 'usage_update',
      used: 1,
      size: 2,
      cost: { amount: 3.5, currency: 'USD' },
    });
    agent.answer({ stopReason: 'end_turn' });
    expect(agent.events.filter((event) => event.t === 'toolStart')).toEqual([]);
    expect(endOf(agent.events)).toMatchObject({ text: 'new' });
    expect(usageOf(agent)).toMatchObject({ turns: 1, costUsd: 0.5 });
  });

  test('or takes it up without; then it is told its task again, and what it cost before is not known', () => {
    const capabilities = { sessionCapabilities: { resume: {} } };
    const agent = new Played({ resume }).answer({ protocolVersion: 1, agentCapabilities: capabilities });
    expect(agent.last.method).toBe('session/resume');
    agent.answer({});
    expect(JSON.stringify(agent.last)).toContain(TASK);
    agent.update({ sessionUpdate: 'usage_update', used: 1, size: 2, cost: { amount: 3, currency: 'USD' } });
    agent.update(piece('x')).answer({ stopReason: 'end_turn' });
    expect(usageOf(agent)).not.toHaveProperty('costUsd');
  });

  test('an agent that cannot does not begin afresh', () => {
    const agent = new Played({ resume }).answer({ protocolVersion: 1 });
    expect(agent.failure).toMatchObject({ code: 'protocol', message: 'the agent cannot go on in an earlier session' });
    expect(agent.methods).toEqual(['initialize']);
  });
});

const option = (currentValue: string): object => ({ id: 'm', category: 'model', type: 'select', currentValue });

const opened = (current: string): object => ({ sessionId: SESSION, configOptions: [{ id: 'x' }, option(current)] });

describe('the model', () => {
  const model = 'p/wanted';

  test('is chosen by an option of the session, and told', () => {
    const agent = new Played({ model }).begin({}, opened('p/other'));
    expect(agent.last).toMatchObject({
      method: 'session/set_config_option',
      params: { sessionId: SESSION, configId: 'm', value: model },
    });
    agent.answer({ configOptions: [option(model)] });
    expect(agent.methods.at(-1)).toBe('session/prompt');
    expect(agent.events.at(-1)).toEqual({ t: 'model', model });
    expect(new Played({ model }).begin({}, opened(model)).last.method).toBe('session/prompt');
  });

  test('or by a request of its own', () => {
    const agent = new Played({ model }).begin({}, { sessionId: SESSION, models: { currentModelId: 'other' } });
    expect(agent.last).toMatchObject({ method: 'session/set_model', params: { modelId: model } });
    agent.answer({});
    expect(agent.events.at(-1)).toEqual({ t: 'model', model });
  });

  test.each([
    ['it cannot be chosen', (agent: Played) => agent.begin()],
    ['the agent refuses it', (agent: Played) => agent.begin({}, opened('x')).refuse({ code: 1, message: 'no' })],
    ['another one is used', (agent: Played) => agent.begin({}, opened('x')).answer({ configOptions: [option('x')] })],
  ])('is not silently another: %s', (_why, go) => {
    const agent = go(new Played({ model }));
    expect(agent.failure.code).toBe('model-unavailable');
    expect(agent.methods).not.toContain('session/prompt');
  });
});

const asks = (more: object = {}): object => ({
  jsonrpc: '2.0',
  id: 'q',
  method: 'session/request_permission',
  params: {
    sessionId: SESSION,
    toolCall: { toolCallId: 'c1', title: 'ls -l', kind: 'execute', status: 'pending' },
    options: ['allow_always', 'allow_once', 'reject_once'].map((kind) => ({
      optionId: `o-${kind}`,
      name: kind,
      kind,
    })),
    ...more,
  },
});

const outcome = (agent: Played): unknown => (agent.sent.at(-1) as { result?: { outcome: unknown } }).result?.outcome;

describe('what the agent asks', () => {
  test('whether it may use a tool: no, unless the settings say so', () => {
    const denied = new Played().begin().say(asks());
    expect(outcome(denied)).toEqual({ outcome: 'selected', optionId: 'o-reject_once' });
    const input = { title: 'ls -l' };
    expect(denied.events.at(-1)).toEqual({ t: 'permission', id: 'c1', tool: 'execute', input, answer: 'deny' });
    for (const permissions of [{ '*': 'allow' }, { execute: 'allow' }, { execute: 'allow', '*': 'deny' }] as const) {
      const allowed = new Played({ permissions }).begin().say(asks());
      expect(outcome(allowed)).toEqual({ outcome: 'selected', optionId: 'o-allow_once' });
      // It runs now, whether the agent says so or not.
      expect(allowed.events).toContainEqual({ t: 'toolStart', id: 'c1', name: 'execute', input });
    }
    const other = new Played({ permissions: { read: 'allow', execute: 'deny', '*': 'allow' } }).begin().say(asks());
    expect(outcome(other)).toEqual({ outcome: 'selected', optionId: 'o-reject_once' });
  });

  test('nothing is allowed any more when it was told to stop, or when there is no such option', () => {
    const aborted = new Played({ permissions: { '*': 'allow' } }).begin();
    expect(aborted.abort()).toBe(true);
    expect(aborted.last).toMatchObject({ method: 'session/cancel', params: { sessionId: SESSION } });
    expect(outcome(aborted.say(asks()))).toEqual({ outcome: 'cancelled' });
    expect(outcome(new Played().begin().say(asks({ options: 'odd' })))).toEqual({ outcome: 'cancelled' });
  });

  test('what was said before it asked is no answer, also when nothing more is told of the tool', () => {
    const agent = new Played().begin().update(piece('I will.')).say(asks()).update(piece('I may not.'));
    expect(endOf(agent.say({ jsonrpc: '2.0', id: 3, result: { stopReason: 'end_turn' } }).events)).toMatchObject({
      text: 'I may not.',
    });
    expect(usageOf(agent)).toMatchObject({ turns: 2, tools: 0 });
  });

  test('for our files and terminals: they are not offered', () => {
    const agent = new Played().begin().say({ jsonrpc: '2.0', id: 7, method: 'fs/read_text_file', params: {} });
    expect(agent.sent.at(-1)).toMatchObject({ id: 7, error: { code: -32_601 } });
    expect(notes(agent.events, 'text')).toHaveLength(1);
  });
});

const used = (result: object) =>
  usageOf(
    new Played()
      .begin()
      .update(piece('x'))
      .answer({ stopReason: 'end_turn', ...result }),
  );

const cost = (amount: number, currency: string): object => ({
  sessionUpdate: 'usage_update',
  cost: { amount, currency },
});

describe('what it used', () => {
  test('beside the answer, or in a quota, or not at all', () => {
    const usage = { inputTokens: 1, outputTokens: 2, thoughtTokens: 3, cachedReadTokens: 4, cachedWriteTokens: 5 };
    expect(used({ usage })).toEqual({ input: 1, output: 5, cacheRead: 4, cacheWrite: 5, turns: 1, tools: 0 });
    const quota = { quota: { token_count: { input_tokens: 6, output_tokens: 7 } } };
    expect(used({ _meta: quota })).toEqual({ input: 6, output: 7, cacheRead: 0, cacheWrite: 0, turns: 1, tools: 0 });
    expect(used({})).toMatchObject({ input: 0, output: 0 });
  });

  test('a cost of nothing, or in another currency, is not known', () => {
    const agent = new Played()
      .begin()
      .update(cost(0, 'USD'), cost(5, 'EUR'), piece('x'))
      .answer({ stopReason: 'end_turn' });
    expect(usageOf(agent)).not.toHaveProperty('costUsd');
  });
});

test('before there is a prompt there is nothing to cancel; a message is refused, and too late after the end', () => {
  const agent = new Played();
  expect(agent.abort()).toBe(false);
  agent.begin();
  const message = { id: 'm', text: 'm', mode: 'next' } as const;
  expect(agent.session.steer(message)).toEqual({ events: [], send: [], closeStdin: false, verdict: 'unsupported' });
  expect(agent.session.finish().closeStdin).toBe(true);
  agent.update(piece('x')).answer({ stopReason: 'end_turn' });
  expect(agent.session.steer(message).verdict).toBe('too-late');
  expect(agent.abort()).toBe(false);
});
