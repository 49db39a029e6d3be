import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { liveView } from '../../src/cli/progress/live.ts';
import { plainView } from '../../src/cli/progress/plain.ts';
import type { Out } from '../../src/cli/out.ts';
import { statusOf } from '../support/made-run.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

test('the live view draws at most ten times a second, only what has changed, and gives the cursor back', async () => {
  const written: string[] = [];
  let name = 'one';
  const before = process.listenerCount('exit');
  const view = liveView(
    { status: () => statusOf('r', { name, startedAt: new Date().toISOString(), steps: [] }) },
    outTo(written),
  );
  expect(written.join('')).toContain('\u001B[?25l');
  expect(written.at(-1)).toContain('one running');
  written.length = 0;
  vi.advanceTimersByTime(2000);
  expect(written).toEqual([]);
  for (let n = 0; n < 20; n += 1) {
    name = `name ${n}`;
    vi.advanceTimersByTime(50);
  }
  expect(written.length).toBeGreaterThan(1);
  expect(written.length).toBeLessThanOrEqual(10);
  await view.close();
  expect(written.at(-1)).toContain('\u001B[?25h');
  expect(process.listenerCount('exit')).toBe(before);
  written.length = 0;
  vi.advanceTimersByTime(2000);
  expect(written).toEqual([]);
});

test('the plain view says once that somebody below waits', async () => {
  const written: string[] = [];
  let asks = 0;
  const status = () => statusOf('r', { nested: { total: 1, ...(asks === 0 ? {} : { asks }), runs: [] } });
  const view = plainView({ status, events: async function* () {} as never }, outTo(written));
  vi.advanceTimersByTime(2000);
  asks = 1;
  vi.advanceTimersByTime(5000);
  asks = 0;
  vi.advanceTimersByTime(2000);
  expect(written).toEqual(['1 question waits for an answer in runs below: coxswain asks r\n']);
  await view.close();
});

function outTo(written: string[]): Out {
  const put = (text: string): void => void written.push(text);
  return {
    write: (data) => Promise.resolve(put(String(data))),
    put,
    line: (text = '') => put(`${text}\n`),
    flush: () => Promise.resolve(),
    closed: new AbortController().signal,
    probe: () => {},
    isTerminal: true,
    columns: 80,
    rows: 24,
  };
}
