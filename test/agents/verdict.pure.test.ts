import { expect, test } from 'vitest';
import { modelFailure } from '../../src/agents/pi/verdict.ts';

test.each([
  ['429 Rate limited', 'rate-limited'],
  ['429: {"message":"x"}', 'rate-limited'],
  ['You exceeded your current quota', 'rate-limited'],
  ['ThrottlingException: Too many tokens, please wait', 'rate-limited'],
  ['401: {"message":"Bad key"}', 'auth'],
  ['403 Forbidden', 'auth'],
  ['No API key found for anthropic.', 'auth'],
  ['Invalid API key', 'auth'],
  ['400 prompt is too long: 250000 tokens > 200000 maximum', 'context-overflow'],
  ["This model's maximum context length is 8192 tokens", 'context-overflow'],
  ['413 {"error":{"type":"request_too_large"}}', 'context-overflow'],
  ['400 max_tokens: 100000 is over 64000, the maximum allowed number of output tokens', 'model-error'],
  ['Request timed out.', 'model-timeout'],
  ['504 Gateway Timeout', 'model-timeout'],
  ['500 Internal error', 'model-error'],
  ['529 Overloaded', 'model-error'],
  ['400 Bad request (scripted)', 'model-error'],
  ['terminated: other side closed (UND_ERR_SOCKET)', 'model-error'],
  ['40000 things went wrong', 'model-error'],
  ['', 'model-error'],
])('%s -> %s', (error, code) => {
  expect(modelFailure(error, '').code).toBe(code);
});

test('the status is kept beside the words', () => {
  expect(modelFailure('503 later', '').detail).toEqual({ status: 503 });
  expect(modelFailure('later', '')).toEqual({ code: 'model-error', message: 'later' });
});
