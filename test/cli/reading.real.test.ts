import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Status } from '../../src/client.ts';
import { openCli } from '../support/cli.ts';
import { deadOwner, makeRunDir, ownOwner, statusOf } from '../support/made-run.ts';

const ended = { state: 'completed', endedAt: '2026-12-01T10:00:05.000Z' } as const;

test.concurrent('list names the runs that cannot be read beside the good ones', async () => {
  await using cli = openCli();
  makeRunDir(cli.root, 'good', statusOf('good', ended));
  makeRunDir(cli.root, 'lost', statusOf('lost', { owner: deadOwner() }));
  const corrupt = makeRunDir(cli.root, 'torn', '{"v":1,');
  const newer = makeRunDir(cli.root, 'young', '{"v":2}');
  const [text, json, empty] = await Promise.all([
    cli.run(['list']),
    cli.run(['list', '--json']),
    cli.run(['list', '--root', join(cli.cwd, 'nowhere')]),
  ]);
  expect(text.code).toBe(6);
  expect(text.stdout).toMatch(/^good +completed/m);
  expect(text.stdout).toMatch(/^lost +running .*its runner is gone$/m);
  expect(text.stdout).toMatch(new RegExp(`^torn .*${corrupt.status}`, 'm'));
  expect(text.stdout).toMatch(new RegExp(`^young .*${newer.status}.*newer`, 'm'));
  expect(json.code).toBe(6);
  expect(JSON.parse(json.stdout)).toMatchObject({
    v: 1,
    runs: [{ id: 'good' }, { id: 'lost' }],
    corrupt: [{ id: 'torn', path: corrupt.status }],
    newer: [{ id: 'young', version: 2 }],
  });
  expect(readFileSync(corrupt.status, 'utf8')).toBe('{"v":1,');
  expect(empty).toMatchObject({ code: 0, stdout: 'no runs\n' });
  expect(existsSync(join(cli.cwd, 'nowhere'))).toBe(false);
});

const below = (run: string, depth: number) => ({ parent: { run, step: 'command', attempt: 1, depth } });
const at = (minute: number) => ({ ...ended, startedAt: `2026-12-01T10:0${minute}:00.000Z` });

test.concurrent('list shows a nested run under the run whose child started it', async () => {
  await using cli = openCli();
  makeRunDir(cli.root, 'top', statusOf('top', at(0)));
  makeRunDir(cli.root, 'other', statusOf('other', at(1)));
  makeRunDir(cli.root, 'one', statusOf('one', { ...at(2), ...below('top', 1) }));
  makeRunDir(cli.root, 'two', statusOf('two', { ...at(3), ...below('one', 2) }));
  makeRunDir(cli.root, 'alone', statusOf('alone', { ...at(4), ...below('pruned', 1) }));
  // Nobody writes this; it must not keep us all the same.
  makeRunDir(cli.root, 'a', statusOf('a', { ...at(5), ...below('b', 1) }));
  makeRunDir(cli.root, 'b', statusOf('b', { ...at(6), ...below('a', 1) }));
  const { code, stdout } = await cli.run(['list']);
  expect(code).toBe(0);
  const ids = stdout.split('\n').map((line) => /^ *\S+/.exec(line)?.[0]);
  expect(ids.slice(1, 8)).toEqual(['top', '  one', '    two', 'other', 'alone', 'a', '  b']);
});

describe('status', () => {
  test.concurrent('shows what a run has below it, and what it is below of', async () => {
    await using cli = openCli();
    const nested = {
      id: 'below',
      step: 'command',
      attempt: 2,
      depth: 2,
      state: 'completed',
      name: 'inner',
      counts: { completed: 2, skipped: 1 },
      updatedAt: '2026-12-01T10:00:05.000Z',
    } as const;
    const parent = { run: 'top', step: 'command', attempt: 1, depth: 1 };
    makeRunDir(cli.root, 'one', statusOf('one', { ...ended, parent, nested: { total: 17, runs: [nested] } }));
    const asking = { ...nested, id: 'asking', state: 'running', asks: 2 } as const;
    const waits = { total: 1, asks: 2, runs: [asking] };
    makeRunDir(cli.root, 'top', statusOf('top', { owner: ownOwner(), nested: waits }));
    const [{ stdout }, top] = await Promise.all([cli.run(['status', 'one']), cli.run(['status', 'top'])]);
    expect(top.stdout).toMatch(
      /asking +running .* 2 questions open\n2 questions wait for an answer in runs below: coxswain asks top\n/,
    );
    expect(stdout).toContain('started by run top, step command, attempt 1 (depth 1)');
    expect(stdout).toContain('its steps have started 17 runs:\n  below  completed  2/3 steps  command  inner\n');
    expect(stdout).toContain('and 16 more: see coxswain list');
  });

  test.concurrent('of a run whose runner is gone says so, and shows the last it wrote', async () => {
    await using cli = openCli();
    makeRunDir(cli.root, 'lost', statusOf('lost', { owner: deadOwner() }));
    const [text, json, stop, wait] = await Promise.all([
      cli.run(['status', 'lost']),
      cli.run(['status', 'lost', '--json']),
      cli.run(['stop', 'lost']),
      cli.run(['wait', 'lost']),
    ]);
    expect(text).toMatchObject({ code: 6, stdout: expect.stringContaining('command  running') });
    expect(text.stderr).toContain('the runner is gone');
    expect(text.stderr).toContain('the state below is the last it wrote');
    expect(JSON.parse(json.stdout) as Status).toMatchObject({ state: 'running', owner: { lost: true } });
    expect(stop).toMatchObject({ code: 6, stdout: '' });
    expect(wait).toMatchObject({ code: 6, stderr: expect.stringContaining('has not ended') });
  });

  test.concurrent('of a run of another machine names it', async () => {
    await using cli = openCli();
    makeRunDir(cli.root, 'far', statusOf('far', { owner: { ...ownOwner(), host: 'other.example' } }));
    const [text, json] = await Promise.all([cli.run(['status', 'far']), cli.run(['status', 'far', '--json'])]);
    expect(text).toMatchObject({ code: 0, stdout: expect.stringContaining('on other.example'), stderr: '' });
    expect(JSON.parse(json.stdout)).toMatchObject({ owner: { elsewhere: true } });
  });

  test.concurrent('takes the beginning of an id if it is the beginning of one only', async () => {
    await using cli = openCli();
    for (const id of ['run-1', 'run-12', 'run-2']) makeRunDir(cli.root, id, statusOf(id, ended));
    const [exact, only, two] = await Promise.all(
      ['run-1', 'run-2', 'run'].map((id) => cli.run(['status', id, '--json'])),
    );
    expect(JSON.parse(exact?.stdout ?? '')).toMatchObject({ id: 'run-1' });
    expect(JSON.parse(only?.stdout ?? '')).toMatchObject({ id: 'run-2' });
    expect(two).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('run-12') });
  });

  test.concurrent('loads nothing heavy', async () => {
    await using cli = openCli();
    makeRunDir(cli.root, 'r', statusOf('r'));
    const { stdout, stderr } = await cli.run(['status', 'r'], { env: cli.traced() });
    expect(stdout).toContain('r  made');
    const loaded = stderr.split('\n').filter((line) => line.startsWith('loaded '));
    expect(loaded.some((line) => line.includes('/commander/'))).toBe(true);
    expect(loaded.filter((line) => /node_modules\/(?!commander)|\/runtime\/(?!exit)/.test(line))).toEqual([]);
  });
});

test.concurrent('result and logs of a run that goes on; a step that is not there', async () => {
  await using cli = openCli();
  makeRunDir(cli.root, 'r', statusOf('r'));
  const [result, logs, step] = await Promise.all([
    cli.run(['result', 'r']),
    cli.run(['logs', 'r']),
    cli.run(['logs', 'r', '--step', 'x']),
  ]);
  expect(result).toMatchObject({ code: 5, stdout: '', stderr: expect.stringContaining('has not ended') });
  expect(logs).toMatchObject({ code: 0, stdout: '', stderr: '' });
  expect(step).toMatchObject({ code: 2, stderr: expect.stringContaining(`no step 'x'; it has: command`) });
});

test.concurrent('a state root that others may write to is refused', async () => {
  await using cli = openCli();
  const root = join(cli.cwd, 'open');
  await cli.shell(`mkdir -m 0777 ${root} && chmod 0777 ${root}`);
  const [list, run] = await Promise.all([
    cli.run(['list', '--root', root]),
    cli.run(['run', '--root', root, '--', 'true']),
  ]);
  for (const { code, stdout, stderr } of [list, run]) {
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    expect(stderr).toContain(root);
  }
  expect(readdirSync(root)).toEqual([]);
});

test.concurrent('the verbs that tell about this installation', async () => {
  await using cli = openCli();
  const out = join(cli.cwd, 'pictures');
  const [version, agents, doctor, listed, copied, help] = await Promise.all([
    cli.run(['--version']),
    cli.run(['agents', '--json']),
    cli.run(['doctor', '--json']),
    cli.run(['diagrams']),
    cli.run(['diagrams', '--out', out]),
    cli.run(['help', 'run']),
  ]);
  expect(version).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
  const builtIn = ['acp', 'claude', 'codex', 'command', 'gemini', 'opencode', 'pi'].map((name) => ({ name }));
  expect(JSON.parse(agents.stdout)).toMatchObject({ v: 1, agents: builtIn });
  expect(JSON.parse(doctor.stdout)).toMatchObject({ v: 1, ok: true });
  expect(JSON.parse(doctor.stdout)).toHaveProperty('checks.length');
  const paths = listed.stdout.trim().split('\n');
  expect(paths.map((path) => statSync(path).isFile())).not.toContain(false);
  expect(copied.code).toBe(0);
  expect(readdirSync(out)).toHaveLength(paths.length);
  expect(help).toMatchObject({ code: 0, stdout: expect.stringContaining('--detach') });
});

test.concurrent(
  'doctor and agents say which versions of agents are known; one that is not is a word of warning',
  async () => {
    await using cli = openCli();
    const says = (name: string, version: string): string =>
      cli.file(`${name}.mjs`, `console.log(${JSON.stringify(version)});`);
    const env = {
      PATH: cli.cwd,
      COXSWAIN_AGENT_PI: says('pi', '0.73.1'),
      COXSWAIN_AGENT_GEMINI: says('gemini', 'gemini 9.8.7'),
    };
    const [text, json, agents] = await Promise.all([
      cli.run(['doctor'], { env }),
      cli.run(['doctor', '--json'], { env }),
      cli.run(['agents', '--versions'], { env }),
    ]);
    for (const { code, stdout } of [text, agents]) {
      expect(code).toBe(0);
      expect(stdout).toMatch(/^pi +pi +.*\(0\.73\.1, known\)$/m);
      expect(stdout).toMatch(/^gemini +gemini +.*\(gemini 9\.8\.7\)$/m);
      expect(stdout).toContain('coxswain knows 0.61, and not 9.8');
      expect(stdout).toMatch(/^codex +codex +cannot be used/m);
    }
    expect(text.stdout).toMatch(/^note +agent gemini +coxswain knows/m);
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: true,
      agents: expect.arrayContaining([
        expect.objectContaining({ name: 'pi', version: '0.73.1', versionKnown: true, warning: null }),
        expect.objectContaining({ name: 'gemini', version: 'gemini 9.8.7', versionKnown: false }),
      ]),
    });
  },
);
