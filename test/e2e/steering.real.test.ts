import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fold, stable } from '../../machines/index.ts';
import type { JournalRecord, Status } from '../../machines/protocol.ts';
import { type PlanInput, type Run, start } from '../../src/index.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { type Gate, makeGate } from '../support/pi-child.ts';
import { PI_CLI, type PiHome, makePiHome } from '../support/pi-home.ts';

/** Messages, questions and pauses of whole runs, with the real pi. What a text says must be on no record: SENTINEL. */
const bash = (command: string) => ({ name: 'bash', arguments: { command } });
const SCENARIOS = {
  steered: [
    { text: 'Working.', tools: [bash('cat tool-gate')] },
    {
      text: 'Asking.',
      gate: 'asked again',
      tools: [{ name: 'contact_supervisor', arguments: { question: 'SENTINEL-ask' } }],
    },
    { text: 'It is {{lastToolResult}}' },
    { text: 'Last: {{lastUser}}' },
  ],
  long: [{ text: 'Waiting.', tools: [bash('exec sleep 600')] }, { text: 'I go on.' }],
  oneway: [{ text: 'Working.', tools: [bash('cat tool-gate')] }, { text: 'Last: {{lastUser}}' }],
};

let server: ModelServer;
let home: PiHome;
let root: string;
let toolGate: Gate;

beforeAll(async () => {
  server = await startModelServer(SCENARIOS);
  home = await makePiHome({ url: server.url, models: Object.keys(SCENARIOS) });
  root = mkdtempSync(join(tmpdir(), 'coxswain-e2e-steer-'));
  toolGate = makeGate(join(home.work, 'tool-gate'));
});
afterAll(async () => {
  await server.close();
  await home.remove();
  rmSync(root, { recursive: true, force: true });
});

const startPi = (steps: PlanInput['steps']): Promise<Run> =>
  start(
    {
      plan: {
        version: 1,
        cwd: home.work,
        defaults: { agent: 'pi' },
        agents: { once: { adapter: 'pi', mode: 'json' } },
        steps,
      },
    },
    { root, env: { ...home.env, COXSWAIN_AGENT_PI: PI_CLI } },
  );

const requestsOf = (scenario: string) => server.requests.filter((request) => request.scenario === scenario);

/** The first status of which it holds. */
async function when(run: Run, holds: (status: Status) => boolean): Promise<Status> {
  for await (const status of run.watch()) if (holds(status)) return status;
  throw new Error(`the run has ended: ${JSON.stringify(run.status())}`);
}

function expectTruth(run: Run): void {
  const text = readFileSync(join(run.directory, 'events.jsonl'), 'utf8');
  const records = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JournalRecord);
  expect(stable(run.status())).toEqual(fold(records));
}

const works = (status: Status, step: string): boolean =>
  status.steps.some(({ id, tool }) => id === step && tool?.name === 'bash');

test('a message reaches the model before its next call and is delivered only then; a later one after the answer; a question is answered', async () => {
  const run = await startPi([{ id: 'ask', task: 'Row.', model: 'fake/steered' }]);
  await when(run, (status) => works(status, 'ask'));
  const told: string[] = [];
  const now = run.steer('SENTINEL-now', { mode: 'now' }).then((answer) => (told.push('now'), answer));
  const next = run.steer('SENTINEL-next', { mode: 'next', step: 'ask' }).then((answer) => (told.push('next'), answer));
  await (await toolGate.reached()).release();
  await server.reached('asked again');
  expect(requestsOf('steered')[1]?.userTexts).toEqual(['Row.', 'SENTINEL-now']);
  expect(told).toEqual([]);
  server.open('asked again');
  expect(await now).toMatchObject({ verdict: 'delivered', final: true });

  const asking = await when(run, ({ asks }) => asks.some(({ state }) => state === 'asked'));
  const [question] = asking.asks;
  expect(await run.answer(question?.id ?? '', 'SENTINEL-answer')).toMatchObject({ verdict: 'applied' });
  expect(await next).toMatchObject({ verdict: 'delivered' });
  expect(told).toEqual(['now', 'next']);
  expect((await run.ended()).outcome.state).toBe('completed');
  expect(requestsOf('steered')[2]?.lastToolResult).toBe('SENTINEL-answer');
  expect(requestsOf('steered')[3]?.lastUser).toBe('SENTINEL-next');
  expect((await run.result()).steps[0]?.output).toEqual({ text: 'Last: SENTINEL-next' });
  expectTruth(run);
});

test('paused with a message on its way, which is undelivered, and gone on with in the same session; one-shot, pi is told through its extension; a command cannot be told', async () => {
  const keeper = makeGate(join(home.work, 'keeper-gate'));
  const run = await startPi([
    { id: 'keeper', run: ['cat', 'keeper-gate'], needs: [] },
    { id: 'long', task: 'Wait for it.', model: 'fake/long', needs: [] },
    { id: 'once', agent: 'once', task: 'Row.', model: 'fake/oneway', needs: [] },
  ]);
  const kept = await keeper.reached();
  expect(await run.steer('SENTINEL-command', { step: 'keeper' })).toMatchObject({
    verdict: 'undelivered',
    reason: 'unsupported',
  });
  await when(run, (status) => works(status, 'long') && works(status, 'once'));
  const told = run.steer('SENTINEL-once', { mode: 'now', step: 'once' });
  // The extension has it: only then may the tool end.
  await when(run, ({ steering }) => steering.recent.some(({ targets }) => targets[0]?.state === 'queued'));
  const dropped = run.steer('SENTINEL-dropped', { mode: 'now', step: 'long' });
  expect(await run.interrupt({ step: 'long' })).toMatchObject({ verdict: 'applied' });
  expect(await dropped).toMatchObject({ verdict: 'undelivered', reason: 'aborted' });
  await when(run, ({ steps }) => steps[1]?.state === 'paused');
  await (await toolGate.reached()).release();
  expect(await told).toMatchObject({ verdict: 'delivered' });
  expect(requestsOf('long')).toHaveLength(1);

  expect(await run.resume({ step: 'long' })).toMatchObject({ verdict: 'applied' });
  await when(run, ({ steps }) => steps[1]?.state === 'completed');
  await kept.release();
  expect((await run.ended()).outcome.state).toBe('completed');
  const [, long, once] = (await run.result()).steps;
  expect(once?.output).toEqual({ text: 'Last: SENTINEL-once' });
  // Only what is new is counted.
  expect(long).toMatchObject({
    output: { text: 'I go on.' },
    attempts: [
      { outcome: 'paused', proof: { verdict: 'gone' } },
      { outcome: 'completed', usage: { turns: 1 }, proof: { verdict: 'gone', survivors: 0 } },
    ],
  });
  const texts = requestsOf('long')[1]?.userTexts;
  expect([texts?.[0], texts?.at(-1)]).toEqual(['Wait for it.', expect.stringContaining('Go on')]);
  expect(readdirSync(join(run.directory, 'sessions')).toSorted((a, b) => a.localeCompare(b))).toEqual([
    'long.1.jsonl',
    'once.1.jsonl',
  ]);
  expectTruth(run);
});

test('no text of a message, a question or an answer is on any record', () => {
  const runs = join(root, 'runs');
  // What the model said of it is its answer; the raw stream and the session are the agent's own.
  const kept =
    /^(?:attempts\/[^/]+\/\d+\/(?:stdout|transcript)\.jsonl|sessions\/[^/]+\.jsonl|result\.json|results\/\d+\.json|report\.md)$/;
  const found = readdirSync(runs, { recursive: true, withFileTypes: true }).flatMap((entry) => {
    const path = join(entry.parentPath, entry.name);
    if (!entry.isFile() || !readFileSync(path, 'utf8').includes('SENTINEL')) return [];
    return [path.slice(runs.length + 1).replace(/^[^/]+\//, '')];
  });
  expect(found.filter((path) => !kept.test(path))).toEqual([]);
});
