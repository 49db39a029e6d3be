import { describe, expect, test } from 'vitest';
import { TASK, endOf, notes, play } from './drive.ts';
import { type Change, Talk, codeOf, fixture, openAgent, testCaptured } from './rig.ts';

const FOLDER = 'codex-0.171.0';

describe('captured streams of Codex 0.171', () => {
  testCaptured('codex', FOLDER);

  test('what exec calls an error and goes on after is a note, and its other tries are told', () => {
    const session = openAgent('codex', EXEC).session;
    const events = play(session, fixture(FOLDER, 'error-401.jsonl'), { code: 1, signal: null });
    expect(notes(events, 'text')[0]).toContain('Model metadata');
    expect(events.filter(({ t }) => t === 'retry')).toMatchObject([
      { attempt: 1, max: 1, reason: expect.stringMatching(/^unexpected status 401.*responses$/) as string },
    ]);
    expect(endOf(events)).toMatchObject({ failure: { code: 'auth', detail: { status: 401 } } });
  });

  test('the app server tells of each turn', () => {
    const events = play(openAgent('codex').session, fixture(FOLDER, 'app-server-steer-then-interrupt.jsonl'));
    const ends = events.filter(({ t }) => t === 'final' || t === 'error' || t === 'resumed');
    expect(ends).toMatchObject([
      { t: 'final', text: 'Saw: STEER one' },
      { t: 'resumed' },
      { t: 'error', failure: { code: 'aborted' } },
    ]);
  });
});

const EXEC: Change = { given: { mode: 'exec' } };

/* ------------------------------------------------------------------ one-way */

const turnStarted = { type: 'turn.started' };
const message = (text: string): unknown => ({
  type: 'item.completed',
  item: { id: 'm', type: 'agent_message', text },
});
const command = (when: 'started' | 'completed', more: object = {}): unknown => ({
  type: `item.${when}`,
  item: { id: 'c', type: 'command_execution', command: 'x', aggregated_output: 'out', exit_code: null, ...more },
});
const completed = (input = 100, cached = 30, output = 5): unknown => ({
  type: 'turn.completed',
  usage: { input_tokens: input, cached_input_tokens: cached, cache_write_input_tokens: 10, output_tokens: output },
});
const turnFailed = (text: string): unknown => ({ type: 'turn.failed', error: { message: text } });
const exec = (...records: unknown[]): Talk => new Talk('codex', EXEC).say(...records);

describe('exec', () => {
  test('the task is all of stdin, and goes on in a thread with advice about that', () => {
    const { launch } = openAgent('codex', { ...EXEC, model: 'fake/some/model:high' });
    expect(launch.stdin).toEqual({ type: 'text', text: TASK });
    expect(launch.argv.join(' ')).not.toContain(TASK);
    expect(launch.argv).toEqual(expect.arrayContaining(['-m', 'some/model', 'model_provider="fake"']));
    expect(launch.argv).toContain('model_reasoning_effort="high"');
    expect(launch.argv.at(-1)).toBe('-');
    const later = openAgent('codex', { ...EXEC, resume: { session: 'thread-1#60.5.30.10' } }).launch;
    expect(later.argv.slice(-3)).toEqual(['resume', 'thread-1', '-']);
    expect(later.stdin).toMatchObject({ text: expect.stringContaining(TASK) as string });
  });

  test('cannot be spoken to', () => {
    const talk = exec(turnStarted);
    expect(talk.steer('m')).toBe('unsupported');
    expect(talk.session.abort().supported).toBe(false);
    expect(talk.session.wrapUp(1000).supported).toBe(false);
  });

  test('what went in is without what came from the cache or went there', () => {
    const { events } = exec(turnStarted, message('Done.'), completed());
    expect(events.findLast(({ t }) => t === 'usage')).toEqual({
      t: 'usage',
      usage: { input: 60, output: 5, cacheRead: 30, cacheWrite: 10, turns: 1, tools: 0 },
    });
  });

  test('a thread that is gone on with is not counted twice', () => {
    const first = exec({ type: 'thread.started', thread_id: 'thread-1' }, turnStarted, message('One.'), completed());
    const sessions = first.events.flatMap((event) => (event.t === 'session' ? [event.session] : []));
    expect(sessions).toEqual(['thread-1', 'thread-1#60.5.30.10']);
    const second = new Talk('codex', { ...EXEC, resume: { session: sessions[1] ?? '' } });
    second.say({ type: 'thread.started', thread_id: 'thread-1' }, turnStarted, message('Two.'), completed(180, 60, 9));
    expect(second.events.findLast(({ t }) => t === 'usage')).toMatchObject({
      usage: { input: 50, output: 4, cacheRead: 30, cacheWrite: 0 },
    });
  });

  test.each([
    ['S037', '429 quota', 0, 'rate-limited'],
    ['a cut answer', 'Incomplete response returned, reason: max_output_tokens', 1, 'length'],
    ['a lost stream', 'stream disconnected before completion: no', 1, 'model-unavailable'],
    ['anything else', 'no idea', 1, 'model-error'],
  ])('%s: turn.failed is a failure whatever the exit code', (_name, text, code, failure) => {
    expect(codeOf(exec(turnStarted, turnFailed(text)).exit({ code }).events)).toBe(failure);
  });

  test('S038, S039, S040: tools, nothing, and an exit in a tool', () => {
    const bad = command('completed', { exit_code: 1, status: 'failed' });
    const talk = exec(turnStarted, command('started'), bad, command('started'), command('completed', { exit_code: 0 }));
    talk.say(message('Good.'), completed());
    expect(talk.ends()).toMatchObject([{ t: 'final', text: 'Good.' }]);
    expect(talk.events.filter(({ t }) => t === 'toolEnd')).toMatchObject([{ ok: false }, { ok: true, output: 'out' }]);
    expect(codeOf(exec().exit().events)).toBe('empty-output');
    expect(codeOf(exec(turnStarted, completed()).events)).toBe('empty-output');
    expect(endOf(exec(turnStarted, command('started')).exit({ code: 1 }).events)).toMatchObject({
      failure: { code: 'exited-mid-tool', detail: { tool: 'command_execution' } },
    });
  });

  test('S041: of two ends the first stands, unless another turn began between them', () => {
    const talk = exec(turnStarted, message('Good.'), completed(), turnFailed('500')).exit();
    expect(codeOf(talk.events)).toBe('final');
    expect(notes(talk.events, 'second-end')).toHaveLength(1);
    expect(codeOf(exec(turnStarted, turnFailed('HTTP 500'), completed()).exit().events)).toBe('model-unavailable');
    const again = exec(turnStarted, turnFailed('HTTP 500'), turnStarted, message('Good.'), completed());
    expect(again.ends().map(({ t }) => t)).toEqual(['error', 'resumed', 'final']);
  });

  test('an error without the end of its turn', () => {
    const error = { type: 'error', message: 'unexpected status 503 Service Unavailable' };
    expect(codeOf(exec(turnStarted, error).exit({ code: 1 }).events)).toBe('model-unavailable');
    expect(codeOf(exec(turnStarted, error).exit({ code: null, signal: 'SIGKILL' }).events)).toBe('signal');
    expect(codeOf(exec(turnStarted).exit().events)).toBe('no-end-record');
    const gone = 'Error: thread/resume: thread/resume failed: no rollout found for thread id x (code -32600)';
    expect(endOf(exec().exit({ code: 1, stderrTail: `\n${gone}\n` }).events)).toMatchObject({
      failure: { code: 'exit-code', message: expect.stringContaining('no rollout found') as string },
    });
  });

  test('a tool that shows only at its end has begun, too', () => {
    const changed = { id: 'f', type: 'file_change', changes: [{ path: 'a', kind: 'add' }], status: 'completed' };
    const mcp = { id: 'm', type: 'mcp_tool_call', server: 's', tool: 't', arguments: {}, error: { message: 'no' } };
    const { events } = exec(
      turnStarted,
      { type: 'item.completed', item: changed },
      { type: 'item.completed', item: { ...mcp, status: 'failed' } },
    );
    expect(events.filter(({ t }) => t === 'toolStart' || t === 'toolEnd')).toMatchObject([
      { t: 'toolStart', name: 'file_change' },
      { t: 'toolEnd', ok: true },
      { t: 'toolStart', name: 's/t' },
      { t: 'toolEnd', ok: false, output: 'no' },
    ]);
  });
});

/* ------------------------------------------------------------------ two-way */

const answer = (id: string, result: object = {}): unknown => ({ id, result });
const refusal = (id: string, text: string): unknown => ({ id, error: { code: -32_600, message: text } });
const tell = (method: string, params: object): unknown => ({ method, params: { threadId: 'T', ...params } });
const opened = answer('coxswain-thread', { thread: { id: 'T' }, model: 'm', modelProvider: 'fake' });
const began = (id = 'turn-1'): unknown => tell('turn/started', { turn: { id, status: 'inProgress' } });
const ended = (status: string, error: object | null = null): unknown =>
  tell('turn/completed', { turn: { id: 'turn-1', status, error } });
const user = (key: string, text = TASK): unknown =>
  tell('item/started', { item: { type: 'userMessage', id: 'u', clientId: key, content: [{ type: 'text', text }] } });
const said = (text: string): unknown => tell('item/completed', { item: { type: 'agentMessage', id: 'a', text } });
const running = (more: object = {}): unknown =>
  tell('item/started', { item: { type: 'commandExecution', id: 'c', command: 'x', ...more } });
const used = (inputTokens: number, cachedInputTokens = 0, outputTokens = 1): unknown =>
  tell('thread/tokenUsage/updated', { tokenUsage: { total: { inputTokens, cachedInputTokens, outputTokens } } });
const steerOf = (id: string): string => `coxswain-steer/${id}`;

const server = (change: Change = {}): Talk => new Talk('codex', change).say(answer('coxswain-open'), opened);
const working = (): Talk =>
  server().say(answer('coxswain-turn/coxswain-task'), began(), user('coxswain-task'), running());
const methods = (talk: Talk): unknown[] => talk.sent.map(({ method }) => method);

describe('the app server', () => {
  test('is greeted, given a thread, and told the task', () => {
    const talk = server({ model: 'fake/m:max' });
    expect(methods(talk)).toEqual(['initialize', 'initialized', 'thread/start', 'turn/start']);
    expect(talk.sent[2]?.['params']).toMatchObject({
      cwd: '/project',
      model: 'm',
      modelProvider: 'fake',
      config: { model_reasoning_effort: 'xhigh' },
    });
    expect(talk.sent[3]?.['params']).toMatchObject({ threadId: 'T', input: [{ type: 'text', text: TASK }] });
    expect(openAgent('codex').launch.argv.slice(0, 2)).toEqual(['codex', 'app-server']);
    expect(talk.events).toContainEqual({ t: 'model', model: 'fake/m' });
    expect(talk.events.some(({ t }) => t === 'session')).toBe(false);
    talk.say(began(), user('coxswain-task'));
    expect(talk.events).toContainEqual({ t: 'session', session: 'T' });
  });

  test('goes on in a thread, and counts what it uses there from now on', () => {
    const talk = server({ resume: { session: 'T#1.2.3.4' } });
    expect(talk.sent[2]).toMatchObject({ method: 'thread/resume', params: { threadId: 'T' } });
    expect(JSON.stringify(talk.sent[3])).toContain('Go on where you left off');
    talk.say(used(300, 60, 40), began(), user('coxswain-task'), said('Again.'), used(450, 90, 60), ended('completed'));
    expect(talk.events.findLast(({ t }) => t === 'usage')).toMatchObject({
      usage: { input: 120, output: 20, cacheRead: 30, cacheWrite: 0, turns: 1 },
    });
    expect(talk.events.at(0)).not.toHaveProperty('costUsd');
    expect(codeOf(talk.events)).toBe('final');
  });

  test.each([
    ['coxswain-open', 'not today', 'spawn-failed'],
    ['coxswain-thread', 'no rollout found for thread id T', 'spawn-failed'],
    ['coxswain-thread', 'HTTP 503', 'model-unavailable'],
  ])('refuses %s (%s): %s', (id, text, code) => {
    const talk = new Talk('codex');
    if (id !== 'coxswain-open') talk.say(answer('coxswain-open'));
    expect(codeOf(talk.say(refusal(id, text)).exit().events)).toBe(code);
  });

  test('a message is queued when it is accepted, taken as an item, delivered when the turn goes on', () => {
    const talk = working();
    expect(talk.steer('m')).toBe('sent');
    expect(talk.sent.at(-1)).toMatchObject({
      method: 'turn/steer',
      params: { expectedTurnId: 'turn-1', clientUserMessageId: 'm' },
    });
    talk.say(answer(steerOf('m'), { turnId: 'turn-1' }));
    expect(talk.fate('m')).toEqual(['queued']);
    talk.say(user('m', 'text of m'));
    expect(talk.fate('m')).toEqual(['queued', 'taken']);
    talk.say(tell('item/agentMessage/delta', { delta: 'S' }), said('Seen.'), ended('completed'));
    expect(talk.fate('m')).toEqual(['queued', 'taken', 'delivered']);
    expect(talk.ends()).toMatchObject([{ t: 'final', text: 'Seen.' }]);
  });

  test('before the turn has begun a message waits for that', () => {
    const talk = server();
    talk.steer('m');
    expect(methods(talk)).not.toContain('turn/steer');
    talk.say(began());
    expect(methods(talk).at(-1)).toBe('turn/steer');
  });

  test('a message that came too late for its turn has one of its own', () => {
    const talk = working();
    talk.steer('m');
    talk.say(said('Done.'), ended('completed'));
    expect(talk.ends()).toEqual([]);
    talk.say(refusal(steerOf('m'), 'no active turn to steer'));
    expect(talk.sent.at(-1)).toMatchObject({ method: 'turn/start', params: { clientUserMessageId: 'm' } });
    talk.say(answer('coxswain-turn/m'), began('turn-2'), user('m'), said('And that.'), ended('completed'));
    expect(talk.fate('m')).toEqual(['taken', 'delivered']);
    expect(talk.ends()).toMatchObject([{ t: 'final', text: 'And that.' }]);
  });

  test('messages for after the answer follow one by one', () => {
    const talk = working();
    talk.steer('one', 'next');
    talk.steer('two', 'next');
    expect(methods(talk).at(-1)).toBe('turn/start');
    talk.say(said('Done.'), ended('completed'));
    talk.say(began('turn-2'), user('one'), said('One.'), ended('completed'));
    expect([talk.fate('one'), talk.fate('two')]).toEqual([['taken', 'delivered'], []]);
    talk.say(refusal('coxswain-turn/two', 'too long'));
    expect(talk.fate('two')).toEqual(['failed']);
    expect(talk.ends()).toMatchObject([{ t: 'final', text: 'One.' }]);
  });

  test('an interrupt ends the turn: what was taken into it is not delivered', () => {
    const talk = working();
    talk.steer('taken');
    talk.steer('later', 'next');
    talk.say(answer(steerOf('taken')), user('taken')).abort();
    expect(talk.sent.at(-1)).toMatchObject({
      method: 'turn/interrupt',
      params: { threadId: 'T', turnId: 'turn-1' },
    });
    expect(talk.steer('late')).toBe('too-late');
    talk.say(answer('coxswain-interrupt'), ended('interrupted')).exit();
    expect(talk.fate('taken')).toEqual(['queued', 'taken', 'aborted']);
    expect(talk.fate('later')).toEqual(['step-ended']);
    expect(codeOf(talk.events)).toBe('aborted');
  });

  test('an interrupt before the turn has begun goes there as soon as it has', () => {
    const talk = server().abort();
    expect(methods(talk)).not.toContain('turn/interrupt');
    expect(methods(talk.say(began()))).toContain('turn/interrupt');
  });

  test.each([
    ['contextWindowExceeded', 'too much', 'context-overflow'],
    ['usageLimitExceeded', 'no more', 'rate-limited'],
    ['unauthorized', 'no', 'auth'],
    ['badRequest', 'prompt is too long', 'context-overflow'],
    ['other', 'Incomplete response returned, reason: max_output_tokens', 'length'],
    [{ httpConnectionFailed: { httpStatusCode: 401 } }, 'no', 'auth'],
    [{ responseStreamDisconnected: { httpStatusCode: null } }, 'no', 'model-unavailable'],
    [{ odd: 1 }, 'no', 'model-error'],
  ])('a turn that failed with %j: its class', (codexErrorInfo, text, code) => {
    const error = { message: text, codexErrorInfo, additionalDetails: null };
    expect(codeOf(working().say(ended('failed', error)).events)).toBe(code);
    const told = working().say(tell('error', { error, willRetry: false }), ended('failed'));
    expect(codeOf(told.events)).toBe(code);
  });

  test('another try is told, with what it is tried again after', () => {
    const error = { message: 'Reconnecting... 2/5', codexErrorInfo: 'other', additionalDetails: 'HTTP 500' };
    const { events } = working().say(tell('error', { error, willRetry: true }));
    expect(events.at(-1)).toEqual({ t: 'retry', attempt: 2, max: 5, reason: 'HTTP 500' });
  });

  test('S063: thousands of pieces of an answer are activity, and the answer is there once', () => {
    const pieces = Array.from({ length: 2000 }, () => tell('item/agentMessage/delta', { delta: 'a piece' }));
    const output = Array.from({ length: 2000 }, () => tell('item/commandExecution/outputDelta', { delta: 'x' }));
    const { events } = working().say(...output, ...pieces, said('All.'), ended('completed'));
    expect(events.filter(({ t }) => t !== 'activity').length).toBeLessThan(20);
    expect(events.filter(({ t }) => t === 'final')).toHaveLength(1);
  });

  test('a helper’s thread is not its own', () => {
    const other = { threadId: 'H' };
    const talk = working().say(
      tell('turn/completed', { ...other, turn: { status: 'completed' } }),
      tell('thread/tokenUsage/updated', { ...other, tokenUsage: { total: { inputTokens: 1000 } } }),
    );
    expect(talk.ends()).toEqual([]);
    expect(talk.events.findLast(({ t }) => t === 'usage')).toMatchObject({ usage: { input: 0 } });
  });

  test('a question to a person is refused, so that nothing waits', () => {
    const talk = working().say(
      { id: 7, method: 'item/commandExecution/requestApproval', params: {} },
      { id: 'q', method: 'item/tool/requestUserInput', params: {} },
    );
    expect(talk.sent.slice(-2)).toMatchObject([
      { id: 7, result: { decision: 'decline' } },
      { id: 'q', error: {} },
    ]);
  });

  test('exits without an end', () => {
    expect(codeOf(working().exit().events)).toBe('exited-mid-tool');
    expect(codeOf(new Talk('codex').exit().events)).toBe('empty-output');
    expect(codeOf(server().exit().events)).toBe('no-end-record');
    const talk = working();
    talk.steer('m');
    talk.say(said('Done.'), ended('completed')).exit();
    expect(codeOf(talk.events)).toBe('final');
    expect(talk.fate('m')).toEqual(['step-ended']);
  });

  test('wrapping up goes to the running turn, and is nobody’s', () => {
    const talk = working().wrapUp();
    expect(methods(talk).at(-1)).toBe('turn/steer');
    talk.say(said('Done.'), ended('completed'), refusal(steerOf('coxswain-wrap-up'), 'no active turn to steer'));
    expect(methods(talk).at(-1)).toBe('turn/steer');
    expect(codeOf(talk.events)).toBe('final');
    const sent = talk.sent.length;
    expect(talk.wrapUp().sent).toHaveLength(sent);
  });

  test.each(['app-server', 'exec'])(
    '%s: it may write in its workspace, asks for nothing, tries again twice',
    (mode) => {
      const settingsIn = (permissions?: Record<string, 'allow'>, model: string | null = null): string[] => {
        const given = { mode, ...(permissions === undefined ? {} : { permissions }) };
        const { argv } = openAgent('codex', { given, model }).launch;
        return argv.filter((_, at) => argv[at - 1] === '-c');
      };
      const never = 'approval_policy="never"';
      expect(settingsIn()).toEqual([never, 'sandbox_mode="workspace-write"']);
      expect(settingsIn({ '*': 'allow' })).toEqual([never, 'sandbox_mode="danger-full-access"']);
      expect(settingsIn({})).toEqual([never]);

      const tries = (provider: string): string[] =>
        settingsIn({}, `${provider}/m`).filter((setting) => setting.includes('_max_retries'));
      expect(tries('fake')).toEqual([
        'model_providers.fake.request_max_retries=2',
        'model_providers.fake.stream_max_retries=2',
      ]);
      // Those it comes with take no settings, and a dot would name something else.
      for (const provider of ['openai', 'ollama', 'lmstudio', 'my.own']) expect(tries(provider)).toEqual([]);
    },
  );

  test.each([
    [{ mode: 'rpc' }, '"rpc"'],
    [{ task: 'file' }, '"task: file"'],
    [{ mode: 'exec', permissions: { Bash: 'allow' } }, '"Bash: allow"'],
  ] as const)('%j is refused', (given, words) => {
    expect(() => openAgent('codex', { given })).toThrow(words);
  });
});
