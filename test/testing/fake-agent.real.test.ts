import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { AgentEvent, AgentSession, AgentSettings, LaunchRequest } from '../../src/agents/index.ts';
import { piAdapter } from '../../src/agents/pi/index.ts';
import {
  type Ack,
  type Mailbox,
  type MailboxPaths,
  createMailbox,
  mailboxPaths,
  openMailbox,
} from '../../src/mailbox/index.ts';
import { identify } from '../../src/process/index.ts';
import { FAKE_USAGE, type FakeAgents, startFakeAgents } from '../../src/testing/fake-agent/index.ts';

let agents: FakeAgents;
beforeEach(async () => {
  agents = await startFakeAgents();
});
afterEach(() => agents.dispose());

/** A program as coxswain starts it: in a group of its own, all of its output read. */
function start(argv: string[], env: Record<string, string> = {}): Started {
  const [program = '', ...args] = argv;
  const child = spawn(program, args, { detached: true, env: { ...process.env, ...env } });
  child.stdin.on('error', () => {});
  return { process: child, out: text(child.stdout), err: text(child.stderr) };
}

interface Started {
  process: ChildProcess;
  out: Promise<string>;
  err: Promise<string>;
}

/** The agent under pi's adapter: what comes out is what coxswain would understand. */
function startUnderPi(settings: AgentSettings, task: string, change: Partial<LaunchRequest> = {}): UnderPi {
  const request: LaunchRequest = {
    settings,
    task,
    run: null,
    model: 'acme/large',
    cwd: '.',
    env: {},
    privateDir: '/nowhere/attempts/ask/1',
    sessionDir: '/nowhere/sessions',
    resume: null,
    mailbox: null,
    ...change,
  };
  const { argv, stdin, env } = piAdapter.launch(request);
  const session = piAdapter.open(request);
  const events: AgentEvent[] = [];
  const started = start(argv, env);
  const take = (reply: ReturnType<AgentSession['start']>): void => {
    events.push(...reply.events);
    for (const line of reply.send) started.process.stdin?.write(line);
    if (reply.closeStdin) started.process.stdin?.end();
  };
  if (stdin.type === 'text') started.process.stdin?.end(stdin.text);
  take(session.start());
  started.process.stdout?.on('data', (chunk: Buffer) => take(session.push(chunk)));
  const seen = async (wanted: AgentEvent['t']): Promise<void> => {
    while (!events.some((event) => event.t === wanted)) await once(started.process.stdout ?? started.process, 'data');
  };
  return {
    process: started.process,
    events,
    seen,
    steer(...message) {
      const { verdict, ...reply } = session.steer(...message);
      take(reply);
      return verdict;
    },
    abort: () => take(session.abort()),
    finish: () => take(session.finish()),
  };
}

interface UnderPi {
  process: ChildProcess;
  events: AgentEvent[];
  seen(wanted: AgentEvent['t']): Promise<void>;
  steer(...message: Parameters<AgentSession['steer']>): string;
  abort(): void;
  finish(): void;
}

/** What was told of messages, in order. */
const fates = (events: readonly AgentEvent[]): string[] =>
  events.flatMap((event) => (event.t === 'steer' ? [`${event.id} ${event.state}`] : []));

async function exitOf(child: ChildProcess): Promise<{ code: number | null; signal: string | null }> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return { code: child.exitCode, signal: child.signalCode };
}

/** Without those whose place among the others depends on how the bytes were cut. */
const told = (events: AgentEvent[]): AgentEvent[] =>
  events.filter(({ t }) => t !== 'activity' && t !== 'usage' && t !== 'model');
const groupOf = (pid: number): number =>
  Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[2]);
const environOf = (pid: number): string => readFileSync(`/proc/${pid}/environ`, 'utf8');

describe('messages', () => {
  let dir: string;
  beforeEach(async () => {
    dir = await mkdtemp(join(tmpdir(), 'coxswain-fake-test-'));
  });
  afterEach(() => rm(dir, { recursive: true, force: true }));

  /** A mailbox, and what comes through it. */
  function box(listens: 'expected' | 'declared'): {
    paths: MailboxPaths;
    mailbox: Mailbox;
    acks: Ack[];
    asked: string[];
    told: EventEmitter;
  } {
    const paths = mailboxPaths(dir);
    createMailbox(paths);
    const acks: Ack[] = [];
    const asked: string[] = [];
    const news = new EventEmitter();
    const mailbox = openMailbox(paths, {
      listens,
      onAck: (ack) => void (acks.push(ack), news.emit('told')),
      onAsk: ({ id, text: question }) => void (asked.push(`${id}: ${question}`), news.emit('told')),
      onAskGone: (id) => void (asked.push(`${id} is gone`), news.emit('told')),
      onCapability: () => news.emit('told'),
      onProblem: ({ message }) => void (asked.push(message), news.emit('told')),
    });
    return { paths, mailbox, acks, asked, told: news };
  }

  test('two-way: they wait until they are taken, and what follows delivers them; an abort drops one', async () => {
    const pi = startUnderPi(agents.settings(), 'row');
    const child = await agents.next();
    await child.toolStart('bash');
    pi.steer({ id: 'a', text: 'faster', mode: 'now' });
    pi.steer({ id: 'b', text: 'then rest', mode: 'next' });
    pi.steer({ id: 'c', text: 'left', mode: 'now' });
    expect([await child.nextSteer(), await child.nextSteer(), await child.nextSteer()]).toEqual([
      'faster',
      'then rest',
      'left',
    ]);
    await child.toolEnd('bash');
    await child.take();
    await child.say('faster it is');
    await child.toolStart('bash');
    pi.abort();
    await pi.seen('error');
    expect(fates(pi.events)).toEqual([
      ...['a', 'b', 'c'].map((id) => `${id} queued`),
      'a taken',
      'a delivered',
      'c taken',
      'c undelivered',
    ]);
    pi.finish();
    await exitOf(pi.process);
  });

  test('one-way: it listens by itself, and acknowledges what the test lets it take', async () => {
    const { paths, mailbox, acks, told: news } = box('expected');
    startUnderPi(agents.settings('fake', 'json'), 'row', { mailbox: paths });
    const child = await agents.next();
    expect(mailbox.steer({ id: 'a', text: 'faster', mode: 'now' })).toBe('sent');
    expect(await child.nextSteer()).toBe('faster');
    await child.take();
    await child.say('faster it is');
    while (acks.at(-1)?.state !== 'delivered') await once(news, 'told');
    await child.exit(0);
    mailbox.close();
    expect(acks.at(-1)).toEqual({ id: 'a', state: 'delivered' });
  });

  test('any program: it listens when it is told to, says what it is told to, and asks', async () => {
    const { paths, mailbox, acks, asked, told: news } = box('declared');
    start(agents.argv(), { COXSWAIN_STEER_DIR: paths.steer, COXSWAIN_ASK_DIR: paths.ask });
    const child = await agents.next();
    expect(mailbox.steer({ id: 'a', text: 'faster', mode: 'now' })).toBe('unsupported');
    await child.listen(['now']);
    expect(mailbox.steer({ id: 'a', text: 'faster', mode: 'now' })).toBe('sent');
    expect(await child.nextSteer()).toBe('faster');
    await child.ack('a', { state: 'undelivered', reason: 'failed' });
    await child.ask({ id: 'q', text: 'left or right?' });
    await child.ask({ id: 'r', text: 'never mind' });
    while (asked.length < 2 || acks.length === 0) await once(news, 'told');
    await child.withdraw('r');
    while (asked.length < 3) await once(news, 'told');
    expect(asked.toSorted()).toEqual(['q: left or right?', 'r is gone', 'r: never mind']);
    expect(mailbox.answer('q', { text: 'left' })).toBe('answered');
    expect(await child.answered('q')).toMatchObject({ state: 'answered', text: 'left' });
    mailbox.close();
    expect(acks).toEqual([{ id: 'a', state: 'undelivered', reason: 'failed' }]);
    await child.exit(0);
  });

  test('a session that has answers is gone on with', async () => {
    const request = { sessionDir: dir };
    startUnderPi(agents.settings(), 'row', request);
    const first = await agents.next();
    await first.say('one stroke');
    await first.exit(0);
    startUnderPi(agents.settings(), 'row', { ...request, resume: { session: 'ask.1.jsonl' } });
    expect((await agents.next()).task).toContain('Go on');
    startUnderPi(agents.settings(), 'row', { ...request, resume: { session: 'other.1.jsonl' } });
    expect((await agents.next()).task).toBe('row');
  });
});

describe('as pi', () => {
  test('two-way: a whole run, confirmed by its state, and an exit when stdin is closed', async () => {
    const pi = startUnderPi(agents.settings(), 'count the\u2028boats');
    const child = await agents.next();
    expect(child.task).toBe('count the\u2028boats');
    expect(child.argv).toContain('--session');
    await child.say('let me look', { ...FAKE_USAGE, costUsd: 0.0006 });
    await child.partial('still loo');
    await child.toolStart('bash', { command: 'ls' });
    await child.toolEnd('bash', { ok: false, output: 'no boats' });
    await child.finish({ text: 'none', usage: { input: 1, output: 2, costUsd: 0.0004 } });
    await pi.seen('final');
    expect(told(pi.events)).toEqual([
      { t: 'session', session: 'ask.1.jsonl' },
      { t: 'message', role: 'user', text: 'count the\u2028boats' },
      { t: 'message', role: 'assistant', text: 'let me look' },
      { t: 'toolStart', id: 'call_1', name: 'bash', input: { command: 'ls' } },
      { t: 'toolEnd', id: 'call_1', name: 'bash', ok: false, output: 'no boats', truncated: false },
      { t: 'message', role: 'assistant', text: 'none' },
      { t: 'final', text: 'none', stop: 'stop', truncated: false },
    ]);
    expect(pi.events).toContainEqual({ t: 'model', model: 'acme/large' });
    const usage = pi.events.findLast((event) => event.t === 'usage')?.usage;
    expect(usage).toEqual({ input: 101, output: 22, cacheRead: 30, cacheWrite: 0, costUsd: 0.001, turns: 2, tools: 1 });
    pi.finish();
    expect(await exitOf(pi.process)).toEqual({ code: 0, signal: null });
    await child.closed;
    expect(child.commands()).toEqual(expect.arrayContaining(['prompt', 'get_state']));
  });

  test('one-shot: the task is all of stdin, and it goes on after its end until it is told to exit', async () => {
    const pi = startUnderPi(agents.settings('mine', 'json'), 'do it');
    const child = await agents.next();
    expect(child.task).toBe('do it');
    await child.finish({ errorMessage: '429 quota' });
    await pi.seen('error');
    expect(pi.events.find(({ t }) => t === 'session')).toBeDefined();
    expect(pi.events.find(({ t }) => t === 'error')).toMatchObject({ failure: { code: 'rate-limited' } });
    await child.say('after all');
    await pi.seen('resumed');
    await child.exit(3);
    expect(await exitOf(pi.process)).toEqual({ code: 3, signal: null });
  });

  test('an abort ends the open tool and the run, unless it is ignored', async () => {
    const pi = startUnderPi(agents.settings(), 'long work');
    const child = await agents.next();
    await child.toolStart('bash');
    pi.process.stdin?.write('{"type":"abort"}\n');
    await pi.seen('error');
    expect(pi.events.find(({ t }) => t === 'toolEnd')).toMatchObject({ name: 'bash', ok: false });
    expect(pi.events.find(({ t }) => t === 'error')).toMatchObject({ failure: { code: 'aborted' } });

    const count = pi.events.length;
    await child.ignore('abort');
    await child.ignore('stdin-close');
    pi.process.stdin?.end('{"type":"abort"}\n');
    await child.say('here I am');
    await pi.seen('resumed');
    expect(pi.events.slice(count).some(({ t }) => t === 'error')).toBe(false);
    await expect.poll(() => child.commands().filter((name) => name === 'abort')).toHaveLength(2);
    await child.exit(0);
  });

  test('a prompt can be refused', async () => {
    const pi = startUnderPi(agents.settings('fake', 'rpc', { refuse: '401 no key' }), 'anything');
    await agents.next();
    await pi.seen('error');
    expect(pi.events.find(({ t }) => t === 'error')).toMatchObject({ failure: { code: 'auth' } });
  });
});

describe('as any program', () => {
  test('writes what it is told, byte for byte, and reads its stdin', async () => {
    const { process: program, out, err } = start(agents.argv());
    program.stdin?.end('input');
    const child = await agents.next();
    expect(await child.tasked()).toBe('input');
    await child.raw(Buffer.from([0xc3, 0x28, 0x0a]));
    await child.raw('no newline');
    await child.stderr('bad flag\n');
    await child.exit(1);
    expect(await exitOf(program)).toEqual({ code: 1, signal: null });
    expect(await out).toBe('\uFFFD(\nno newline');
    expect(await err).toContain('bad flag');
  });

  test('floods with exactly as many bytes as it is told', async () => {
    const { out } = start(agents.argv());
    const child = await agents.next();
    await child.flood({ bytes: 1_000_003, lineBytes: 100 });
    await child.exit(0);
    const lines = (await out).split('\n');
    expect(lines.join('\n')).toHaveLength(1_000_003);
    expect(lines).toHaveLength(10_000 + 1 + 1);
    expect(lines[0]).toHaveLength(99);
  });

  test('tells where it runs and with which variables', async () => {
    const { process: program } = start(agents.argv(), { ONE_MORE: 'secret' });
    const child = await agents.next();
    expect(child).toMatchObject({ pid: program.pid, cwd: process.cwd(), mode: 'plain', task: '' });
    expect(child.envNames).toContain('ONE_MORE');
  });
});

describe('signals', () => {
  test('SIGTERM ends it as it ends pi, and is noted', async () => {
    const pi = startUnderPi(agents.settings(), 'work');
    const child = await agents.next();
    pi.process.kill('SIGTERM');
    expect(await exitOf(pi.process)).toEqual({ code: 143, signal: null });
    await child.closed;
    expect(child.signals()).toEqual(['SIGTERM']);
  });

  test('SIGINT ends a plain program by the signal itself', async () => {
    const { process: program } = start(agents.argv());
    const child = await agents.next();
    program.kill('SIGINT');
    expect(await exitOf(program)).toEqual({ code: null, signal: 'SIGINT' });
    await child.gone();
    expect(child.signals()).toEqual(['SIGINT']);
  });

  test('an ignored signal is noted and has no effect; it can still die of it', async () => {
    const { process: program } = start(agents.argv());
    const child = await agents.next();
    await child.ignore('SIGTERM');
    program.kill('SIGTERM');
    await expect.poll(() => child.signals()).toEqual(['SIGTERM']);
    await child.raw('still here');
    await child.die('SIGTERM');
    expect(await exitOf(program)).toEqual({ code: null, signal: 'SIGTERM' });
    await expect(child.raw('too late')).rejects.toThrow(/has ended/);
  });

  test('frozen, it does not even die of SIGTERM', async () => {
    const { process: program } = start(agents.argv());
    const child = await agents.next();
    await child.freeze();
    program.kill('SIGTERM');
    expect(readFileSync(`/proc/${child.pid}/stat`, 'utf8')).toContain(') T ');
    program.kill('SIGCONT');
    expect(await exitOf(program)).toEqual({ code: null, signal: 'SIGTERM' });
  });
});

describe('its processes', () => {
  test('a grandchild holds the pipes after the exit', async () => {
    const { process: program, out } = start(agents.argv());
    const child = await agents.next();
    const holder = await child.holdPipes();
    await child.exit(0);
    await exitOf(program);
    let ended = false;
    void out.then(() => (ended = true));
    await child.gone();
    expect({ ended, group: groupOf(holder) }).toEqual({ ended: false, group: child.pid });
    process.kill(holder, 'SIGKILL');
    expect(await out).toBe('');
  });

  test('forked ones are in its group, strays in their own, with the token or without', async () => {
    start(agents.argv(), { COXSWAIN_TOKEN: 'a-token' });
    const child = await agents.next();
    const forked = await child.fork({ count: 3 });
    const [marked, unmarked] = [await child.stray(), await child.stray({ keepToken: false })];
    expect(forked.map(groupOf)).toEqual([child.pid, child.pid, child.pid]);
    expect([marked, unmarked].map(groupOf)).toEqual([marked, unmarked]);
    expect(environOf(marked)).toContain('COXSWAIN_TOKEN=a-token');
    expect(environOf(unmarked)).not.toContain('COXSWAIN_TOKEN=');
  });
});

describe('the rig', () => {
  test('hands out agents in the order in which they started, each once', async () => {
    const first = start(agents.argv()).process;
    const one = await agents.next();
    const second = start(agents.argv()).process;
    const two = await agents.next();
    expect([one.pid, two.pid]).toEqual([first.pid, second.pid]);
    expect(agents.started).toBe(2);
  });

  test('says so when none starts, when none is told to work, and when it is not built', async () => {
    await using impatient = await startFakeAgents({ patienceMs: 50 });
    await expect(impatient.next()).rejects.toThrow(/waited 50 ms for the fake agent to be started/);
    start(agents.settings('fake', 'rpc').command?.concat('--mode', 'rpc', ...(agents.settings().args ?? [])) ?? []);
    const idle = await agents.next({ when: 'started' });
    const [tasked] = await Promise.allSettled([idle.tasked(), idle.exit(0)]);
    expect(tasked).toMatchObject({ reason: new Error('the fake agent ended before it was given a task') });
    await expect(startFakeAgents({ agentPath: join(tmpdir(), 'no-such-agent.js') })).rejects.toThrow(/not built/);
  });

  test('leaves nobody behind: not the frozen, the deaf, nor their grandchildren', async () => {
    const programs = [start(agents.argv()).process, start(agents.argv()).process];
    const [deaf, frozen] = [await agents.next(), await agents.next()];
    for (const what of ['SIGTERM', 'stdin-close', 'control-close'] as const) await deaf.ignore(what);
    const pids = [deaf.pid, frozen.pid, await deaf.stray({ keepToken: false }), await frozen.holdPipes()];
    await frozen.freeze();
    expect(pids.map((pid) => identify(pid))).not.toContain(null);
    const folder = join(agents.argv().at(-1) ?? '', '..');
    expect(existsSync(folder)).toBe(true);

    await agents.dispose();
    expect(pids.map((pid) => identify(pid))).toEqual([null, null, null, null]);
    expect(existsSync(folder)).toBe(false);
    await Promise.all(programs.map(exitOf));
    await agents.dispose();
  });
});

describe('without its rig', () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'coxswain-test-'));
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  test('it exits when the control socket closes', async () => {
    const path = join(folder, 'control');
    const server = createServer().listen(path);
    await once(server, 'listening');
    const { process: program } = start([...agents.argv().slice(0, 2), '--control', path]);
    const [socket] = (await once(server, 'connection')) as [Socket];
    await once(socket, 'data');
    socket.destroy();
    expect(await exitOf(program)).toEqual({ code: 70, signal: null });
    server.close();
  });

  test('it does not start', async () => {
    const { process: program } = start([...agents.argv().slice(0, 2), '--control', join(folder, 'nobody')]);
    expect(await exitOf(program)).toEqual({ code: 70, signal: null });
  });
});
