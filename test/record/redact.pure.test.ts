import { describe, expect, test } from 'vitest';
import { createRedactor } from '../../src/record/index.ts';
import { looksSecret } from '../../src/record/redact.ts';

describe('names of secrets', () => {
  test.each([
    'ANTHROPIC_API_KEY',
    'OPENAI_APIKEY',
    'GITHUB_TOKEN',
    'npm_config__authToken',
    'npm_config__auth',
    'DB_PASSWORD',
    'MYSQL_PWD',
    'SESSION_COOKIE',
    'AWS_SECRET_ACCESS_KEY',
    'GOOGLE_APPLICATION_CREDENTIALS',
    'SSH_PRIVATE',
    'SENTRY_DSN',
  ])('%s is one', (name) => expect(looksSecret(name)).toBe(true));

  test.each(['PATH', 'PWD', 'OLDPWD', 'GIT_AUTHOR_NAME', 'KEYBOARD_LAYOUT', 'HOME', 'COXSWAIN_TOKEN', 'PASSIVE_MODE'])(
    '%s is not',
    (name) => expect(looksSecret(name)).toBe(false),
  );
});

describe('redaction', () => {
  const env = {
    MY_TOKEN: 'sentinel-12345678',
    LONG_KEY: 'sentinel-12345678-and-more',
    SHORT_KEY: 'abc1234',
    HOME: '/home/me',
  };
  const redact = createRedactor(env);

  test('every occurrence goes, the longer value first', () => {
    expect(redact('a sentinel-12345678 b sentinel-12345678-and-more c sentinel-12345678')).toBe(
      'a [redacted MY_TOKEN] b [redacted LONG_KEY] c [redacted MY_TOKEN]',
    );
  });

  test('values under 8 characters and harmless variables stay', () => {
    expect(redact('abc1234 /home/me')).toBe('abc1234 /home/me');
  });

  test('found in JSON, without surrounding white space, and with replacement patterns in it', () => {
    const value = 'line one "quoted"\nline two $& $1';
    const clean = createRedactor({ PEM_KEY: `${value}\n` });
    expect(clean(JSON.stringify({ a: value }))).toBe('{"a":"[redacted PEM_KEY]"}');
    expect(clean(`x${value}y`)).toBe('x[redacted PEM_KEY]y');
    expect(createRedactor({ A_KEY: 'aaaaaaaa', ['$&_KEY']: 'bbbbbbbb' })('bbbbbbbb')).toBe('[redacted $&_KEY]');
  });

  test('a text without secrets comes back as it is', () => {
    const text = 'x'.repeat(100_000);
    expect(redact(text)).toBe(text);
    expect(createRedactor({})(text)).toBe(text);
  });
});
