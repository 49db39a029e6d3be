import { describe, expect, it } from 'vitest';
import { belongs, type TreeTarget } from '../../src/process/belong.ts';
import { newToken, tokenValue } from '../../src/process/index.ts';
import { detectPlatform } from '../../src/process/platform.ts';
import { parseStat, type ProcStat } from '../../src/process/proc.ts';
import { parsePs } from '../../src/process/ps.ts';
import { tokensIn } from '../../src/process/token.ts';

/** Fields 3 to 52 of a stat line, those we read set by number. */
function statLine(command: string, fields: Record<number, string | number>): Buffer {
  const rest = Array.from({ length: 50 }, (_, index) => fields[index + 3] ?? 0);
  return Buffer.from(`42 (${command}) ${rest.join(' ')}\n`);
}

const block = (...entries: string[]): Buffer => Buffer.from(entries.map((entry) => `${entry}\0`).join(''));

const stat = (over: Partial<ProcStat>): ProcStat => ({
  pid: 60,
  command: 'x',
  ppid: 1,
  pgid: 60,
  session: 60,
  startTime: 100,
  gone: false,
  headless: false,
  kernelThread: false,
  environAt: 1,
  environBytes: 1,
  ...over,
});

describe('parseStat', () => {
  it('reads the fields after the last bracket, whatever the name holds', () => {
    const line = statLine('a) S 1 (b c', { 3: 'S', 4: 7, 5: 42, 6: 41, 20: 3, 22: 9_001, 50: 5, 51: 12 });
    expect(parseStat(line)).toEqual({
      pid: 42,
      command: 'a) S 1 (b c',
      ppid: 7,
      pgid: 42,
      session: 41,
      startTime: 9_001,
      gone: false,
      headless: false,
      kernelThread: false,
      environAt: 5,
      environBytes: 7,
    });
  });

  it.each([
    ['Z', 1, true, false],
    ['X', 0, true, false],
    ['Z', 2, false, true],
    ['T', 1, false, false],
    ['D', 1, false, false],
  ])('state %s with %i threads: gone %s, headless %s', (state, threads, gone, headless) => {
    expect(parseStat(statLine('x', { 3: state, 20: threads }))).toMatchObject({ gone, headless });
  });

  it('knows kernel threads by their flag, and garbage as such', () => {
    expect(parseStat(statLine('kworker/0:1', { 3: 'I', 9: 0x0420_8040 }))).toMatchObject({ kernelThread: true });
    expect(parseStat(Buffer.from(''))).toBeNull();
    expect(parseStat(Buffer.from('42 (x) S'))).toBeNull();
  });
});

describe('tokens', () => {
  it('are found as whole entries only', () => {
    expect(tokensIn(block('A=1', 'COXSWAIN_TOKEN=abc', 'B=2'))).toEqual(['abc']);
    expect(tokensIn(block('COXSWAIN_TOKEN=abc'))).toEqual(['abc']);
    expect(tokensIn(block('MY_COXSWAIN_TOKEN=no', 'X=COXSWAIN_TOKEN=no'))).toEqual([]);
    expect(tokensIn(block('MY_COXSWAIN_TOKEN=no', 'COXSWAIN_TOKEN=yes'))).toEqual(['yes']);
    expect(tokensIn(Buffer.from('COXSWAIN_TOKEN=cut'))).toEqual(['cut']);
    expect(tokensIn(Buffer.alloc(0))).toEqual([]);
  });

  it('add up where one runner works inside another', () => {
    const [outer, inner] = [newToken(), newToken()];
    expect(outer).toMatch(/^[0-9a-f]{32}$/);
    expect(tokenValue(undefined, outer)).toBe(outer);
    expect(tokensIn(block(`COXSWAIN_TOKEN=${tokenValue(tokenValue(undefined, outer), inner)}`))).toEqual([
      outer,
      inner,
    ]);
  });
});

describe('belongs', () => {
  const target: TreeTarget = { pgid: 50, token: 't', leader: { pid: 50, startTime: 100 } };
  it.each([
    ['the leader', stat({ pid: 50, session: 50 }), [], false, 'leader'],
    ['another process under its pid', stat({ pid: 50, startTime: 200, session: 50 }), [], true, null],
    ['in the session', stat({ session: 50 }), [], false, 'group'],
    ['in a session of a recycled number', stat({ session: 50 }), [], true, null],
    ['with the token, in a session of its own', stat({}), ['o', 't'], false, 'token'],
    ['with the token, but older than the leader', stat({ startTime: 99 }), ['t'], false, null],
    ['a stranger', stat({}), ['o'], false, null],
  ])('%s', (_name, process, tokens, recycled, expected) => {
    expect(belongs(process, tokens, target, recycled)).toBe(expected);
  });
});

describe('parsePs', () => {
  it('reads columns of any width and drops the path of the command', () => {
    expect(parsePs('    1     0     1 Ss   /sbin/launchd\n  912   1 912 Z+ (node)\nrubbish\n')).toEqual([
      { pid: 1, ppid: 0, pgid: 1, gone: false, command: 'launchd' },
      { pid: 912, ppid: 1, pgid: 912, gone: true, command: '(node)' },
    ]);
  });
});

describe('detectPlatform', () => {
  it('chooses by system', () => {
    expect(detectPlatform('win32')).toMatchObject({ list: 'none', groups: false });
    expect(detectPlatform('darwin')).toMatchObject({ list: 'ps', groups: true });
  });
});
