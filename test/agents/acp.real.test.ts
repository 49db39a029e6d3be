import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type LiveOptions, OCCASIONS, type Subject, live } from '../../src/testing/index.ts';
import { endOf } from './drive.ts';

const AGENT = fileURLToPath(new URL('acp-sdk-agent.mjs', import.meta.url));

let dir = '';
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), 'coxswain-acp-'));
});
afterAll(() => rmSync(dir, { recursive: true, force: true }));

const subject = (permissions: Subject['agent']['permissions'] = {}): Subject => ({
  name: 'the official package',
  agent: { adapter: 'acp', command: ['agent'], permissions },
  prints: 'records',
  occasions: Object.fromEntries(OCCASIONS.map((name) => [name, { lacks: 'not captured' }])) as Subject['occasions'],
});
const run = (task: string, who = subject(), more: Partial<LiveOptions> = {}) =>
  live(who, { dir, command: [process.execPath, AGENT], task, ...more });

test('it answers, and exits when its stdin is closed', async () => {
  const { events, exit } = await run('hello');
  expect(endOf(events)).toMatchObject({ text: 'heard: hello' });
  expect(events.find((event) => event.t === 'session')).toEqual({ t: 'session', session: `new in ${dir}` });
  expect(exit).toMatchObject({ code: 0, signal: null });
});

test('it is told whether it may use a tool', async () => {
  expect(endOf((await run('tool')).events)).toMatchObject({ text: 'no' });
  expect(endOf((await run('tool', subject({ execute: 'allow' }))).events)).toMatchObject({ text: 'yes' });
});

test('it drops its work when it is asked to', async () => {
  const { events, exit } = await run('wait', subject(), {
    on: (event, child) => {
      if (event.t === 'toolStart') child.abort();
    },
  });
  expect(endOf(events)).toMatchObject({ failure: { code: 'aborted' } });
  expect(exit.code).toBe(0);
});

test('its failure is told', async () => {
  expect(endOf((await run('fail')).events)).toMatchObject({ failure: { code: 'model-error' } });
});

test('it goes on in a session, and what it repeats of it is no answer', async () => {
  const { events } = await run('hello', subject(), { resume: { session: 'earlier' } });
  expect(endOf(events)).toMatchObject({ text: 'heard: You were interrupted. Go on where you left off.' });
});
