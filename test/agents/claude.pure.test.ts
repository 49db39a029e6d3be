import { describe, expect, test } from 'vitest';
import { TASK, endOf, notes, play } from './drive.ts';
import { Talk, codeOf, fixture, openAgent, testCaptured } from './rig.ts';

const FOLDER = 'claude-2.1.197';

describe('captured streams of Claude Code 2.1', () => {
  testCaptured('claude', FOLDER);

  test('an interrupt, and a message after it: the end is taken back, and each turn is counted once', () => {
    const events = play(openAgent('claude').session, fixture(FOLDER, 'stdin-interrupt-then-message.jsonl'));
    const ends = events.filter(({ t }) => t === 'final' || t === 'error' || t === 'resumed');
    expect(ends.map(({ t }) => t)).toEqual(['error', 'resumed', 'final']);
    const usages = events.flatMap((event) => (event.t === 'usage' ? [event.usage] : []));
    // The second result says 0.00223 of the process; of the turn it would be 0.001115.
    expect(usages.at(-1)).toMatchObject({ input: 240, output: 40, costUsd: 0.00223 });
    for (const [n, usage] of usages.entries()) {
      expect(usage.input, `usage ${n}`).toBeGreaterThanOrEqual(usages[n - 1]?.input ?? 0);
    }
  });

  test('retries are told, with the status', () => {
    const events = play(openAgent('claude').session, fixture(FOLDER, 'error-429.jsonl'), { code: 1, signal: null });
    const retries = events.filter(({ t }) => t === 'retry');
    expect(retries).toHaveLength(2);
    expect(retries[0]).toEqual({ t: 'retry', attempt: 1, max: 2, delayMs: 543, reason: '429 rate_limit' });
    expect(endOf(events)).toMatchObject({ failure: { code: 'rate-limited', detail: { status: 429 } } });
    // An error's text is no answer.
    expect(events.filter(({ t }) => t === 'message')).toEqual([]);
  });

  test('killed while it tries again: what it tried again after is said', () => {
    const exit = { code: null, signal: 'SIGKILL' };
    const events = play(openAgent('claude').session, fixture(FOLDER, 'error-401-retrying-killed.jsonl'), exit);
    const { failure } = endOf(events) as Extract<ReturnType<typeof endOf>, { t: 'error' }>;
    expect(failure).toMatchObject({ code: 'signal', detail: { signal: 'SIGKILL', status: 401 } });
    expect(failure.message).toContain('401 authentication_failed');
    const left = play(openAgent('claude').session, fixture(FOLDER, 'error-401-retrying-killed.jsonl'));
    expect(codeOf(left)).toBe('auth');
  });

  test('a session that is gone is not tried again', () => {
    const resume = { session: 'ask.1.claude/99999999-2222-4333-8444-555555555555' };
    const events = play(openAgent('claude', { resume }).session, fixture(FOLDER, 'resume-unknown.jsonl'), {
      code: 1,
      signal: null,
    });
    expect(endOf(events)).toMatchObject({ failure: { code: 'spawn-failed' } });
  });
});

/* ------------------------------------------------------------------ records as Claude Code writes them */

const init = { type: 'system', subtype: 'init', session_id: 's', model: 'm', tools: ['Bash'] };
const usage = { input_tokens: 10, output_tokens: 1, cache_read_input_tokens: 3, cache_creation_input_tokens: 2 };
const assistant = (text: string, id = 'a1', more: object = {}): unknown => ({
  type: 'assistant',
  message: { id, role: 'assistant', model: 'm', content: [{ type: 'text', text }], usage },
  parent_tool_use_id: null,
  ...more,
});
const toolUse = (id = 't1', name = 'Bash', message = 'a1'): unknown => ({
  type: 'assistant',
  message: { id: message, model: 'm', content: [{ type: 'tool_use', id, name, input: { command: 'x' } }], usage },
  parent_tool_use_id: null,
});
const toolResult = (id = 't1', isError = false): unknown => ({
  type: 'user',
  message: { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'out', is_error: isError }] },
});
const result = (text: string, more: object = {}): unknown => ({
  type: 'result',
  subtype: 'success',
  is_error: false,
  result: text,
  stop_reason: 'end_turn',
  total_cost_usd: 0.5,
  usage: { ...usage, output_tokens: 7 },
  ...more,
});
const aborted = result('', { subtype: 'error_during_execution', is_error: true, terminal_reason: 'aborted_tools' });
const failing = (text: string, status: number | null = null): unknown =>
  result(text, { is_error: true, api_error_status: status });
/** The n-th thing we sent, taken. */
const replay = (talk: Talk, n: number): unknown => ({ ...talk.sent[n], isReplay: true });

const working = (): Talk => {
  const talk = new Talk('claude');
  return talk.say(init, replay(talk, 0), assistant('Working.'), toolUse());
};

const after = (...records: unknown[]): Talk => working().say(toolResult(), ...records);
const ask = (subtype: string): unknown => ({ type: 'control_request', request_id: 'q', request: { subtype } });

describe('how it is started', () => {
  test('the task is the first message on stdin and in no argument; the session is named by us', () => {
    const given = { args: ['--bare'], permissions: {} };
    const { launch } = openAgent('claude', { model: 'anthropic/claude-x:minimal', given });
    expect(launch.argv.join(' ')).not.toContain(TASK);
    expect(launch.argv.slice(-5)).toEqual(['--model', 'claude-x', '--effort', 'low', '--bare']);
    expect(launch).toMatchObject({ stdin: { type: 'protocol' }, exit: 'asked' });
    const [first] = new Talk('claude').sent;
    expect(first).toMatchObject({ type: 'user', message: { role: 'user', content: [{ type: 'text', text: TASK }] } });
    expect(first?.['uuid']).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test('few retries, a configuration of its own, and nothing of a Claude Code around it', () => {
    const env = { KEPT: '1', CLAUDECODE: '1', CLAUDE_CODE_ENTRYPOINT: 'cli', ANTHROPIC_API_KEY: 'k' };
    const { launch } = openAgent('claude', { env });
    expect(launch.env).toMatchObject({
      KEPT: '1',
      CLAUDE_CODE_MAX_RETRIES: '2',
      CLAUDE_CONFIG_DIR: '/run/sessions/ask.1.claude',
    });
    expect(launch.env).not.toHaveProperty('CLAUDECODE');
    expect(launch.env).not.toHaveProperty('CLAUDE_CODE_ENTRYPOINT');
    expect(launch.folders).toEqual(['/run/sessions/ask.1.claude']);
    const own = openAgent('claude', { env: { CLAUDE_CODE_MAX_RETRIES: '0', CLAUDE_CONFIG_DIR: '/mine' } }).launch;
    expect(own.env).toMatchObject({ CLAUDE_CODE_MAX_RETRIES: '0', CLAUDE_CONFIG_DIR: '/mine' });
    expect(own.folders).toBeUndefined();
  });

  test.each([
    [{}, false],
    [{ ANTHROPIC_API_KEY: '' }, false],
    [{ ANTHROPIC_API_KEY: 'k', CLAUDE_CONFIG_DIR: '/mine' }, false],
    [{ ANTHROPIC_API_KEY: 'k' }, true],
    [{ ANTHROPIC_AUTH_TOKEN: 'k' }, true],
    [{ CLAUDE_CODE_OAUTH_TOKEN: 'k' }, true],
    [{ CLAUDE_CODE_USE_BEDROCK: '1' }, true],
    [{ CLAUDE_CODE_USE_VERTEX: '1' }, true],
  ] as [Record<string, string>, boolean][])(
    'with %j in its environment a folder of its own would hide no login: %s',
    (env, own) => {
      const folder = '/run/sessions/ask.1.claude';
      const { launch } = openAgent('claude', { env });
      expect(launch.env['CLAUDE_CONFIG_DIR']).toBe(own ? folder : env['CLAUDE_CONFIG_DIR']);
      expect(launch.folders).toEqual(own ? [folder] : undefined);
    },
  );

  test('a session in the folder of the user is gone on with there, whatever the environment holds by then', () => {
    const talk = new Talk('claude').say(init, assistant('Working.'));
    const session = talk.events.flatMap((event) => (event.t === 'session' ? [event.session] : []))[0] ?? '';
    expect(session).toMatch(/^[0-9a-f-]{36}$/);
    const resume = { session };
    const { launch } = openAgent('claude', { resume, env: { ANTHROPIC_API_KEY: 'k' } });
    expect(launch.argv[launch.argv.indexOf('--resume') + 1]).toBe(session);
    expect(launch.env).not.toHaveProperty('CLAUDE_CONFIG_DIR');
    // Nor does a record lead out of the sessions.
    const odd = openAgent('claude', { resume: { session: `../${session}` } }).launch;
    expect(odd.env).not.toHaveProperty('CLAUDE_CONFIG_DIR');
  });

  test('a later attempt goes on in the session of an earlier one, in its folder', () => {
    const before = openAgent('claude', { env: { ANTHROPIC_API_KEY: 'k' } }).launch;
    const id = before.argv[before.argv.indexOf('--session-id') + 1] ?? '';
    const later = { privateDir: '/run/attempts/ask/2', resume: { session: `ask.1.claude/${id}` } };
    const { launch } = openAgent('claude', later);
    expect(launch.argv[launch.argv.indexOf('--resume') + 1]).toBe(id);
    expect(launch.env['CLAUDE_CONFIG_DIR']).toBe('/run/sessions/ask.1.claude');
    const talk = new Talk('claude', later);
    expect(talk.events).toEqual([{ t: 'session', session: `ask.1.claude/${id}` }]);
    expect(JSON.stringify(talk.sent)).toContain('Go on where you left off');
    expect(JSON.stringify(talk.sent)).not.toContain(TASK);
    // Whatever a record says, it is a folder among the sessions.
    const odd = openAgent('claude', { resume: { session: '../../etc/passwd' } }).launch;
    expect(odd.env['CLAUDE_CONFIG_DIR']).toBe('/run/sessions/etc');
  });

  test('its session is on record when it holds something, not before', () => {
    const talk = new Talk('claude').say(init);
    expect(talk.events.some(({ t }) => t === 'session')).toBe(false);
    talk.say(assistant('Working.'), assistant('Still.'));
    expect(talk.events.filter(({ t }) => t === 'session')).toHaveLength(1);
  });

  test('what it says that it has is told once', () => {
    const said = {
      type: 'system',
      subtype: 'init',
      model: 'm',
      tools: ['Bash', 'Read'],
      skills: ['debug'],
      plugins: [{ name: 'p', path: '/p' }],
      mcp_servers: [{ name: 'mine', status: 'failed' }],
      claude_code_version: '2.1.197',
    };
    const talk = new Talk('claude').say(said, said);
    expect(talk.events.filter(({ t }) => t === 'client')).toEqual([
      {
        t: 'client',
        client: {
          version: '2.1.197',
          tools: ['Bash', 'Read'],
          skills: ['debug'],
          extensions: ['p'],
          mcp: [{ name: 'mine', status: 'failed' }],
        },
      },
    ]);
    // Whatever stands there, reading it throws nothing.
    new Talk('claude').say({ ...said, tools: [7, { name: 5 }, null], mcp_servers: [null, 'x'], skills: 'x' });
  });

  test('permissions are arguments of its own', () => {
    const permissions = { Bash: 'allow', Read: 'allow', WebFetch: 'deny' } as const;
    const some = openAgent('claude', { given: { permissions } }).launch.argv;
    expect(some).toEqual(expect.arrayContaining(['--allowedTools=Bash,Read', '--disallowedTools=WebFetch']));
    const all = openAgent('claude', { given: { permissions: { '*': 'allow' } } }).launch.argv;
    expect(all).toEqual(expect.arrayContaining(['--permission-mode', 'bypassPermissions']));
    const but = openAgent('claude', { given: { permissions: { '*': 'allow', Bash: 'deny' } } }).launch.argv;
    expect(but).toEqual(expect.arrayContaining(['bypassPermissions', '--disallowedTools=Bash']));
  });

  test('without any it may edit in its working directory; with some, only what they say', () => {
    const byItself = openAgent('claude').launch.argv;
    expect(byItself[byItself.indexOf('--permission-mode') + 1]).toBe('acceptEdits');
    for (const permissions of [{}, { Bash: 'allow' }] as const) {
      expect(openAgent('claude', { given: { permissions } }).launch.argv).not.toContain('--permission-mode');
    }
  });

  test.each([
    [{ mode: 'rpc' }, 'no modes'],
    [{ task: 'argv' }, '"task: argv"'],
  ] as const)('%j is refused', (given, words) => {
    expect(() => openAgent('claude', { given })).toThrow(words);
  });
});

describe('a message for the running work', () => {
  test('is taken when it is repeated, and delivered when the turn goes on', () => {
    const talk = working();
    expect(talk.steer('m')).toBe('sent');
    expect(talk.sent.at(-1)).toMatchObject({ priority: 'next' });
    talk.say(toolResult());
    expect(talk.fate('m')).toEqual([]);
    talk.say(replay(talk, 1));
    expect(talk.fate('m')).toEqual(['taken']);
    talk.say(assistant('Seen.', 'a2'), result('Seen.'));
    expect(talk.fate('m')).toEqual(['taken', 'delivered']);
    expect(talk.ends()).toMatchObject([{ t: 'final', text: 'Seen.' }]);
  });

  test('for after the answer begins a turn of its own, and its answer is the end', () => {
    const talk = working();
    talk.steer('m', 'next');
    expect(talk.sent.at(-1)).toMatchObject({ priority: 'later' });
    const two = {
      usage: { input_tokens: 20, cache_read_input_tokens: 6, cache_creation_input_tokens: 4, output_tokens: 9 },
    };
    talk.say(toolResult(), assistant('Done.', 'a2'), result('Done.', two));
    expect(talk.ends()).toEqual([]);
    talk.say(init, replay(talk, 1), assistant('And that.', 'a3'), result('And that.', { total_cost_usd: 0.75 }));
    expect(talk.fate('m')).toEqual(['taken', 'delivered']);
    expect(talk.ends()).toMatchObject([{ t: 'final', text: 'And that.' }]);
    expect(talk.events.findLast(({ t }) => t === 'usage')).toMatchObject({
      usage: { input: 30, output: 16, cacheRead: 9, cacheWrite: 6, costUsd: 0.75, turns: 3, tools: 1 },
    });
  });

  test('with the text of another is not taken for it', () => {
    const talk = working();
    talk.steer('one', 'now', 'the same');
    talk.steer('two', 'now', 'the same');
    talk.say(replay(talk, 2));
    expect([talk.fate('one'), talk.fate('two')]).toEqual([[], ['taken']]);
  });

  test('that is taken into an interrupted turn is not delivered, and its queue is not worked at', () => {
    const talk = working();
    talk.steer('taken');
    talk.steer('queued');
    talk.say(replay(talk, 1)).abort();
    expect(talk.sent.at(-1)).toMatchObject({ type: 'control_request', request: { subtype: 'interrupt' } });
    expect(talk.steer('late')).toBe('too-late');
    talk.say(toolResult('t1', true), aborted);
    expect(talk.fate('taken')).toEqual(['taken', 'aborted']);
    expect(talk.ends()).toMatchObject([{ t: 'error', failure: { code: 'aborted' } }]);
    const before = talk.sent.length;
    talk.say(init);
    expect(talk.sent.slice(before)).toMatchObject([{ request: { subtype: 'interrupt' } }]);
    talk.say(aborted).exit();
    expect(talk.fate('queued')).toEqual(['step-ended']);
    expect(codeOf(talk.events)).toBe('aborted');
  });

  test('on which the model fails is undelivered, failed', () => {
    const talk = working();
    talk.steer('m');
    talk.say(toolResult(), replay(talk, 1), failing('API Error: 529 Overloaded', 529)).exit({ code: 1 });
    expect(talk.fate('m')).toEqual(['taken', 'failed']);
    expect(codeOf(talk.events)).toBe('model-unavailable');
    expect(notes(talk.events, 'text')).toEqual([]);
  });

  test('after the end is too late', () => {
    const talk = working().say(toolResult(), result('Done.'));
    expect(talk.steer('m')).toBe('too-late');
    expect(talk.exit().steer('n')).toBe('too-late');
  });

  test('of which nothing was heard any more has its end with the child', () => {
    const talk = working();
    talk.steer('m');
    talk.exit({ code: null, signal: 'SIGKILL' });
    expect(talk.fate('m')).toEqual(['step-ended']);
    expect(codeOf(talk.events)).toBe('exited-mid-tool');
  });

  test('to wrap up is nobody’s, and one that came too late takes nothing back', () => {
    const talk = working().wrapUp();
    talk.say(toolResult(), assistant('Done.', 'a2'), result('Done.'));
    talk.say(init, replay(talk, 1), assistant('Wrapped.', 'a3'), result('Wrapped.')).exit();
    expect(talk.ends()).toMatchObject([{ t: 'final', text: 'Done.' }]);
    expect(notes(talk.events, 'second-end')).toHaveLength(1);
    expect(talk.events.some(({ t }) => t === 'steer')).toBe(false);
  });
});

describe('how the end is read', () => {
  test('is_error stands beside "success", and decides', () => {
    expect(codeOf(after(failing('API Error: 400 prompt is too long: 9 tokens > 8', 400)).events)).toBe(
      'context-overflow',
    );
    expect(codeOf(after(failing('API Error: 401 no', 401)).events)).toBe('auth');
    const named = assistant('API Error: slow down', 'x', { error: 'rate_limit' });
    expect(codeOf(after(named, failing('API Error: slow down')).events)).toBe('rate-limited');
    expect(codeOf(after(result('x', { is_error: undefined })).events)).toBe('model-error');
  });

  test('S038: an early tool error stays visible, and the answer after it is the result', () => {
    const talk = working().say(toolResult('t1', true), toolUse('t2', 'Read', 'a2'), toolResult('t2'), result('Good.'));
    expect(talk.ends()).toMatchObject([{ t: 'final', text: 'Good.' }]);
    expect(talk.events.filter(({ t }) => t === 'toolEnd')).toMatchObject([{ ok: false }, { ok: true }]);
  });

  test('S039: nothing at all, and an empty answer', () => {
    expect(codeOf(new Talk('claude').exit().events)).toBe('empty-output');
    expect(codeOf(after(result(' \n')).events)).toBe('empty-output');
    expect(codeOf(after(result('', { stop_reason: 'max_tokens' })).events)).toBe('length');
    expect(endOf(after(result('Cut', { stop_reason: 'max_tokens' })).events)).toMatchObject({ stop: 'length' });
  });

  test('S040: an exit in a tool names it, and what it has used is known as far as it was said', () => {
    const { events } = working().exit();
    expect(endOf(events)).toMatchObject({ failure: { code: 'exited-mid-tool', detail: { tool: 'Bash' } } });
    expect(events.findLast(({ t }) => t === 'usage')).toMatchObject({
      usage: { input: 10, output: 1, cacheRead: 3, cacheWrite: 2, turns: 1, tools: 1 },
    });
  });

  test('S041: of two results in a turn the first stands', () => {
    for (const [first, second, code] of [
      [result('Good.'), failing('Bad', 500), 'final'],
      [failing('Bad', 500), result('Good.'), 'model-unavailable'],
    ] as const) {
      const talk = after(first, second).exit();
      expect(codeOf(talk.events)).toBe(code);
      expect(notes(talk.events, 'second-end')).toHaveLength(1);
    }
  });

  test('an end of a kind nobody knows is a failure that names the kind', () => {
    const ended = after(result('', { subtype: 'error_max_turns', is_error: true }));
    expect(endOf(ended.events)).toMatchObject({
      failure: { code: 'model-error', detail: { subtype: 'error_max_turns' } },
    });
  });

  test('without an end', () => {
    expect(codeOf(new Talk('claude').say(init).exit().events)).toBe('no-end-record');
    const refused = '--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons';
    expect(endOf(new Talk('claude').exit({ code: 1, stderrTail: `${refused}\n` }).events)).toMatchObject({
      failure: { code: 'exit-code', message: `ended with exit code 1: ${refused}` },
    });
    expect(codeOf(new Talk('claude').say(init, { type: 'error', error: { message: '503' } }).exit().events)).toBe(
      'model-unavailable',
    );
  });

  test('an exit code after a good end is a note', () => {
    const talk = after(result('Good.')).exit({ code: 143 });
    expect(codeOf(talk.events)).toBe('final');
    expect(notes(talk.events, 'text')).toEqual(['exit code 143 after the end of the work']);
  });
});

describe('what else it says', () => {
  test('S063: thousands of pieces of an answer are activity, and the answer is there once', () => {
    const piece = { type: 'stream_event', event: { delta: { text: 'the text so far' } } };
    const { events } = after(...Array.from({ length: 2000 }, () => piece), assistant('All.', 'a2'), result('All.'));
    expect(events.filter(({ t }) => t !== 'activity').length).toBeLessThan(20);
    expect(events.filter(({ t }) => t === 'final')).toHaveLength(1);
  });

  test('a helper’s words are not its own, its tools are counted', () => {
    const helper = { parent_tool_use_id: 't1' };
    const talk = working().say(assistant('From the helper.', 'h1', helper));
    talk.steer('m');
    talk.say(replay(talk, 1), assistant('Again.', 'h1', helper));
    expect(talk.fate('m')).toEqual(['taken']);
    expect(JSON.stringify(talk.events)).not.toContain('From the helper');
    expect(talk.events.findLast(({ t }) => t === 'usage')).toMatchObject({ usage: { turns: 1, input: 10 } });
  });

  test('a question to a person is refused, so that nothing waits', () => {
    const talk = working().say(ask('can_use_tool'), ask('hook_callback'));
    expect(talk.sent.slice(-2)).toMatchObject([
      { response: { subtype: 'success', request_id: 'q', response: { behavior: 'deny' } } },
      { response: { subtype: 'error', request_id: 'q' } },
    ]);
  });

  test('tools it was not allowed to use are named', () => {
    const denials = [{ tool_name: 'Bash' }, { tool_name: 'Bash' }, { tool_name: 'Write' }];
    const talk = working().say(result('I could not.', { permission_denials: denials }));
    expect(notes(talk.events, 'text')).toEqual(['it was not allowed to use Bash, Write']);
  });

  test('the task and messages are kept out of failures and notes', () => {
    const talk = working();
    talk.steer('m', 'now', 'a secret message of somebody');
    talk.say(`${TASK} and more`, { type: 'odd', error: `it said: a secret message of somebody` });
    talk.say(failing(`bad request: ${TASK}`, 400));
    const told = JSON.stringify(talk.events.filter(({ t }) => t === 'note' || t === 'error'));
    expect(told).not.toContain(TASK);
    expect(told).not.toContain('a secret message');
  });
});
