import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Run, start } from '../../src/index.ts';
import { type ModelServer, startModelServer } from '../support/model-server.ts';
import { type Gate, makeGate } from '../support/pi-child.ts';
import { PI_CLI, type PiHome, makePiHome } from '../support/pi-home.ts';

/** Runs of the real pi that go on in one conversation, one at a time. */
const SCENARIOS = {
  first: [{ text: 'It is blue.' }],
  second: [
    { text: 'Looking.', tools: [{ name: 'bash', arguments: { command: 'cat tool-gate' } }] },
    { text: 'As I said: blue.' },
  ],
};

let server: ModelServer;
let home: PiHome;
let root: string;
let gate: Gate;

beforeAll(async () => {
  server = await startModelServer(SCENARIOS);
  home = await makePiHome({ url: server.url, models: Object.keys(SCENARIOS) });
  root = mkdtempSync(join(tmpdir(), 'coxswain-e2e-shared-'));
  gate = makeGate(join(home.work, 'tool-gate'));
});
afterAll(async () => {
  await server.close();
  await home.remove();
  rmSync(root, { recursive: true, force: true });
});

const startPi = (id: string, model: string, task: string): Promise<Run> =>
  start(
    {
      plan: {
        version: 1,
        cwd: home.work,
        agents: { talker: { adapter: 'pi', session: 'shared:colours' } },
        steps: [{ id: 'ask', agent: 'talker', task, model: `fake/${model}` }],
      },
    },
    { root, id, env: { ...home.env, COXSWAIN_AGENT_PI: PI_CLI } },
  );

test('a second run goes on in the conversation of the first; a third is told that the second has it', async () => {
  const first = await startPi('one', 'first', 'Which colour?');
  expect((await first.ended()).outcome.state).toBe('completed');
  const second = await startPi('two', 'second', 'Which was it?');
  const tool = await gate.reached();
  const third = await startPi('three', 'first', 'And now?');
  expect((await third.ended()).outcome).toMatchObject({ state: 'failed', cause: { reason: 'session-busy' } });
  expect((await third.result()).steps[0]?.error).toMatchObject({ detail: { run: 'two', step: 'ask', attempt: 1 } });
  await tool.release();
  expect((await second.ended()).outcome.state).toBe('completed');
  expect((await second.result()).steps[0]).toMatchObject({
    output: { text: 'As I said: blue.' },
    attempts: [{ usage: { turns: 2 }, proof: { verdict: 'gone', survivors: 0 } }],
  });
  expect(server.requests.at(-1)?.userTexts).toEqual(['Which colour?', 'Which was it?']);
  const { mode } = statSync(join(root, 'sessions', 'colours.jsonl'));
  expect(mode & 0o777).toBe(0o600);
});
