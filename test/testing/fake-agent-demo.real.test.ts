import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { AgentEvent } from '../../src/agents/index.ts';
import { type Ack, createMailbox, mailboxPaths, openMailbox } from '../../src/mailbox/index.ts';
import { piAdapter } from '../../src/agents/pi/index.ts';

const DEMO = fileURLToPath(new URL('../../dist/src/cli/demo-agent.js', import.meta.url));
const ARGS = ['--mode', 'json', '-p', '--no-session', '--whatever'];

/** Everything the demo agent makes of a task, as coxswain understands it. */
async function perform(task: string): Promise<{ events: AgentEvent[]; code: number | null; ms: number }> {
  const settings = { name: 'demo', adapter: 'pi', mode: 'json', command: [process.execPath, DEMO] };
  const session = piAdapter.open({
    settings,
    task,
    run: null,
    model: null,
    cwd: '.',
    env: {},
    privateDir: '',
    sessionDir: '',
    resume: null,
    mailbox: null,
  });
  const began = performance.now();
  const child = spawn(process.execPath, [DEMO, ...ARGS]);
  child.stdin.end(task);
  const exited = once(child, 'exit') as Promise<[number | null]>;
  const events = session.push(Buffer.from(await text(child.stdout))).events;
  const [code] = await exited;
  return { events, code, ms: performance.now() - began };
}

test.concurrent('the demo agent works for about two seconds, and its answer is about the task', async () => {
  const task = '\n  Plan the regatta\nwith all boats';
  const [{ events, code, ms }, again] = await Promise.all([perform(task), perform(task)]);
  expect(code).toBe(0);
  expect(events.at(-1)).toEqual({ t: 'final', text: 'Done: Plan the regatta', stop: 'stop', truncated: false });
  const kinds = events.map(({ t }) => t);
  expect(kinds.filter((t) => t === 'toolStart').length).toBeGreaterThanOrEqual(2);
  expect(kinds.filter((t) => t === 'toolEnd')).toHaveLength(kinds.filter((t) => t === 'toolStart').length);
  expect(kinds).not.toContain('note');
  expect(events.findLast((event) => event.t === 'usage')?.usage.costUsd).toBeGreaterThan(0);
  expect(again.events).toEqual(events);
  expect(ms).toBeGreaterThan(500);
});

test.concurrent('SIGTERM ends the demo agent at once', async () => {
  const child = spawn(process.execPath, [DEMO, ...ARGS]);
  child.stdin.end('anything');
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
  expect({ code, signal }).toEqual({ code: 143, signal: null });
});

test.concurrent('the demo agent takes messages from its mailbox between its moves', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'coxswain-demo-test-'));
  const paths = mailboxPaths(dir);
  createMailbox(paths);
  const acks: Ack[] = [];
  const mailbox = openMailbox(paths, {
    listens: 'expected',
    onAck: (ack) => acks.push(ack),
    onAsk: () => {},
    onAskGone: () => {},
    onCapability: () => {},
    onProblem: ({ message }) => expect.unreachable(message),
  });
  mailbox.steer({ id: 'a', mode: 'now', text: 'Mind the bridge.' });
  mailbox.steer({ id: 'b', mode: 'next', text: 'Then rest.' });
  const child = spawn(process.execPath, [DEMO, ...ARGS], { env: { ...process.env, COXSWAIN_STEER_DIR: paths.steer } });
  child.stdin.end('Row.');
  const said = await text(child.stdout);
  mailbox.close();
  rmSync(dir, { recursive: true });
  expect(acks.filter(({ state }) => state === 'delivered').map(({ id }) => id)).toEqual(['a', 'b']);
  expect(said).toContain('As you say: Mind the bridge.');
});
