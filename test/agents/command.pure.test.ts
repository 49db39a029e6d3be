import { describe, expect, test } from 'vitest';
import { type LaunchRequest, createRegistry } from '../../src/agents/index.ts';
import { OK, TASK, endOf, open, play } from './drive.ts';

const LIMIT = 200 * 1024;

describe('output', () => {
  test.each([
    ['done\n', 'done'],
    ['done\r\n', 'done'],
    ['a\n\n', 'a\n'],
    ['', ''],
    ['no newline', 'no newline'],
    ['\uFEFFwith a BOM', '\uFEFFwith a BOM'],
  ])('%j is %j', (stdout, text) => {
    expect(endOf(play(open('command'), stdout))).toEqual({ t: 'final', text, stop: 'stop', truncated: false });
  });

  test('is decoded across chunks', () => {
    const text = 'Grüße 世界 👩‍💻';
    for (const size of [1, 2, 3, 7]) expect(endOf(play(open('command'), text, OK, size))).toMatchObject({ text });
  });

  test('is kept to 200 KiB, whole characters only', () => {
    const stdout = Buffer.from(`a${'é'.repeat(LIMIT)}`);
    for (const size of [4096, Infinity]) {
      const end = endOf(play(open('command'), stdout, OK, size));
      expect(end).toMatchObject({ truncated: true, text: `a${'é'.repeat(LIMIT / 2 - 1)}` });
    }
    const exact = endOf(play(open('command'), Buffer.alloc(LIMIT, 'x')));
    expect(exact).toMatchObject({ truncated: false, text: 'x'.repeat(LIMIT) });
  });
});

describe('end', () => {
  test('exit code and signal are failures with the last words of stderr', () => {
    const stderrTail = 'first\n\u001B[31mlast words\u001B[0m\n\n';
    expect(endOf(play(open('command'), 'x', { code: 7, signal: null, stderrTail }))).toEqual({
      t: 'error',
      failure: { code: 'exit-code', message: 'ended with exit code 7: last words', detail: { exitCode: 7 } },
    });
    expect(endOf(play(open('command'), 'x', { code: null, signal: 'SIGTERM' }))).toEqual({
      t: 'error',
      failure: { code: 'signal', message: 'ended by signal SIGTERM', detail: { signal: 'SIGTERM' } },
    });
  });

  test('comes once', () => {
    const session = open('command');
    play(session, 'x');
    expect(session.exited({ code: 1, signal: null, stderrTail: '' }).events).toEqual([]);
    expect(session.push(Buffer.from('x')).events).toEqual([]);
  });

  test('cannot be asked for', () => {
    expect(open('command').abort().supported).toBe(false);
    expect(open('command').wrapUp(1000)).toMatchObject({ supported: false, send: [] });
    expect(open('command').finish().closeStdin).toBe(false);
  });
});

describe('launch', () => {
  const definition = { name: 'tool', adapter: 'command', command: ['cat', '-u'], args: ['-n'] };
  const registry = createRegistry(
    {
      tool: definition,
      bare: { name: 'bare', adapter: 'command' },
      argv: { ...definition, name: 'argv', task: 'argv' },
      file: { ...definition, name: 'file', task: 'file' },
      placed: { ...definition, name: 'placed', task: 'file', args: ['--in={file}', '-n'] },
      wordy: { ...definition, name: 'wordy', adapter: 'pi', task: 'argv' },
    },
    { env: {} },
  );
  const launch = (name: string, request: Partial<LaunchRequest>) => {
    const lookup = registry.get(name, request.run === undefined ? 'task' : 'run');
    if (lookup.type !== 'agent') throw new Error(lookup.message);
    const { adapter, settings } = lookup.agent;
    const base = {
      settings,
      task: null,
      run: null,
      model: null,
      cwd: '/w',
      env: { A: '1' },
      privateDir: '/',
      sessionDir: '/',
      resume: null,
      mailbox: null,
    };
    return adapter.launch({ ...base, ...request });
  };

  test('an argv and a shell line get no stdin', () => {
    expect(launch('command', { run: ['ls', '-l'] })).toEqual({
      argv: ['ls', '-l'],
      shell: false,
      env: { A: '1' },
      cwd: '/w',
      stdin: { type: 'none' },
      exit: 'own',
    });
    expect(launch('command', { run: 'ls | wc' })).toMatchObject({
      argv: ['ls | wc'],
      shell: true,
      stdin: { type: 'none' },
    });
  });

  test.each(['auto', 'file'] as const)('an agent gets its task on stdin unless it says otherwise (%s)', (delivery) => {
    expect(launch('tool', { task: TASK, delivery })).toEqual({
      argv: ['cat', '-u', '-n'],
      shell: false,
      env: { A: '1' },
      cwd: '/w',
      stdin: { type: 'text', text: TASK },
      exit: 'own',
    });
  });

  test('as an argument the task is the last one, and stays out of the record', () => {
    const made = launch('argv', { task: TASK });
    expect(made).toMatchObject({ argv: ['cat', '-u', '-n', TASK], stdin: { type: 'none' } });
    expect(made.redactedArgv).toEqual(['cat', '-u', '-n', '{task}']);
    expect(made.files).toBeUndefined();
    expect(launch('argv', { run: ['ls'] }).redactedArgv).toBeUndefined();
  });

  test('as a file it is named by a path in the private folder', () => {
    const files = [{ path: '/private/task.md', text: TASK }];
    const request = { task: TASK, privateDir: '/private' };
    const last = { argv: ['cat', '-u', '-n', '/private/task.md'], stdin: { type: 'none' }, files };
    expect(launch('file', request)).toMatchObject(last);
    expect(launch('placed', { ...request, privateDir: '/$&' }).argv).toEqual(['cat', '-u', '--in=/$&/task.md', '-n']);
    // After a kill with the task among the arguments.
    const instead = launch('argv', { ...request, delivery: 'file' });
    expect(instead).toMatchObject(last);
    expect(instead.redactedArgv).toBeUndefined();
    expect(JSON.stringify(instead.argv)).not.toContain(TASK);
  });

  test('pi has its own way to be told its task', () => {
    expect(registry.get('wordy', 'task')).toMatchObject({
      type: 'refused',
      message: expect.stringContaining('"task: argv"'),
    });
  });

  test('without a command there is nobody to give a task to', () => {
    for (const name of ['bare', 'command']) {
      const lookup = registry.get(name, 'task');
      expect(lookup).toMatchObject({ type: 'refused' });
      expect(lookup.type === 'refused' && lookup.message).toContain('"command"');
    }
  });
});

test('pi: the task is in stdin, never in argv', () => {
  const lookup = createRegistry(
    { one: { name: 'one', adapter: 'pi', mode: 'json', command: ['node', 'cli.js'], args: ['--no-extensions'] } },
    { env: {} },
  ).get('one', 'task');
  if (lookup.type !== 'agent') throw new Error(lookup.message);
  const { adapter, settings } = lookup.agent;
  const request = {
    task: TASK,
    run: null,
    model: 'fake/m:high',
    cwd: '/w',
    env: { A: '1' },
    privateDir: '/r/attempts/fix/2',
    sessionDir: '/r/sessions',
    resume: null,
    mailbox: null,
  };
  expect(adapter.launch({ settings, ...request })).toEqual({
    argv: [
      'node',
      'cli.js',
      '--mode',
      'json',
      '-p',
      '--session',
      '/r/sessions/fix.2.jsonl',
      '--model',
      'fake/m:high',
      '--no-extensions',
    ],
    shell: false,
    env: { A: '1', PI_OFFLINE: '1', PI_TELEMETRY: '0' },
    cwd: '/w',
    folders: ['/r/sessions'],
    stdin: { type: 'text', text: TASK },
    exit: 'own',
  });
  const { mode: _, ...twoWay } = settings;
  expect(adapter.launch({ settings: twoWay, ...request })).toMatchObject({
    argv: [
      'node',
      'cli.js',
      '--mode',
      'rpc',
      '--session',
      '/r/sessions/fix.2.jsonl',
      '--model',
      'fake/m:high',
      '--no-extensions',
    ],
    stdin: { type: 'protocol' },
    exit: 'asked',
  });
});

test('pi: a mailbox brings the extension, and what it is for by the mode; a session is gone on with', () => {
  const lookup = createRegistry({}, { env: {} }).get('pi', 'task');
  if (lookup.type !== 'agent') throw new Error(lookup.message);
  const { adapter, settings } = lookup.agent;
  const request: LaunchRequest = {
    settings,
    task: TASK,
    run: null,
    model: null,
    cwd: '/w',
    env: { COXSWAIN_STEER_DIR: '/outer', COXSWAIN_ASK_DIR: '/outer' },
    privateDir: '/r/attempts/fix/2',
    sessionDir: '/r/sessions',
    // Whatever a record says, it is a file of the folder.
    resume: { session: '../../fix.1.jsonl' },
    mailbox: { steer: '/r/attempts/fix/2/steer', ask: '/r/attempts/fix/2/ask' },
  };
  const rpc = adapter.launch(request);
  expect(rpc.argv.slice(3)).toEqual([
    '--session',
    '/r/sessions/fix.1.jsonl',
    '-e',
    expect.stringMatching(/extension\.ts$/),
  ]);
  expect(rpc.env).toEqual({ COXSWAIN_ASK_DIR: '/r/attempts/fix/2/ask', PI_OFFLINE: '1', PI_TELEMETRY: '0' });
  const json = adapter.launch({ ...request, settings: { ...settings, mode: 'json' } });
  expect(json.env).toMatchObject({
    COXSWAIN_STEER_DIR: '/r/attempts/fix/2/steer',
    COXSWAIN_ASK_DIR: '/r/attempts/fix/2/ask',
  });
  expect(json.stdin).toEqual({ type: 'text', text: expect.stringMatching(/go on where you left off.*Do the task/s) });
  expect(adapter.launch({ ...request, mailbox: null }).env).toEqual({ PI_OFFLINE: '1', PI_TELEMETRY: '0' });
});
