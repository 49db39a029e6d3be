import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type AgentEvent, type AgentSettings, type LaunchRequest, createRegistry } from '../../src/agents/index.ts';
import { until } from '../support/cli.ts';
import { CODEX_CLI, type CodexHome, codexMissing, makeCodexHome } from '../support/codex-home.ts';
import { type Gate, type PiChild, drive, makeGate } from '../support/pi-child.ts';
import { type ResponsesServer, startResponsesServer } from '../support/responses-server.ts';
import { runs } from '../support/truth.ts';
import { endOf } from './drive.ts';

/** A tool at work: it ends when the test lets it. */
const waiting = { text: 'Working.', shell: 'cat tool-gate; echo from-the-tool' };
const sleeping = (file: string): { text: string; shell: string } => ({
  text: 'Waiting.',
  shell: `echo $$ > ${file}.tmp; mv ${file}.tmp ${file}; exec sleep 600`,
});
const calling = [{ text: 'Running.', shell: 'echo from-the-tool' }, { text: 'The tool said {{lastTool}}' }];
const fenced = (mode: string): { text: string; shell?: string }[] => [
  { text: 'Writing.', shell: `echo in > in-${mode}; echo out > ../out-${mode}` },
  { text: 'Written. {{lastTool}}' },
];
const SCRIPTS = {
  'tool-app-server': calling,
  'tool-exec': calling,
  'fenced-app-server': fenced('app-server'),
  'fenced-exec': fenced('exec'),
  down: [{ error: { status: 500, message: 'Down (scripted)', type: 'server_error' } }],
  bad: [{ error: { status: 400, message: 'Bad request (scripted)', type: 'invalid_request_error' } }],
  steered: [waiting, { text: 'Saw {{lastUser}}' }, { text: 'Then {{lastUser}}' }],
  long: [sleeping('long'), { text: 'I go on: {{lastUser}}' }],
  once: [sleeping('once'), { text: 'I go on: {{lastUser}}' }],
};

/** Its sandbox needs namespaces that a user may make. */
function canFence(): boolean {
  if (process.platform !== 'linux' || spawnSync('unshare', ['-Urm', 'true']).status === 0) return true;
  console.warn('the sandbox of the real codex is not tried: no user namespace can be made here');
  return false;
}

const isTool = (event: AgentEvent): boolean => event.t === 'toolStart';
const fateOf = (events: readonly AgentEvent[], id: string): string[] =>
  events.flatMap((event) =>
    event.t === 'steer' && event.id === id ? [event.state === 'undelivered' ? event.reason : event.state] : [],
  );
const sessionOf = (events: readonly AgentEvent[]): string =>
  events.flatMap((event) => (event.t === 'session' ? [event.session] : [])).at(-1) ?? '';
const usageOf = (events: readonly AgentEvent[]): unknown => events.findLast(({ t }) => t === 'usage');

describe.skipIf(codexMissing() !== null)('the real codex', () => {
  let server: ResponsesServer;
  let home: CodexHome;
  let gate: Gate;
  let count = 0;
  const started: PiChild[] = [];

  beforeAll(async () => {
    server = await startResponsesServer(SCRIPTS);
    home = await makeCodexHome(server.url);
    gate = makeGate(join(home.work, 'tool-gate'));
  });
  afterAll(async () => {
    for (const child of started) child.kill();
    await server.close();
    await home.remove();
  });

  async function codex(
    mode: string,
    model: keyof typeof SCRIPTS,
    task: string,
    resume: LaunchRequest['resume'] = null,
    given: Partial<AgentSettings> = { permissions: { '*': 'allow' } },
  ): Promise<PiChild & { pid: number }> {
    const definition = { name: 'codex', adapter: 'codex', mode, ...given };
    const registry = createRegistry({ codex: definition }, { env: { COXSWAIN_AGENT_CODEX: CODEX_CLI } });
    const found = await registry.resolve('codex', 'task');
    if (found.type !== 'agent') throw new Error(found.message);
    const { adapter, settings } = found.agent;
    count += 1;
    const request: LaunchRequest = {
      settings,
      task,
      run: null,
      model: `fake/${model}`,
      cwd: home.work,
      env: home.env,
      privateDir: join(home.dir, 'attempts', `codex${count}`, '1'),
      sessionDir: join(home.dir, 'sessions'),
      resume,
      mailbox: null,
    };
    const launch = adapter.launch(request);
    for (const folder of launch.folders ?? []) mkdirSync(folder, { recursive: true });
    const [program = '', ...rest] = launch.argv;
    // In a group of its own, as the runtime starts it.
    const child = spawn(program, rest, { cwd: launch.cwd, env: launch.env, stdio: 'pipe', detached: true });
    const driven = drive(child, adapter.open(request), launch.stdin);
    started.push(driven);
    return { ...driven, pid: child.pid ?? 0 };
  }

  async function toolPid(file: string): Promise<number> {
    const path = join(home.work, file);
    const read = (): number => {
      try {
        return Number(readFileSync(path, 'utf8'));
      } catch {
        return 0;
      }
    };
    await until(() => read() > 0, 'the tool has begun');
    return read();
  }

  test.each(['app-server', 'exec'] as const)('%s: a tool is called, and what was used is counted', async (mode) => {
    const child = await codex(mode, `tool-${mode}`, '-starts like an option\n"and" has two lines');
    expect(await child.ended).toEqual({ code: 0, signal: null });
    const end = endOf(child.events);
    expect(end).toMatchObject({ t: 'final', stop: 'stop' });
    expect(end.t === 'final' ? end.text : '').toContain('from-the-tool');
    expect(server.asked(`tool-${mode}`)).toContain('-starts like an option\n"and" has two lines');
    expect(usageOf(child.events)).toMatchObject({
      usage: { input: 120, output: 20, cacheRead: 80, turns: 2, tools: 1 },
    });
    expect(child.events.find(({ t }) => t === 'toolEnd')).toMatchObject({ ok: true, output: 'from-the-tool\n' });
  });

  test.skipIf(!canFence()).each(['app-server', 'exec'] as const)(
    '%s: without permissions it writes in its workspace alone',
    async (mode) => {
      // The folders of the test are temporary ones, in which it might write as well.
      const closed = ['exclude_slash_tmp', 'exclude_tmpdir_env_var'].flatMap((name) => [
        '-c',
        `sandbox_workspace_write.${name}=true`,
      ]);
      const child = await codex(mode, `fenced-${mode}`, 'Write.', null, { args: closed });
      expect(await child.ended).toEqual({ code: 0, signal: null });
      // The model was told; whether we are told of a tool that is over at once is a matter of luck.
      expect(JSON.stringify(endOf(child.events))).toContain('Read-only file system');
      expect(readFileSync(join(home.work, `in-${mode}`), 'utf8')).toBe('in\n');
      expect(existsSync(join(home.dir, `out-${mode}`))).toBe(false);
    },
  );

  test('a provider that is down is tried again twice, whatever its configuration says', async () => {
    const child = await codex('exec', 'down', 'Try this.');
    expect(await child.ended).toEqual({ code: 1, signal: null });
    const retries = child.events.filter(({ t }) => t === 'retry');
    expect(retries).toMatchObject([
      { attempt: 1, max: 2 },
      { attempt: 2, max: 2 },
    ]);
    expect(endOf(child.events)).toMatchObject({ t: 'error' });
    // Each of the three streams is asked for three times.
    expect(server.asked('down')).toHaveLength(9);
  });

  test.each(['app-server', 'exec'])('%s: a model error is a failure', async (mode) => {
    const child = await codex(mode, 'bad', 'Try this.');
    expect(await child.ended).toEqual({ code: mode === 'exec' ? 1 : 0, signal: null });
    expect(endOf(child.events)).toMatchObject({ t: 'error', failure: { code: 'model-error' } });
    expect(JSON.stringify(endOf(child.events))).toContain('Bad request (scripted)');
  });

  test('app-server: a message reaches the running turn, another has a turn of its own', async () => {
    const child = await codex('app-server', 'steered', 'Work.');
    await child.seen(isTool);
    const tool = await gate.reached();
    expect(child.steer({ id: 'm', text: 'Look here.', mode: 'now' })).toBe('sent');
    expect(child.steer({ id: 'n', text: 'And there.', mode: 'next' })).toBe('sent');
    await child.seen((event) => event.t === 'steer' && event.id === 'm' && event.state === 'queued');
    await tool.release();
    expect(await child.ended).toEqual({ code: 0, signal: null });
    expect(fateOf(child.events, 'm')).toEqual(['queued', 'taken', 'delivered']);
    expect(fateOf(child.events, 'n')).toEqual(['taken', 'delivered']);
    expect(endOf(child.events)).toMatchObject({ t: 'final', text: 'Then And there.' });
    expect(server.asked('steered')).toEqual(['Work.', 'Look here.', 'And there.']);
  });

  test('app-server: an interrupt ends the turn and the tool; the thread is gone on with, and counted from there', async () => {
    const child = await codex('app-server', 'long', 'Sleep.');
    await child.seen(isTool);
    const pid = await toolPid('long');
    child.abort();
    expect(await child.ended).toEqual({ code: 0, signal: null });
    expect(endOf(child.events)).toMatchObject({ t: 'error', failure: { code: 'aborted' } });
    await until(() => !runs(pid), 'the tool is gone');
    const again = await codex('app-server', 'long', 'Sleep.', { session: sessionOf(child.events) });
    expect(await again.ended).toEqual({ code: 0, signal: null });
    expect(endOf(again.events)).toMatchObject({
      t: 'final',
      text: 'I go on: You were interrupted. Go on where you left off.',
    });
    expect(sessionOf(again.events)).toBe(sessionOf(child.events));
    expect(usageOf(again.events)).toMatchObject({ usage: { input: 60, output: 10, cacheRead: 40, turns: 1 } });
  });

  test('exec: SIGINT ends it and its tool; the next one counts what it had used', async () => {
    const child = await codex('exec', 'once', 'Sleep.');
    await child.seen(isTool);
    const pid = await toolPid('once');
    process.kill(-child.pid, 'SIGINT');
    await child.ended;
    expect(endOf(child.events)).toMatchObject({ failure: { code: 'exited-mid-tool' } });
    await until(() => !runs(pid), 'the tool is gone');
    const again = await codex('exec', 'once', 'Sleep.', { session: sessionOf(child.events) });
    expect(await again.ended).toEqual({ code: 0, signal: null });
    expect(endOf(again.events)).toMatchObject({ t: 'final' });
    const third = await codex('exec', 'once', 'Sleep.', { session: sessionOf(again.events) });
    await third.ended;
    expect(usageOf(third.events)).toMatchObject({ usage: { input: 60, output: 10, cacheRead: 40 } });
  });
});
