import { createHash, randomBytes } from 'node:crypto';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { createRawLog, createRedactor, createTranscript } from '../../src/record/index.ts';
import { type LogFiles, logFiles } from '../../src/record/capped-file.ts';
import { tempFolder } from './support.ts';

describe('a raw log', () => {
  test('is not made before its first byte', () => {
    const path = join(tempFolder(), 'stdout.jsonl');
    const log = createRawLog(path);
    log.write(Buffer.alloc(0));
    expect(log.close()).toMatchObject({ bytes: 0, lines: 0, truncated: false, sha256: null, errors: 0 });
    expect(existsSync(path)).toBe(false);
  });

  test('is byte-exact, counts and hashes', () => {
    const path = join(tempFolder(), 'stdout.jsonl');
    const bytes = Buffer.concat([randomBytes(100_000), Buffer.from('\nend')]);
    const log = createRawLog(path, { hash: true });
    for (let at = 0; at < bytes.length; at += 7001) log.write(bytes.subarray(at, at + 7001));
    const summary = log.close();
    expect(readFileSync(path).equals(bytes)).toBe(true);
    expect(summary.bytes).toBe(bytes.length);
    expect(summary.lines).toBe(bytes.toString('latin1').split('\n').length);
    expect(summary.sha256).toBe(createHash('sha256').update(bytes).digest('hex'));
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('at its cap it says so once and stays as it is', () => {
    const folder = tempFolder();
    for (const notes of ['text', 'json'] as const) {
      const path = join(folder, notes);
      const log = createRawLog(path, { capBytes: 10, notes });
      log.write(Buffer.from('123456'));
      log.write(Buffer.from('7890ab'));
      log.write(Buffer.from('never'));
      const [kept, note, ...rest] = readFileSync(path, 'utf8').split('\n');
      expect(kept).toBe('1234567890');
      expect(note).toBe(
        notes === 'json'
          ? '{"type":"coxswain.truncated","capBytes":10}'
          : '[coxswain: cut here, 10 bytes are the limit]',
      );
      expect(rest).toEqual(['']);
      expect(log.close()).toMatchObject({ bytes: 17, written: 10, truncated: true, lines: 1 });
      expect(log.tail()).toBe('1234567890abnever');
    }
  });

  test('300 MB cost neither disk nor memory', () => {
    const path = join(tempFolder(), 'stderr.log');
    const log = createRawLog(path, { capBytes: 1024 * 1024 });
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const before = process.memoryUsage().rss;
    for (let sent = 0; sent < 300e6; sent += chunk.length) log.write(chunk);
    expect(process.memoryUsage().rss - before).toBeLessThan(64e6);
    expect(statSync(path).size).toBeLessThan(1024 * 1024 + 200);
    expect(log.tail()).toBe('x'.repeat(8192));
    log.close();
  });

  test('write errors are counted and what is missing is noted, nothing is thrown', () => {
    const path = join(tempFolder(), 'stderr.log');
    let full = false;
    const files: LogFiles = {
      ...logFiles,
      write(fd, data, offset, length) {
        if (full) throw Object.assign(new Error('full'), { code: 'ENOSPC' });
        return logFiles.write(fd, data, offset, Math.min(length, 3));
      },
    };
    const log = createRawLog(path, { files });
    log.write(Buffer.from('before '));
    full = true;
    log.write(Buffer.from('lost'));
    log.write(Buffer.from('lost too'));
    full = false;
    log.write(Buffer.from('after\n'));
    expect(readFileSync(path, 'utf8')).toBe(
      'before \n[coxswain: 12 bytes are missing here, they could not be written]\nafter\n',
    );
    expect(log.close()).toMatchObject({ bytes: 25, written: 13, errors: 2, lastError: 'ENOSPC' });
    const nowhere = createRawLog(join(path, 'below', 'x'));
    nowhere.write(Buffer.from('x'));
    expect(nowhere.close()).toMatchObject({ errors: 1, lastError: 'ENOTDIR' });
  });

  test('its tail never begins or ends inside a character', () => {
    const log = createRawLog(join(tempFolder(), 'stderr.log'), { tailBytes: 10 });
    const text = 'aä€😀'.repeat(20);
    const bytes = Buffer.from(text);
    for (let n = 1; n <= bytes.length; n += 1) {
      log.write(bytes.subarray(n - 1, n));
      const tail = log.tail();
      expect(tail).not.toContain('�');
      expect(text).toContain(tail);
      expect(Buffer.byteLength(tail)).toBeLessThanOrEqual(10);
      // Once there is enough, little is left out: at most a character at each end.
      expect(n > 10 ? Buffer.byteLength(tail) : 10).toBeGreaterThan(3);
    }
    log.close();
  });
});

const lines = (path: string): Record<string, unknown>[] =>
  readFileSync(path, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

describe('a transcript', () => {
  test('holds no task, no secret, and no more than the bound of each payload', () => {
    const path = join(tempFolder(), 'transcript.jsonl');
    const secret = 'sentinel-secret-value';
    const transcript = createTranscript(path, { payloadChars: 100, redact: createRedactor({ SOME_TOKEN: secret }) });
    transcript.append({ t: 'message', role: 'user', text: 'sentinel-task' });
    transcript.append({ t: 'message', role: 'assistant', text: `key ${secret}` });
    transcript.append({ t: 'toolStart', id: '1', name: 'bash', input: { command: `curl ${secret}`, deep: [secret] } });
    transcript.append({ t: 'toolEnd', ok: true, output: `${'x'.repeat(95)}${secret}` });
    transcript.append({ t: 'toolStart', input: Array.from({ length: 100 }, () => 'abc') });
    transcript.append({ t: 'message', role: 'assistant', text: `${'x'.repeat(99)}😀` });
    expect(transcript.close()).toEqual({ lines: 6, truncated: false, errors: 0, lastError: null });
    const text = readFileSync(path, 'utf8');
    expect(text).not.toContain('sentinel');
    expect(lines(path)[0]).toEqual({
      t: 'message',
      role: 'user',
      text: { chars: 13, sha256: expect.stringMatching(/^[0-9a-f]{12}$/) as unknown },
    });
    expect(lines(path)[2]).toMatchObject({
      input: { command: 'curl [redacted SOME_TOKEN]', deep: ['[redacted SOME_TOKEN]'] },
    });
    expect(lines(path)[4]).toEqual({ t: 'toolStart', input: { cut: true, chars: 601 } });
    expect(lines(path)[5]).toMatchObject({ text: `${'x'.repeat(99)} [2 characters cut]` });
    expect(statSync(path).mode & 0o777).toBe(0o600);
  });

  test('at its cap it ends with a whole line and a note', () => {
    const path = join(tempFolder(), 'transcript.jsonl');
    const transcript = createTranscript(path, { capBytes: 100 });
    for (let n = 0; n < 50; n += 1) transcript.append({ t: 'note', n });
    transcript.flush();
    transcript.append({ t: 'note', n: 99 });
    expect(transcript.close()).toMatchObject({ truncated: true });
    const all = lines(path);
    expect(all.at(-1)).toEqual({ t: 'truncated', capBytes: 100 });
    expect(all.slice(0, -1).map((line) => line['n'])).toEqual([0, 1, 2, 3, 4]);
  });
});
