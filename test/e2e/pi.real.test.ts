import { mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fold, stable } from '../../machines/index.ts';
import type { JournalRecord, Status } from '../../machines/protocol.ts';
import { type PlanInput, type Run, start } from '../../src/index.ts';
import { attempt, openCli, until } from '../support/cli.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { PI_CLI, type PiHome, makePiHome } from '../support/pi-home.ts';
import { runs } from '../support/truth.ts';

/** The real pi, driven by plans against a scripted model: no key, no network. */
const sleeping = { text: 'Waiting.', tools: [{ name: 'bash', arguments: { command: 'exec sleep 600' } }] };
const SCENARIOS = {
  scout: [{ text: 'billing.ts and invoice.ts' }],
  echo: [{ text: 'I was asked: {{lastUser}}' }],
  bad: [{ error: { status: 400, message: 'Bad request (scripted)', type: 'invalid_request_error' } }],
  busy: [{ error: { status: 429, message: 'Too many (scripted)', type: 'rate_limit_error' } }, { text: 'Now.' }],
  tool: [
    { text: 'Running.', tools: [{ name: 'bash', arguments: { command: 'echo from-the-tool' } }] },
    { text: 'It said {{lastToolResult}}' },
  ],
  huge: [{ text: 'Read.' }],
  value: [
    { text: 'Looking.', tools: [{ name: 'bash', arguments: { command: 'exit 3' } }] },
    { tools: [{ name: 'structured_output', arguments: { result: { ok: true, files: ['a'] } } }] },
  ],
  unfit: [
    { tools: [{ name: 'structured_output', arguments: { result: { ok: 'perhaps' } } }] },
    { text: 'I give up.' },
    { tools: [{ name: 'structured_output', arguments: { result: { ok: true } } }] },
  ],
  prose: [{ text: '{"ok":true}' }],
  quiet: [{ text: 'Trying.', tools: [{ name: 'bash', arguments: { command: 'exit 3' } }] }, { text: '' }],
  long: [sleeping],
  long2: [sleeping],
};

let server: ModelServer;
let home: PiHome;
let root: string;

beforeAll(async () => {
  server = await startModelServer(SCENARIOS);
  home = await makePiHome({ url: server.url, models: Object.keys(SCENARIOS) });
  root = mkdtempSync(join(tmpdir(), 'coxswain-e2e-'));
});
afterAll(async () => {
  await server.close();
  await home.remove();
  rmSync(root, { recursive: true, force: true });
});

const startPi = (steps: PlanInput['steps'], agents: PlanInput['agents'] = {}): Promise<Run> =>
  start(
    { plan: { version: 1, cwd: home.work, defaults: { agent: 'pi' }, agents, steps } },
    { root, env: { ...home.env, COXSWAIN_AGENT_PI: PI_CLI } },
  );

function recordsOf(run: Run): JournalRecord[] {
  const text = readFileSync(join(run.directory, 'events.jsonl'), 'utf8');
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JournalRecord);
}

function expectTruth(run: Run): void {
  const status = JSON.parse(readFileSync(join(run.directory, 'status.json'), 'utf8')) as Status;
  const records = recordsOf(run);
  expect(fold(records.filter((record) => record.seq <= status.seq))).toEqual(stable(status));
  expect(stable(run.status())).toEqual(fold(records));
}

test('a chain of two steps: the second task contains the answer of the first, the usage is counted, nothing is left', async () => {
  const run = await startPi([
    { id: 'scout', task: 'List the modules.', model: 'fake/scout' },
    { id: 'review', task: 'Review these: {{ steps.scout.output }}', model: 'fake/echo' },
  ]);
  expect((await run.ended()).outcome.state).toBe('completed');
  expect(server.requests.at(-1)?.lastUser).toBe('Review these: billing.ts and invoice.ts');
  const { steps, usage } = await run.result();
  expect(steps[0]).toMatchObject({
    state: 'completed',
    output: { text: 'billing.ts and invoice.ts' },
    outputState: 'present',
    attempts: [{ n: 1, outcome: 'completed', proof: { verdict: 'gone', level: 'searched', leftovers: 0 } }],
  });
  expect(steps[1]?.output).toEqual({ text: 'I was asked: Review these: billing.ts and invoice.ts' });
  expect(usage).toMatchObject({ input: 200, output: 20, turns: 2 });
  expect(usage.costUsd).toBeGreaterThan(0);
  expectTruth(run);
});

test('a model error fails the step with a typed reason, in both modes of pi', async () => {
  const run = await startPi(
    [
      { id: 'ask', task: 'Try this.', model: 'fake/bad', needs: [] },
      { id: 'after', task: 'Never asked.', model: 'fake/echo', needs: ['ask'] },
      { id: 'once', agent: 'once', task: 'Try this.', model: 'fake/bad', needs: [] },
    ],
    { once: { adapter: 'pi', mode: 'json' } },
  );
  const { outcome } = await run.ended();
  expect(outcome).toMatchObject({ state: 'failed', cause: { type: 'failure', reason: 'model-error' }, partial: false });
  const [asked, after, once] = (await run.result()).steps;
  for (const step of [asked, once]) {
    expect(step).toMatchObject({
      state: 'failed',
      error: { code: 'model-error', message: '400 Bad request (scripted)', detail: { status: 400 } },
      output: null,
      attempts: [{ class: 'model-error', proof: { verdict: 'gone', survivors: 0 } }],
    });
  }
  expect(after).toMatchObject({ state: 'skipped', cause: { type: 'dependency', step: 'ask' }, attempts: [] });
  expectTruth(run);
});

test('a tool, a model that has too much to do for a moment, and a task of 3 MB: each is done, and nothing is left of its processes', async () => {
  const task = 'long '.repeat(600_000);
  const run = await startPi([
    { id: 'tool', task: 'Use it.', model: 'fake/tool', needs: [] },
    { id: 'busy', task: 'Ask.', model: 'fake/busy', retry: { model: ['10ms'] }, needs: [] },
    { id: 'huge', task, model: 'fake/huge', needs: [] },
  ]);
  expect((await run.ended()).outcome.state).toBe('completed');
  const { steps } = await run.result();
  const [tool, busy, huge] = steps;
  expect(tool).toMatchObject({
    output: { text: 'It said from-the-tool' },
    attempts: [{ outcome: 'completed', usage: { turns: 2, tools: 1 } }],
  });
  expect(busy).toMatchObject({
    output: { text: 'Now.' },
    attempts: [
      { outcome: 'failed', class: 'rate-limited' },
      { outcome: 'completed', usage: { turns: 1 } },
    ],
  });
  expect(huge?.output).toEqual({ text: 'Read.' });
  expect(server.requests.find(({ scenario }) => scenario === 'huge')?.lastUser === task).toBe(true);
  for (const { proof } of steps.flatMap(({ attempts }) => attempts)) {
    expect(proof).toMatchObject({ verdict: 'gone', level: 'searched', survivors: 0, leftovers: 0 });
  }
  expectTruth(run);
});

test('a time limit and a stop while tools sleep: each step has its cause, and the tools, sessions of their own, are gone', async () => {
  const run = await startPi([
    { id: 'limited', task: 'SENTINEL-task: sleep.', model: 'fake/long', timeout: '24h', needs: [] },
    { id: 'stopped', task: 'Sleep.', model: 'fake/long2', needs: [] },
  ]);
  for await (const { steps } of run.watch()) if (steps.every(({ tool }) => tool?.name === 'bash')) break;
  const tools = await Promise.all(run.status().steps.map(({ pid = 0 }) => sleepingTool(pid)));
  // The limit is reached when the tool is known to sleep, however long pi took to get there.
  expect(await run.extend('200ms', { step: 'limited' })).toMatchObject({ verdict: 'applied' });
  for await (const status of run.watch()) if (status.steps[0]?.state === 'failed') break;
  expect(await run.stop({ source: 'test' })).toMatchObject({ verdict: 'applied' });
  expect((await run.ended()).outcome).toMatchObject({ state: 'stopped', cause: { type: 'stop', source: 'test' } });
  const [limited, stopped] = (await run.result()).steps;
  expect(limited).toMatchObject({ state: 'failed', cause: { type: 'step-limit' } });
  expect(stopped).toMatchObject({ state: 'stopped', cause: { type: 'stop', source: 'test' } });
  for (const step of [limited, stopped]) {
    expect(step?.attempts[0]?.proof).toMatchObject({ verdict: 'gone', level: 'searched', survivors: 0 });
  }
  expect(tools.filter(runs)).toEqual([]);
  expectTruth(run);
});

test('Ctrl-C on the attached command line while a tool sleeps: exit code 130, and the tool is gone', async () => {
  await using cli = openCli();
  const plan = { version: 1, cwd: home.work, steps: [{ id: 'ask', agent: 'pi', task: 'Sleep.', model: 'fake/long' }] };
  cli.file('plan.json', JSON.stringify(plan));
  const { child, ended } = cli.start(['run', 'plan.json', '--id', 'c'], {
    env: { ...home.env, COXSWAIN_AGENT_PI: PI_CLI, COXSWAIN_HOME: cli.root },
  });
  await until(() => attempt(() => cli.status('c').steps[0]?.tool?.name) === 'bash', 'the tool has begun');
  const tool = await sleepingTool(cli.status('c').steps[0]?.pid ?? 0);
  child.kill('SIGINT');
  expect(await ended).toMatchObject({ code: 130, signal: null });
  expect(cli.status('c')).toMatchObject({
    state: 'stopped',
    cause: { type: 'runner-signal', signal: 'SIGINT' },
    steps: [{ state: 'stopped', proof: { verdict: 'gone', level: 'searched', survivors: 0 } }],
  });
  expect(runs(tool)).toBe(false);
});

const commandOf = (pid: number): string => attempt(() => readFileSync(`/proc/${pid}/cmdline`, 'latin1')) ?? '';

/** The tool below pi, once it sleeps: a session of its own, so that pi's group does not tell of it. */
const sleepingTool = (pid: number): Promise<number> =>
  until(() => {
    const children = attempt(() => readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1')) ?? '';
    return children
      .split(' ')
      .filter(Boolean)
      .map(Number)
      .find((child) => commandOf(child).startsWith('sleep\0'));
  }, 'the tool sleeps');

test('the task is in the plan, the raw streams and the session, and nowhere else in any run directory', () => {
  const kept = /^(?:plan\.json|attempts\/[^/]+\/\d+\/stdout\.jsonl|sessions\/[^/]+\.jsonl)$/;
  const found: string[] = [];
  for (const entry of readdirSync(join(root, 'runs'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    if (readFileSync(path, 'utf8').includes('SENTINEL-task')) {
      found.push(path.slice(join(root, 'runs').length + 1).replace(/^[^/]+\//, ''));
    }
  }
  expect(found).toContain('plan.json');
  expect(found.filter((path) => !kept.test(path))).toEqual([]);
});

const step = (id: string) => ({ id, needs: [], task: `Do ${id}.`, model: `fake/${id}` });

test('a value comes by the tool of the extension; what does not fit is put right in the same session; prose is no value', async () => {
  const schema = {
    type: 'object',
    properties: { ok: { $ref: '#/$defs/yes' }, files: { type: 'array' } },
    required: ['ok'],
    $defs: { yes: { const: true } },
  };
  const run = await startPi([
    { ...step('value'), output: { schema } },
    { ...step('unfit'), output: { schema } },
    { ...step('prose'), output: { schema, repair: 0 } },
    { ...step('quiet'), retry: 'none' },
    { id: 'reads', needs: ['value'], run: ['echo', '{{ steps.value.output.files[0] }}'] },
  ]);
  await run.ended();
  const { steps } = await run.result();
  const of = (id: string) => steps.find((one) => one.id === id);
  // S038: the tool that failed before is in its records, and no failure.
  expect(of('value')).toMatchObject({ state: 'completed', output: { value: { ok: true, files: ['a'] } } });
  expect(of('reads')?.output).toEqual({ text: 'a' });
  expect(of('unfit')).toMatchObject({
    state: 'completed',
    output: { value: { ok: true } },
    attempts: [
      { n: 1, class: 'schema-invalid' },
      { n: 2, class: null },
    ],
  });
  const asked = server.requests.filter(({ model }) => model === 'unfit');
  expect(asked.at(-1)?.userTexts[0]).toContain('Do unfit.');
  expect(asked.at(-1)?.lastUser).toMatch(/could not be taken.*\/ok must be true/);
  expect(asked[0]?.tools).toContain('structured_output');
  expect(of('prose')).toMatchObject({ state: 'failed', error: { code: 'schema-missing' } });
  expect(of('quiet')).toMatchObject({ state: 'failed', error: { code: 'hidden-error', detail: { tool: 'bash' } } });
  expect(of('quiet')?.attempts[0]?.usage).toMatchObject({ tools: 1, turns: 2 });
  expect(of('quiet')?.output).toEqual({ text: 'Trying.' });
  expectTruth(run);
});
