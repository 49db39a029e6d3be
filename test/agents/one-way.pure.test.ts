import { describe, expect, test } from 'vitest';
import { type AgentEvent, type LaunchRequest, createRegistry } from '../../src/agents/index.ts';
import { OK, type PlayedExit, TASK, endOf, lines, notes, open, play } from './drive.ts';

/** Records of one client, as its version of the fixtures has them. */
interface Client {
  tool(name: string, ok?: boolean): unknown[];
  openTool(name: string): unknown[];
  says(text: string): unknown[];
  ends(text: string): unknown[];
  fails(message: string): unknown[];
}

const step = (part: Record<string, unknown>, type: string): unknown => ({ type, sessionID: 'ses_1', part });
const finish = (reason: string, tokens: object = { input: 1, output: 2, reasoning: 4, cache: { read: 3, write: 5 } }) =>
  step({ reason, tokens, cost: 0.5 }, 'step_finish');
const begin = step({}, 'step_start');
const text = (said: string, messageID = 'm'): unknown => step({ text: said, messageID }, 'text');
const toolUse = (tool: string, state: object, callID = 'c1'): unknown => step({ tool, callID, state }, 'tool_use');

const opencode: Client = {
  tool: (name, ok = true) => [
    begin,
    toolUse(name, { status: ok ? 'completed' : 'error', input: {}, output: 'out', error: 'no' }),
    finish('tool-calls'),
  ],
  openTool: (name) => [begin, toolUse(name, { status: 'running', input: {} })],
  says: (said) => [begin, text(said)],
  ends: (said) => [begin, text(said), finish('stop')],
  fails: (message) => [{ type: 'error', sessionID: 'ses_1', error: { name: 'APIError', data: { message } } }],
};

const piece = (content: string): unknown => ({ type: 'message', role: 'assistant', content, delta: true });
const result = (status: string, more: object = {}): unknown => ({ type: 'result', status, stats: {}, ...more });
const gemini: Client = {
  tool: (name, ok = true) => [
    { type: 'tool_use', tool_name: name, tool_id: 't1', parameters: {} },
    { type: 'tool_result', tool_id: 't1', status: ok ? 'success' : 'error', output: 'out' },
  ],
  openTool: (name) => [{ type: 'tool_use', tool_name: name, tool_id: 't1', parameters: {} }],
  says: (said) => [piece(said)],
  ends: (said) => [piece(said), result('success')],
  fails: (message) => [result('error', { error: { type: 'unknown', message } })],
};

const failureOf = (events: readonly AgentEvent[]) => {
  const end = endOf(events);
  if (end.t !== 'error') throw new Error('the work ended well');
  return end.failure;
};

describe.each([
  ['opencode', opencode],
  ['gemini', gemini],
] as const)('%s: was it done?', (name, client) => {
  const run = (records: unknown[], exit: PlayedExit = OK): AgentEvent[] => play(open(name), lines(...records), exit);

  test('S037: an unknown record with an error gives the class when nothing else ends the work', () => {
    const events = run([{ type: 'turn.failed', error: { message: '429 quota' } }]);
    expect(failureOf(events)).toMatchObject({ code: 'rate-limited', message: '429 quota' });
    expect(notes(events, 'unknown-record')).toEqual(['unknown record "turn.failed": 429 quota']);
    expect(endOf(run([{ type: 'odd', error: 'odd' }, ...client.ends('the answer')])).t).toBe('final');
  });

  test('S038: a tool error before a good end stays visible and does not fail the work', () => {
    const events = run([...client.tool('a', false), ...client.tool('b'), ...client.ends('the answer')]);
    expect(endOf(events)).toMatchObject({ t: 'final', text: 'the answer' });
    expect(events.flatMap((event) => (event.t === 'toolEnd' ? [event.ok] : []))).toEqual([false, true]);
  });

  test('S039: exit 0 without any output', () => {
    expect(failureOf(run([])).code).toBe('empty-output');
  });

  test('S040: exit 0 while a tool runs names the tool and keeps the counts and what was said', () => {
    const events = run([...client.says('working'), ...client.openTool('bash')]);
    expect(failureOf(events)).toMatchObject({ code: 'exited-mid-tool', detail: { tool: 'bash', exitCode: 0 } });
    expect(events.findLast((event) => event.t === 'usage')?.usage).toMatchObject({ tools: 1 });
    expect(events.find((event) => event.t === 'message')?.text).toBe('working');
  });

  test.each([
    ['success first', (good: unknown[], bad: unknown[]) => [...good, ...bad], 'final'],
    ['error first', (good: unknown[], bad: unknown[]) => [...bad, ...good.slice(1)], 'error'],
  ])('S041: the first end stands: %s', (_name, order, expected) => {
    const events = run(order(client.ends('the answer'), client.fails('400 no')));
    expect(endOf(events).t).toBe(expected);
    expect(notes(events, 'second-end')).toHaveLength(1);
  });

  test('what was said before the last tool is no answer', () => {
    const events = run([...client.says('Let me see.'), ...client.tool('bash'), ...client.ends('')]);
    expect(failureOf(events).code).toBe('empty-output');
    expect(events.flatMap((event) => (event.t === 'message' ? [event.text] : []))).toEqual(['Let me see.']);
  });

  test('output without an end: the exit says what it can', () => {
    const said = client.says('half');
    expect(failureOf(run(said)).code).toBe('no-end-record');
    expect(failureOf(run([...said, ...client.tool('bash')])).code).toBe('no-end-record');
    expect(failureOf(run(said, { code: 3, signal: null }))).toMatchObject({ code: 'exit-code' });
    expect(failureOf(run(said, { code: null, signal: 'SIGKILL' }))).toMatchObject({ code: 'signal' });
    const stderrTail = 'banner\nError: HTTP 401 Unauthorized\n    at main\n';
    expect(failureOf(run(said, { code: 1, signal: null, stderrTail })).code).toBe('auth');
  });

  test('S063: many pieces, one final text', () => {
    const events = run([...client.says('x'), ...client.tool('t'), ...client.ends('y'.repeat(200_000))]);
    expect(events.filter((event) => event.t === 'message' && event.text.length === 200_000)).toHaveLength(1);
    expect(endOf(events)).toMatchObject({ truncated: false });
  });

  test('no message to people holds the task', () => {
    const events = run([{ type: 'odd', error: TASK }, ...client.fails(`400: bad message ${TASK}`)]);
    expect(failureOf(events).message).toBe('400: bad message [task]');
    expect(notes(events, 'unknown-record').join('')).not.toContain(TASK);
  });

  test('while it works it cannot be spoken to', () => {
    const session = open(name);
    session.start();
    expect(session.steer({ id: 'm', text: 'm', mode: 'now' }).verdict).toBe('unsupported');
    expect([session.abort().supported, session.wrapUp(1).supported, session.finish().closeStdin]).toEqual([
      false,
      false,
      false,
    ]);
  });
});

describe('gemini', () => {
  test('an error beside the work decides only when there is no result', () => {
    const trouble = { type: 'error', severity: 'error', message: '503 overloaded' };
    expect(failureOf(play(open('gemini'), lines(trouble))).code).toBe('model-unavailable');
    expect(endOf(play(open('gemini'), lines(trouble, ...gemini.ends('fine')))).t).toBe('final');
    const warning = { ...trouble, severity: 'warning' };
    expect(failureOf(play(open('gemini'), lines(warning, piece('x')))).code).toBe('no-end-record');
  });

  test('S076: what it used is told at its end, thinking within, and its cost is not known', () => {
    const stats = { input_tokens: 150, output_tokens: 20, cached: 30, total_tokens: 180 };
    const events = play(open('gemini'), lines(piece('a'), result('success', { stats })));
    const used = { input: 120, output: 30, cacheRead: 30, cacheWrite: 0, turns: 1, tools: 0 };
    expect(events.findLast((event) => event.t === 'usage')?.usage).toEqual(used);
  });
});

const usageOf = (...records: unknown[]) =>
  play(open('opencode'), lines(...records)).findLast((event) => event.t === 'usage')?.usage;

const final = (...said: unknown[]) => endOf(play(open('opencode'), lines(begin, ...said, finish('stop'))));

describe('opencode', () => {
  test('S075: each step counts once, also of work that failed later', () => {
    const used = { input: 2, output: 12, cacheRead: 6, cacheWrite: 10, turns: 2, tools: 0, costUsd: 1 };
    expect(usageOf(begin, finish('tool-calls'), begin, finish('stop'), ...opencode.fails('no'))).toEqual(used);
  });

  test('S076: tokens at a price of nothing are a cost that is not known', () => {
    const free = step({ reason: 'stop', tokens: { input: 5 }, cost: 0 }, 'step_finish');
    expect(usageOf(begin, finish('tool-calls'), begin, free)).not.toHaveProperty('costUsd');
    expect(usageOf(begin, step({ reason: 'stop', tokens: {}, cost: 0 }, 'step_finish'))?.costUsd).toBe(0);
  });

  test('an error that a new step comes after was none of the end', () => {
    const events = play(open('opencode'), lines(...opencode.fails('overloaded'), ...opencode.ends('fine')));
    expect(endOf(events)).toMatchObject({ t: 'final', text: 'fine' });
  });

  test('an answer counts only with a good exit: nothing else says that it was the last', () => {
    const answered = lines(...opencode.ends('fine'));
    expect(failureOf(play(open('opencode'), answered, { code: 1, signal: null })).code).toBe('exit-code');
    expect(failureOf(play(open('opencode'), answered, { code: null, signal: 'SIGTERM' })).code).toBe('signal');
  });

  test('the parts of one message are joined, another message begins anew', () => {
    expect(final(text('a'), text('b'))).toMatchObject({ text: 'ab' });
    expect(final(text('a'), text('b', 'n'))).toMatchObject({ text: 'b' });
  });

  test('a step that ended in an error, and one cut before it began', () => {
    expect(failureOf(play(open('opencode'), lines(begin, finish('error')))).code).toBe('model-error');
    expect(failureOf(play(open('opencode'), lines(begin, finish('length')))).code).toBe('length');
  });
});

const request = (change: Partial<LaunchRequest>): LaunchRequest => ({
  settings: { name: 'a', adapter: 'a', args: ['--last'] },
  task: TASK,
  run: null,
  model: null,
  cwd: '/work',
  env: { PATH: '/bin' },
  privateDir: '/p',
  sessionDir: '/s',
  resume: null,
  mailbox: null,
  ...change,
});

const launch = (name: string, change: Partial<LaunchRequest> = {}) => {
  const found = createRegistry({}, { env: {} }).get(name, 'task');
  if (found.type !== 'agent') throw new Error(found.message);
  return found.agent.adapter.launch(request(change));
};

describe('how they are started', () => {
  test('OpenCode: model and variant, session, task on stdin', () => {
    expect(launch('opencode')).toEqual({
      argv: ['opencode', 'run', '--format', 'json', '--last'],
      shell: false,
      cwd: '/work',
      env: { PATH: '/bin', OPENCODE_DISABLE_AUTOUPDATE: '1' },
      stdin: { type: 'text', text: TASK },
      exit: 'own',
    });
    const argvFor = (model: string) => launch('opencode', { model }).argv.slice(4, -1);
    expect(argvFor('anthropic/claude:high')).toEqual(['--model', 'anthropic/claude', '--variant', 'high']);
    expect(argvFor('ollama/llama:8b')).toEqual(['--model', 'ollama/llama:8b']);
    const resumed = launch('opencode', { resume: { session: 'ses_1' } });
    expect(resumed.argv.slice(4, -1)).toEqual(['--session', 'ses_1']);
    expect(resumed.stdin).toMatchObject({
      text: expect.stringMatching(/go on where you left off.*\n\nDo the task/s) as string,
    });
  });

  test('Gemini CLI: model, session, and what it may do', () => {
    expect(launch('gemini', { model: 'gemini-pro', resume: { session: 'id' } })).toMatchObject({
      argv: ['gemini', '--output-format', 'stream-json', '--model', 'gemini-pro', '--resume', 'id', '--last'],
      env: { PATH: '/bin', GEMINI_CLI_NO_RELAUNCH: 'true' },
      exit: 'own',
    });
    const settings = { name: 'a', adapter: 'gemini', command: ['g'], permissions: { '*': 'allow' as const } };
    expect(launch('gemini', { settings }).argv).toEqual([
      'g',
      '--output-format',
      'stream-json',
      '--approval-mode',
      'yolo',
    ]);
  });

  test('an ACP agent: its own command, spoken to by its stdin', () => {
    const found = createRegistry({ g: { name: 'g', adapter: 'acp', command: ['g', '--acp'] } }, { env: {} }).get(
      'g',
      'task',
    );
    if (found.type !== 'agent') throw new Error(found.message);
    const { adapter, settings } = found.agent;
    expect(adapter.launch(request({ settings: { ...settings, args: ['-x'] } }))).toEqual({
      argv: ['g', '--acp', '-x'],
      shell: false,
      cwd: '/work',
      env: { PATH: '/bin' },
      stdin: { type: 'protocol' },
      exit: 'asked',
    });
  });

  test.each([
    ['opencode', { mode: 'acp' }, 'has no modes'],
    ['opencode', { task: 'argv' }, '"task: '],
    ['opencode', { permissions: { bash: 'deny' } }, '"bash: deny"'],
    ['gemini', { mode: 'x' }, 'has no modes'],
    ['gemini', { task: 'file' }, '"task: '],
    ['gemini', { permissions: { '*': 'allow', shell: 'deny' } }, '"shell: deny"'],
    ['gemini', { permissions: { '*': 'ask' } }, '"*: ask"'],
    ['acp', {}, 'needs a "command"'],
    ['acp', { command: ['a'], mode: 'x' }, 'has no modes'],
    ['acp', { command: ['a'], task: 'stdin' }, '"task: '],
    ['acp', { command: ['a'], thinking: 'low' }, '"thinking: low"'],
  ] as const)('what %s cannot do is refused by name: %o', (adapter, settings, words) => {
    const registry = createRegistry({ mine: { name: 'mine', adapter, ...settings } as never }, { env: {} });
    const found = registry.get('mine', 'task');
    expect(found.type === 'refused' ? found.message : found.type).toContain(words);
    expect(registry.get('mine', 'run').type).toBe('refused');
  });
});
