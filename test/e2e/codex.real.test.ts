import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type PlanInput, type Run, start } from '../../src/index.ts';
import { CODEX_CLI, type CodexHome, codexMissing, makeCodexHome } from '../support/codex-home.ts';
import { type ResponsesServer, startResponsesServer } from '../support/responses-server.ts';

/** The real codex, driven by plans against a scripted model: each attempt's end is proven. */
const sleeping = [{ text: 'Waiting.', shell: 'exec sleep 600' }];
const calling = [{ text: 'Running.', shell: 'echo from-the-tool' }, { text: 'It said {{lastTool}}' }];
const SCRIPTS = {
  reply: [{ text: 'Hello.' }],
  'tool-two': calling,
  'tool-one': calling,
  bad: [{ error: { status: 401, message: 'Bad key (scripted)', type: 'authentication_error' } }],
  'long-two': sleeping,
  'long-one': sleeping,
  paused: sleeping,
};

describe.skipIf(codexMissing() !== null)('the real codex in a run', () => {
  let server: ResponsesServer;
  let home: CodexHome;
  let root: string;

  beforeAll(async () => {
    server = await startResponsesServer(SCRIPTS);
    home = await makeCodexHome(server.url);
    root = mkdtempSync(join(tmpdir(), 'coxswain-e2e-codex-'));
  });
  afterAll(async () => {
    await server.close();
    await home.remove();
    rmSync(root, { recursive: true, force: true });
  });

  /** `one` is one-way, `two` two-way. */
  const startCodex = (steps: PlanInput['steps']): Promise<Run> => {
    const args = ['-c', 'sandbox_mode="danger-full-access"'];
    const agents = {
      one: { adapter: 'codex', mode: 'exec', args },
      two: { adapter: 'codex', mode: 'app-server', args },
    };
    return start(
      { plan: { version: 1, cwd: home.work, agents, steps } },
      { root, env: { ...home.env, COXSWAIN_AGENT_CODEX: CODEX_CLI } },
    );
  };
  const gone = { verdict: 'gone', level: 'searched', survivors: 0 };

  test('a reply, tools, and a wrong key: outputs, usage, classes, and nothing is left', async () => {
    const run = await startCodex([
      { id: 'reply', agent: 'two', task: 'Say hello.', model: 'fake/reply', needs: [] },
      { id: 'two', agent: 'two', task: 'Use the tool.', model: 'fake/tool-two', needs: ['reply'] },
      { id: 'one', agent: 'one', task: 'Use the tool.', model: 'fake/tool-one', needs: ['two'] },
      { id: 'bad', agent: 'two', task: 'Try.', model: 'fake/bad', needs: ['reply'] },
    ]);
    expect((await run.ended()).outcome).toMatchObject({ state: 'failed', partial: true });
    const { steps, usage } = await run.result();
    const [reply, two, one, bad] = steps;
    expect(reply).toMatchObject({ state: 'completed', output: { text: 'Hello.' }, attempts: [{ proof: gone }] });
    for (const step of [two, one]) {
      expect(step).toMatchObject({ state: 'completed', attempts: [{ outcome: 'completed', proof: gone }] });
      expect(JSON.stringify(step?.output)).toContain('from-the-tool');
    }
    expect(bad).toMatchObject({ state: 'failed', error: { code: 'auth', detail: { status: 401 } } });
    expect(bad?.attempts).toMatchObject([{ class: 'auth', proof: gone }]);
    expect(usage).toMatchObject({ input: 300, output: 50, cacheRead: 200, tools: 2 });
    expect(usage).not.toHaveProperty('costUsd');
  });

  test('a stop while tools sleep: one by its protocol, one by SIGINT, and both with their tools are gone', async () => {
    const run = await startCodex([
      { id: 'two', agent: 'two', task: 'Sleep.', model: 'fake/long-two', needs: [] },
      { id: 'one', agent: 'one', task: 'Sleep.', model: 'fake/long-one', needs: [] },
    ]);
    for await (const { steps } of run.watch()) if (steps.every(({ tool }) => tool?.name === 'command_execution')) break;
    expect(await run.stop({ source: 'test' })).toMatchObject({ verdict: 'applied' });
    expect((await run.ended()).outcome).toMatchObject({ state: 'stopped' });
    for (const step of (await run.result()).steps) {
      expect(step).toMatchObject({ state: 'stopped', attempts: [{ proof: gone }] });
    }
  });

  test('an interrupt while a tool sleeps pauses it by its protocol, and it is gone with its tool', async () => {
    const run = await startCodex([{ id: 'two', agent: 'two', task: 'Sleep.', model: 'fake/paused' }]);
    for await (const { steps } of run.watch()) if (steps[0]?.tool?.name === 'command_execution') break;
    expect(await run.interrupt({ step: 'two' })).toMatchObject({ verdict: 'applied' });
    expect((await run.ended()).outcome).toMatchObject({ state: 'paused' });
    const [two] = (await run.result()).steps;
    expect(two).toMatchObject({ state: 'paused', attempts: [{ outcome: 'paused', proof: gone }] });
  });
});
