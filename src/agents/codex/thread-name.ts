import { NOTHING, type Tokens } from './tokens.ts';

/**
 * A thread on record: its id, and after `#` what of its tokens has been counted (`input.output.cacheRead.cacheWrite`).
 *
 * `exec` says only what the whole thread has used, so whoever goes on in it has to know what was counted before. What an
 * interrupted process used was not: the next one's count has it.
 */
export interface ThreadName {
  id: string;
  counted: Tokens;
}

export function readThreadName(name: string): ThreadName {
  const [id = '', counts = ''] = name.split('#');
  const [input = 0, output = 0, cacheRead = 0, cacheWrite = 0] = counts.split('.').map(whole);
  return { id, counted: { input, output, cacheRead, cacheWrite } };
}

export function threadName(id: string, { input, output, cacheRead, cacheWrite }: Tokens = NOTHING): string {
  const counts = [input, output, cacheRead, cacheWrite];
  return counts.every((n) => n === 0) ? id : `${id}#${counts.join('.')}`;
}

const whole = (digits: string): number => (/^\d{1,15}$/.test(digits) ? Number(digits) : 0);
