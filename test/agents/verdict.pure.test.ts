import { describe, expect, test } from 'vitest';
import type { AgentEvent, AgentSession } from '../../src/agents/index.ts';
import { type Told, classify } from '../../src/agents/failure/classify.ts';
import { modelFailure } from '../../src/agents/verdict.ts';
import { TASK, endOf, failing, lines, open, play, runEnd, runStart } from './drive.ts';

const failureOf = (session: AgentSession, stderrTail: string): AgentEvent =>
  endOf(play(session, '', { code: 1, signal: null, stderrTail }));
const detailOf = (error: string): Told['detail'] => classify(error, 'model').detail;

describe('S068: the class of a failure', () => {
  test.each([
    ['The usage limit has been reached', 'rate-limited'],
    ['{"error_code":"REQUEST_LIMIT_EXCEEDED"}', 'rate-limited'],
    ['HTTP 529 overloaded', 'model-unavailable'],
    ['stream ended without finish_reason', 'model-unavailable'],
  ])('of an agent that says %s is %s', (error, code) => {
    const said = play(open('pi', { mode: 'json' }), lines(runStart, failing(error), runEnd));
    expect(endOf(said)).toMatchObject({ t: 'error', failure: { code } });
    const exit = { code: 1, signal: null, stderrTail: `starting\n${error}\n` };
    expect(endOf(play(open('command', { task: TASK }), '', exit))).toMatchObject({
      failure: { code, detail: { exitCode: 1 } },
    });
  });

  test('of exit 1 with "invalid api key" is auth, for an agent on either adapter', () => {
    const exit = { code: 1, signal: null, stderrTail: 'invalid api key\n' };
    for (const session of [open('command'), open('pi')]) {
      expect(endOf(play(session, '', exit))).toEqual({
        t: 'error',
        failure: {
          code: 'auth',
          message: 'ended with exit code 1: invalid api key',
          detail: { exitCode: 1 },
        },
      });
    }
  });
});

test.each([
  // by the provider's own code
  ['429: {"error":{"type":"rate_limit_error","message":"slow"}}', 'rate-limited'],
  ['529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', 'model-unavailable'],
  ['400 {"error":{"code":"context_length_exceeded","type":"invalid_request_error"}}', 'context-overflow'],
  [
    '{"error":{"code":400,"status":"INVALID_ARGUMENT","details":[{"reason":"API_KEY_INVALID"}],"message":"no"}}',
    'auth',
  ],
  ['{"error":{"message":"{\\"error\\":{\\"code\\":503,\\"status\\":\\"UNAVAILABLE\\"}}"}}', 'model-unavailable'],
  ['{"error":{"code":"required_tool_unavailable"}}', 'tool-unavailable'],
  ['Error: com.example#ThrottlingException: Too many tokens, please wait', 'rate-limited'],
  ['Unhandled stop reason: model_context_window_exceeded', 'context-overflow'],
  ['connect ECONNREFUSED 127.0.0.1:1', 'model-unavailable'],
  ['connect ETIMEDOUT 192.0.2.1:443', 'model-timeout'],
  // by the status
  ['429 Rate limited', 'rate-limited'],
  ['429: {"message":"x"}', 'rate-limited'],
  ['402 no money', 'rate-limited'],
  ['401: {"message":"Bad key"}', 'auth'],
  ['403 Forbidden', 'auth'],
  ['500 Internal error', 'model-unavailable'],
  ['502 x', 'model-unavailable'],
  ['504 Gateway Timeout', 'model-unavailable'],
  ['[503 Service Unavailable] later', 'model-unavailable'],
  ['529 Overloaded', 'model-unavailable'],
  ['408 x', 'model-timeout'],
  ['413 {"error":{"type":"request_too_large"}}', 'context-overflow'],
  ['404 {"type":"not_found_error","message":"model: x-1"}', 'model-unavailable'],
  ['404 page not found', 'model-error'],
  ['400 Bad request (scripted)', 'model-error'],
  // by its words
  ['You exceeded your current quota', 'rate-limited'],
  ['You have hit your ChatGPT usage limit (plus plan). Try again in ~12 min.', 'rate-limited'],
  ['400 Your credit balance is too low', 'rate-limited'],
  ['No API key found for anthropic.', 'auth'],
  ['Invalid API key', 'auth'],
  ['400 API key not valid. Please pass a valid API key.', 'auth'],
  ['OAuth token has expired', 'auth'],
  ['400 prompt is too long: 250000 tokens > 200000 maximum', 'context-overflow'],
  ['context length exceeded', 'context-overflow'],
  ["This model's maximum context length is 8192 tokens", 'context-overflow'],
  ['the request exceeds the available context size, try increasing it', 'context-overflow'],
  ['400 max_tokens: 100000 is over 64000, the maximum allowed number of output tokens', 'model-error'],
  ['Request timed out.', 'model-timeout'],
  ['fetch failed', 'model-unavailable'],
  ['Connection error.', 'model-unavailable'],
  ['read: connection reset by peer', 'model-unavailable'],
  ['Connection refused', 'model-unavailable'],
  ['terminated: other side closed (UND_ERR_SOCKET)', 'model-unavailable'],
  ['Error: Model "nope/x" not found. Use --list-models to see available models.', 'model-unavailable'],
  ['Unknown model: x', 'model-unavailable'],
  ['The model `x` has been disabled', 'model-unavailable'],
  ['The required tool "web_search" is not available', 'tool-unavailable'],
  // by nothing we know
  ['Provider finish_reason: content_filter', 'model-error'],
  ['the author of this is unknown', 'model-error'],
  ['the data model has no field "x"', 'model-error'],
  ['bash failed (exit 1): connection refused', 'model-error'],
  ['40000 things went wrong', 'model-error'],
  ['{"type":"agen', 'model-error'],
  ['', 'model-error'],
])('%s -> %s', (error, code) => {
  expect(modelFailure(error, '').code).toBe(code);
});

test.each([
  'fatal: unable to look up the author identity',
  '500 tests failed',
  '429 files changed',
  'tar: write error: Disk quota exceeded',
  'sh: 1: ./x: Permission denied',
  "PermissionError: [Errno 13] Permission denied: '/x'",
  'SyntaxError: Invalid or unexpected token',
  'FAIL model.test.ts: expected 401 to be 200',
  'cat failed with exit code 1: fetch failed',
  'API docs have no such page',
  'Timed out waiting for the element',
  '',
])('a program may say %s, and its exit code stays the failure', (said) => {
  expect(endOf(play(open('command'), '', { code: 2, signal: null, stderrTail: said }))).toMatchObject({
    failure: { code: 'exit-code', detail: { exitCode: 2 } },
  });
});

describe('what stderr says', () => {
  test('counts for a command agent in its last line only', () => {
    expect(failureOf(open('command'), 'invalid api key\nbye\n')).toMatchObject({ failure: { code: 'exit-code' } });
  });

  test('counts for pi in any line that is no warning', () => {
    const advice = 'No API key found for fake.\n\nUse /login to log in. See:\n  /opt/docs/providers.md\n';
    expect(failureOf(open('pi'), advice)).toMatchObject({
      failure: { code: 'auth', message: 'ended with exit code 1: No API key found for fake.' },
    });
    const warning = '\u001B[33mWarning: Model "x" not found for provider "y".\u001B[0m\nTypeError: x\n';
    expect(failureOf(open('pi'), warning)).toMatchObject({
      failure: { code: 'exit-code', message: 'ended with exit code 1: TypeError: x' },
    });
  });

  test('does not count for a command step, nor after a signal', () => {
    const step = open('command', { run: ['x'], task: null });
    expect(failureOf(step, 'HTTP 429')).toMatchObject({ failure: { code: 'exit-code', detail: { exitCode: 1 } } });
    const killed = { code: null, signal: 'SIGKILL', stderrTail: 'HTTP 429' };
    expect(endOf(play(open('command'), '', killed))).toMatchObject({ failure: { code: 'signal' } });
  });

  test('does not count where it quotes the task', () => {
    const task = 'Find out why we get "429 Too Many Requests" here';
    expect(failureOf(open('command', { task }), `cannot do: ${task}`)).toMatchObject({
      failure: { code: 'exit-code', message: 'ended with exit code 1: cannot do: [task]' },
    });
    expect(modelFailure(`400: ${JSON.stringify({ message: task })}`, task)).toMatchObject({ code: 'model-error' });
  });
});

describe('the detail', () => {
  test('has what was said, and nothing else', () => {
    expect(modelFailure('503 later', '').detail).toEqual({ status: 503 });
    expect(modelFailure('later', '')).toEqual({ code: 'model-error', message: 'later' });
    expect(detailOf('{"error_code":"REQUEST_LIMIT_EXCEEDED"}')).toEqual({ errorCode: 'REQUEST_LIMIT_EXCEEDED' });
    expect(detailOf('429: {"type":"error","error":{"type":"rate_limit_error"}}')).toEqual({
      status: 429,
      errorCode: 'rate_limit_error',
    });
    expect(detailOf('400 {"error":{"type":"invalid_request_error"}}')).toEqual({
      status: 400,
      errorCode: 'invalid_request_error',
    });
  });

  test('takes no sentence and no key for an error code', () => {
    expect(detailOf('{"error":{"code":"sk-live-0123456789","type":"Somebody said so"}}')).toEqual({});
  });

  test.each([
    ['429 retry-after: 30', 30_000],
    ['429 {"headers":"retry-after-ms: 274579000"}', 274_579_000],
    ['retry-after-ms = 274579000', 274_579_000],
    ['{"error":{"retry_after":1.5}}', 1500],
    ['{"error":{"retry_after_ms":250}}', 250],
    ['{"error":{"details":[{"retryDelay":"34.074824224s"}]}}', 34_075],
    ['{"error":{"type":"usage_limit_reached","resets_in_seconds":7200}}', 7_200_000],
    ['Rate limit reached. Please try again in 6m0s.', 360_000],
    ['Please try again in 120ms', 120],
    ['Please retry in 34.07s.', 34_070],
    ['You have hit your usage limit. Try again in ~5 min.', 300_000],
    ['limit resets in 2 hours and 5 minutes', 7_500_000],
    ['Please retry after 2 seconds', 2000],
    ['Server requested 3600s retry delay (max: 60s).', 3_600_000],
  ])('%s: wait %i ms', (error, ms) => {
    expect(detailOf(error)['retryAfterMs']).toBe(ms);
  });

  test.each([
    'retry-after: Wed, 21 Oct 2026 07:28:00 GMT',
    'retry after 2026-10-21',
    'try again in a moment',
    'took 30 seconds',
    '{"retry_after":-1}',
    'waited 5 minutes',
  ])('%s: no time to wait', (error) => {
    expect(detailOf(error)).not.toHaveProperty('retryAfterMs');
  });
});

test('a hostile text costs linear time', () => {
  const hostile = ['model '.repeat(20_000), '{'.repeat(50_000), '1 s,'.repeat(50_000), `{"a":${'['.repeat(9000)}`];
  const nested = Array.from({ length: 200 }).reduce<unknown>((inner) => ({ error: inner, message: 'x' }), 'x');
  const begun = performance.now();
  for (const text of [...hostile, JSON.stringify(nested), `try again in ${'1s'.repeat(9000)}`]) {
    expect(modelFailure(text, '').code).toBe('model-error');
  }
  expect(performance.now() - begun).toBeLessThan(2000);
});
