import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AgentEvent, type LaunchRequest, type Reply, createRegistry } from '../../src/agents/index.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { PI_CLI, type PiHome, makePiHome } from '../support/pi-home.ts';
import { endOf } from './drive.ts';

const SCENARIOS = {
  reply: [{ text: 'Hello, you said: {{lastUser}}' }],
  tool: [
    { text: 'Running.', tools: [{ name: 'bash', arguments: { command: 'echo from-the-tool' } }] },
    { text: 'The tool said {{lastToolResult}}' },
  ],
  bad: [{ error: { status: 400, message: 'Bad request (scripted)', type: 'invalid_request_error' } }],
  flaky: [{ error: { status: 503, message: 'Later (scripted)' } }, { text: 'Recovered.' }],
  wrapped: [
    { text: 'Working.', tools: [{ name: 'bash', arguments: { command: 'echo from-the-tool' } }] },
    { text: 'I was told: {{lastUser}}' },
  ],
  long: [{ text: 'Waiting.', tools: [{ name: 'bash', arguments: { command: 'exec sleep 600' } }] }],
};

let server: ModelServer;
let home: PiHome;
const started: ChildProcess[] = [];

beforeAll(async () => {
  // Without it there is nothing to test, and a skipped test would look like a good one.
  if (!existsSync(PI_CLI)) throw new Error('pi is not installed: npm run install:real-agents');
  server = await startModelServer(SCENARIOS);
  home = await makePiHome({ url: server.url, models: Object.keys(SCENARIOS), retries: 2 });
});
afterAll(async () => {
  for (const child of started) if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
  await server.close();
  await home.remove();
});

interface RealRun {
  events: AgentEvent[];
  code: number | null;
  signal: string | null;
}

/** Runs pi by its adapter: replies are written, stdin is closed after the end, `during` may say more. */
async function run(
  model: string,
  mode: string,
  task: string,
  during?: (event: AgentEvent) => 'abort' | 'wrap-up' | null,
  name = `fake/${model}`,
): Promise<RealRun> {
  const definition = { name: 'pi', adapter: 'pi', mode };
  const registry = createRegistry({ pi: definition }, { env: { COXSWAIN_AGENT_PI: PI_CLI } });
  const found = await registry.resolve('pi', 'task');
  if (found.type !== 'agent') throw new Error(found.message);
  const { adapter, settings } = found.agent;
  const request: LaunchRequest = {
    settings,
    task,
    run: null,
    model: name,
    cwd: home.work,
    env: home.env,
    privateDir: home.dir,
    sessionDir: home.dir,
    resume: null,
    mailbox: null,
  };
  const launch = adapter.launch(request);
  const [program = '', ...args] = launch.argv;
  const child = spawn(program, args, { cwd: launch.cwd, env: launch.env, stdio: ['pipe', 'pipe', 'pipe'] });
  started.push(child);
  const session = adapter.open(request);
  const events: AgentEvent[] = [];
  const take = (reply: Reply): void => {
    events.push(...reply.events);
    for (const line of reply.send) child.stdin.write(line);
    if (reply.closeStdin) child.stdin.end();
    for (const event of reply.events) {
      if (event.t === 'final' || event.t === 'error') take(session.finish());
      const asked = during?.(event) ?? null;
      if (asked !== null) take(asked === 'abort' ? session.abort() : session.wrapUp(60_000));
    }
  };
  let stderrTail = '';
  child.stderr.on('data', (bytes: Buffer) => (stderrTail += bytes.toString()));
  child.stdout.on('data', (bytes: Buffer) => take(session.push(bytes)));
  if (launch.stdin.type === 'text') child.stdin.end(launch.stdin.text);
  else take(session.start());
  const [code, signal] = (await once(child, 'close')) as [number | null, string | null];
  take(session.exited({ code, signal, stderrTail }));
  return { events, code, signal };
}

test('rpc: a reply, with usage and cost, and an exit when stdin is closed', async () => {
  const { events, code } = await run('reply', 'rpc', '-starts like an option\n"and" has two lines');
  expect(endOf(events)).toMatchObject({
    t: 'final',
    text: 'Hello, you said: -starts like an option\n"and" has two lines',
  });
  expect(code).toBe(0);
  expect(events.some((event) => event.t === 'resumed')).toBe(false);
  expect(events.findLast((event) => event.t === 'usage')?.usage).toMatchObject({
    input: 100,
    output: 10,
    turns: 1,
    tools: 0,
  });
  expect(events.findLast((event) => event.t === 'usage')?.usage.costUsd).toBeCloseTo(0.00012, 9);
  expect(events.find((event) => event.t === 'model')).toEqual({ t: 'model', model: 'fake/reply' });
});

test('rpc: a tool call', async () => {
  const { events } = await run('tool', 'rpc', 'use the tool');
  expect(endOf(events)).toMatchObject({ t: 'final', text: 'The tool said from-the-tool' });
  expect(events.find((event) => event.t === 'toolStart')).toMatchObject({
    name: 'bash',
    input: { command: 'echo from-the-tool' },
  });
  expect(events.find((event) => event.t === 'toolEnd')).toMatchObject({ ok: true, output: 'from-the-tool\n' });
});

test.each(['rpc', 'json'])('%s: a model error is a failure although pi exits with 0', async (mode) => {
  const { events, code } = await run('bad', mode, 'fail');
  expect(endOf(events)).toMatchObject({
    t: 'error',
    failure: { code: 'model-error', message: '400 Bad request (scripted)', detail: { status: 400 } },
  });
  expect(code).toBe(0);
});

test('rpc: a retry of pi is waited for', async () => {
  const { events } = await run('flaky', 'rpc', 'try');
  expect(endOf(events)).toMatchObject({ t: 'final', text: 'Recovered.' });
  expect(events.filter((event) => event.t === 'retry')).toHaveLength(1);
  expect(events.some((event) => event.t === 'resumed')).toBe(false);
});

test('rpc: abort ends a running tool', async () => {
  const { events, code } = await run('long', 'rpc', 'wait', (event) => (event.t === 'toolStart' ? 'abort' : null));
  expect(endOf(events)).toMatchObject({ t: 'error', failure: { code: 'aborted' } });
  expect(events.find((event) => event.t === 'toolEnd')).toMatchObject({ ok: false });
  expect(code).toBe(0);
});

test('rpc: the message to wrap up reaches the model after the tool, in the same run', async () => {
  const { events } = await run('wrapped', 'rpc', 'work', (event) => (event.t === 'toolStart' ? 'wrap-up' : null));
  const end = endOf(events);
  expect(end).toMatchObject({ t: 'final', text: expect.stringMatching(/^I was told: .*about 60 seconds are left/) });
});

test('a model that pi does not know is a failure to go on from, not a crash', async () => {
  const { events, code } = await run('nobody', 'rpc', 'x', undefined, 'nowhere/nobody');
  expect(endOf(events)).toMatchObject({ t: 'error', failure: { code: 'model-unavailable', detail: { exitCode: 1 } } });
  expect(code).toBe(1);
});

test('json: the task comes on stdin', async () => {
  const { events, code } = await run('reply', 'json', '@not-a-file -p of the task');
  expect(endOf(events)).toMatchObject({ t: 'final', text: 'Hello, you said: @not-a-file -p of the task' });
  expect(code).toBe(0);
  expect(events.some((event) => event.t === 'session')).toBe(true);
});

test('the version', async () => {
  const registry = createRegistry({}, { env: { ...home.env, COXSWAIN_AGENT_PI: PI_CLI } });
  const list = await registry.list({ versions: true });
  expect(list.find((agent) => agent.name === 'pi')?.version).toBe('0.73.1');
});
