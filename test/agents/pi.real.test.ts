import { EventEmitter, once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type AgentEvent, createRegistry } from '../../src/agents/index.ts';
import { type Ack, type Mailbox, createMailbox, mailboxPaths, openMailbox } from '../../src/mailbox/index.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { type Gate, type PiChild, type PiChildOptions, makeGate, startPiChild } from '../support/pi-child.ts';
import { PI_CLI, type PiHome, makePiHome } from '../support/pi-home.ts';
import { endOf } from './drive.ts';

const bash = (command: string): { name: string; arguments: { command: string } } => ({
  name: 'bash',
  arguments: { command },
});

/** A tool at work: it ends when the test lets it. */
const waiting = { text: 'Working.', tools: [bash('cat tool-gate; echo from-the-tool')] };
const SCENARIOS = {
  flaky: [
    { error: { status: 429, message: 'Later (scripted)', type: 'rate_limit_error' } },
    { text: 'Running.', tools: [bash('echo from-the-tool')] },
    { text: '{{lastUser}} {{lastToolResult}}' },
  ],
  steered: [
    waiting,
    { text: 'Seen.', gate: 'asked again' },
    { text: 'Asking.', tools: [{ name: 'contact_supervisor', arguments: { question: 'Which colour?' } }] },
    { text: 'It is {{lastToolResult}}' },
    { text: 'Followed.' },
    { text: 'Last: {{lastUser}}' },
  ],
  defined: [{ text: 'Seen.' }],
  bad: [{ error: { status: 400, message: 'Bad request (scripted)', type: 'invalid_request_error' } }],
  oneway: [waiting, { text: 'Seen.', gate: 'asked one-way' }, { text: 'Last: {{lastUser}}' }],
};

let server: ModelServer;
let home: PiHome;
let toolGate: Gate;
const started: PiChild[] = [];

beforeAll(async () => {
  // Without it there is nothing to test, and a skipped test would look like a good one.
  if (!existsSync(PI_CLI)) throw new Error('pi is not installed: npm run install:real-agents');
  server = await startModelServer(SCENARIOS);
  home = await makePiHome({ url: server.url, models: Object.keys(SCENARIOS), retries: 2 });
  toolGate = makeGate(join(home.work, 'tool-gate'));
});
afterAll(async () => {
  for (const child of started) child.kill();
  await server.close();
  await home.remove();
});

async function pi(
  model: string,
  mode: 'rpc' | 'json',
  task: string,
  more: Partial<PiChildOptions> = {},
): Promise<PiChild> {
  const child = await startPiChild({ home, mode, task, model: `fake/${model}`, ...more });
  started.push(child);
  return child;
}

const isTool = (event: AgentEvent): boolean => event.t === 'toolStart';
const requestsOf = (scenario: string) => server.requests.filter((request) => request.scenario === scenario);

/** What was told of one message, in order. */
const fateOf = (events: readonly AgentEvent[], id: string): string[] =>
  events.flatMap((event) =>
    event.t === 'steer' && event.id === id ? [event.state === 'undelivered' ? event.reason : event.state] : [],
  );
const isFate = (id: string, state: string) => (event: AgentEvent) =>
  event.t === 'steer' && event.id === id && event.state === state;

interface Box {
  mailbox: Mailbox;
  paths: ReturnType<typeof mailboxPaths>;
  problems: string[];
  /** What the child said of its review. */
  reviews: object[];
  /** What was acknowledged of one message, in order. */
  states(id: string): string[];
  /** Resolves when that is acknowledged. */
  acked(id: string, state: Ack['state']): Promise<void>;
}

/** As the runtime makes it; every question is answered. */
function makeBox(name: string): Box {
  const paths = mailboxPaths(join(home.dir, name));
  expect(createMailbox(paths)).toEqual({ type: 'ok' });
  const acks: Ack[] = [];
  const problems: string[] = [];
  const reviews: object[] = [];
  const news = new EventEmitter();
  const states = (id: string): string[] => acks.filter((ack) => ack.id === id).map(({ state }) => state);
  const mailbox = openMailbox(paths, {
    listens: 'expected',
    onAck: (ack) => {
      acks.push(ack);
      news.emit('ack');
    },
    onAsk: ({ id, text }) => mailbox.answer(id, { text: `blue (${text})` }),
    onAskGone: (id) => problems.push(`${id} is gone`),
    onReview: (review) => reviews.push(review),
    onCapability: () => {},
    onProblem: ({ message }) => problems.push(message),
  });
  return {
    mailbox,
    paths,
    problems,
    reviews,
    states,
    async acked(id, state) {
      while (!states(id).includes(state)) await once(news, 'ack');
    },
  };
}

test('rpc: a retry of pi is waited for, a tool is called, and pi exits when stdin is closed', async () => {
  const task = '-starts like an option\n"and" has two lines';
  const child = await pi('flaky', 'rpc', task);
  expect(await child.ended).toEqual({ code: 0, signal: null });
  const { events } = child;
  expect(endOf(events)).toMatchObject({ t: 'final', text: `${task} from-the-tool` });
  expect(events.filter((event) => event.t === 'retry')).toHaveLength(1);
  expect(events.some((event) => event.t === 'resumed')).toBe(false);
  expect(events.find(isTool)).toMatchObject({ name: 'bash', input: { command: 'echo from-the-tool' } });
  expect(events.find((event) => event.t === 'toolEnd')).toMatchObject({ ok: true, output: 'from-the-tool\n' });
  // The failed answer counts as a turn, and used nothing.
  const used = events.findLast((event) => event.t === 'usage')?.usage;
  expect(used).toMatchObject({ input: 200, output: 20, turns: 3, tools: 1 });
  expect(used?.costUsd).toBeCloseTo(0.00024, 9);
  expect(events.find((event) => event.t === 'model')).toEqual({ t: 'model', model: 'fake/flaky' });
});

test('rpc: messages reach the model in their order and are delivered only then; a question is answered', async () => {
  const { mailbox, paths, problems, reviews } = makeBox('steered');
  // Holds pi where its run has ended and it has not said so yet: what comes now it would leave in its queue.
  const endGate = makeGate(join(home.dir, 'end-gate'));
  const slow = join(home.dir, 'slow.js');
  writeFileSync(
    slow,
    `import { readFile } from 'node:fs/promises';
     let held = false;
     const say = (pi, id, active) => pi.events.emit('coxswain:review', { id, active });
     export default (pi) => pi.on('agent_end', async () => {
       if (held) return;
       held = true;
       // Two that review in the background; it is over when both have said so.
       say(pi, 'a', true); say(pi, 'b', true); say(pi, 'a', false);
       await readFile(${JSON.stringify(endGate.path)});
       say(pi, 'b', false);
     });`,
  );
  const child = await pi('steered', 'rpc', 'work', { mailbox: paths, args: ['-e', slow] });
  await child.seen(isTool);
  for (const id of ['a', 'b']) expect(child.steer({ id, text: 'The same words.', mode: 'now' })).toBe('sent');
  child.wrapUp(60_000);
  expect(child.steer({ id: 'c', text: 'And then?', mode: 'next' })).toBe('sent');
  await child.seen(isFate('c', 'queued'));
  const tool = await toolGate.reached();
  expect(fateOf(child.events, 'a')).toEqual(['queued']);
  await tool.release();

  await server.reached('asked again');
  expect(requestsOf('steered')[1]).toMatchObject({ userTexts: ['work', 'The same words.'] });
  await child.seen(isFate('a', 'taken'));
  // The model has not said a word since.
  expect(fateOf(child.events, 'a')).toEqual(['queued', 'taken']);
  expect(fateOf(child.events, 'b')).toEqual(['queued']);
  server.open('asked again');

  const end = await endGate.reached();
  mailbox.look();
  expect(reviews).toEqual([{ seq: 1, active: true }]);
  expect(child.steer({ id: 'd', text: 'Too late?', mode: 'auto' })).toBe('sent');
  await child.seen(isFate('d', 'queued'));
  await end.release();
  expect((await child.ended).code).toBe(0);
  mailbox.close();
  expect(problems).toEqual([]);
  expect(reviews.at(-1)).toEqual({ seq: 2, active: false });

  for (const id of ['a', 'b', 'c', 'd']) expect(fateOf(child.events, id)).toEqual(['queued', 'taken', 'delivered']);
  const [, , twice, wrapped, followed, last] = requestsOf('steered');
  expect(twice?.userTexts).toEqual(['work', 'The same words.', 'The same words.']);
  expect(wrapped?.lastUser).toMatch(/about 60 seconds are left/);
  expect(wrapped?.lastToolResult).toBe('blue (Which colour?)');
  expect(followed?.lastUser).toBe('And then?');
  expect(last?.userTexts.slice(-2)).toEqual([expect.stringContaining('One more'), 'Too late?']);
  // One end: that the run ended with a message in the queue was none.
  expect(endOf(child.events)).toMatchObject({ t: 'final', text: 'Last: Too late?' });
  expect(child.events.filter(({ t }) => t === 'final' || t === 'resumed')).toHaveLength(1);
  expect(child.steer({ id: 'e', text: 'Anybody?', mode: 'now' })).toBe('too-late');
});

test('json: the task comes on stdin, and messages through the extension, which tells when they are taken', async () => {
  const box = makeBox('oneway');
  const { mailbox, paths, problems } = box;
  const child = await pi('oneway', 'json', '@not-a-file -p of the task', { mailbox: paths });
  // Before it listens: the message waits, and goes along with the task.
  expect(child.steer({ id: 'a', text: 'By the way.', mode: 'now' })).toBe('mailbox');
  expect(mailbox.steer({ id: 'a', text: 'By the way.', mode: 'now' })).toBe('sent');
  await box.acked('a', 'delivered');
  expect(requestsOf('oneway')[0]?.userTexts).toEqual(['@not-a-file -p of the task', 'By the way.']);
  const tool = await toolGate.reached();
  expect(mailbox.steer({ id: 'b', text: 'Hurry.', mode: 'now' })).toBe('sent');
  expect(mailbox.steer({ id: 'c', text: 'And then?', mode: 'next' })).toBe('sent');
  await Promise.all([box.acked('b', 'queued'), box.acked('c', 'queued')]);
  await tool.release();

  await server.reached('asked one-way');
  expect(requestsOf('oneway')[1]?.lastUser).toBe('Hurry.');
  await box.acked('b', 'taken');
  expect(box.states('b')).toEqual(['queued', 'taken']);
  server.open('asked one-way');
  expect((await child.ended).code).toBe(0);
  mailbox.close();
  // What follows quickly takes the place of what was not read yet.
  for (const id of ['a', 'b', 'c']) expect(box.states(id).at(-1)).toBe('delivered');
  expect(endOf(child.events)).toMatchObject({ t: 'final', text: 'Last: And then?' });
  expect(problems).toEqual([]);
  // No text is left.
  const left = readdirSync(join(home.dir, 'oneway'), { recursive: true, withFileTypes: true });
  expect(left.filter((entry) => entry.isFile())).toEqual([]);
});

test.each(['rpc', 'json'] as const)('%s: a model error is a failure, though pi exits 0', async (mode) => {
  const child = await pi('bad', mode, 'Try this.');
  expect(await child.ended).toEqual({ code: 0, signal: null });
  expect(endOf(child.events)).toMatchObject({ t: 'error', failure: { code: 'model-error', detail: { status: 400 } } });
});

test('a model that pi does not know is a failure to go on from, not a crash', async () => {
  const child = await pi('nobody', 'rpc', 'x', { model: 'nowhere/nobody' });
  expect((await child.ended).code).toBe(1);
  expect(endOf(child.events)).toMatchObject({
    t: 'error',
    failure: { code: 'model-unavailable', detail: { exitCode: 1 } },
  });
});

test('what a definition says reaches its model: system prompt, tools, skills, and what it does not inherit', async () => {
  writeFileSync(join(home.work, 'AGENTS.md'), 'The project says so.');
  const skill = join(home.dir, 'counting');
  mkdirSync(skill);
  writeFileSync(join(skill, 'SKILL.md'), '---\nname: counting\ndescription: How to count.\n---\nOne, two.\n');
  const child = await pi('defined', 'json', 'Look.', {
    defines: {
      systemPrompt: { append: 'You only look.' },
      tools: { only: ['read', 'grep'] },
      skills: [skill],
      inherit: { context: false },
    },
  });
  expect((await child.ended).code).toBe(0);
  rmSync(join(home.work, 'AGENTS.md'));
  const [request] = requestsOf('defined');
  expect(request?.tools.toSorted()).toEqual(['grep', 'read']);
  expect(request?.system).toContain('You only look.');
  expect(request?.system).toContain('How to count.');
  expect(request?.system).not.toContain('The project says so.');
});

test('the version', async () => {
  const registry = createRegistry({}, { env: { ...home.env, COXSWAIN_AGENT_PI: PI_CLI } });
  const list = await registry.list({ versions: true });
  expect(list.find((agent) => agent.name === 'pi')?.version).toBe('0.73.1');
});
