import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Answer as Verdict, Command, StepPlan } from '../../machines/protocol.ts';
import { answer, append, asks, extend, interrupt, resume, steer, stop } from '../../src/client.ts';
import { type Inbox, type Origin, openInbox } from '../../src/inbox/index.ts';
import { type RunDir, writeDurable } from '../../src/record/index.ts';
import { type Cli, openCli } from '../support/cli.ts';
import { deadOwner, makeRunDir, statusOf } from '../support/made-run.ts';
import { until } from '../record/support.ts';

const at = '2026-12-01T10:00:00.000Z';

interface Live {
  cli: Cli;
  dir: RunDir;
  inbox: Inbox;
  delivered: (Command & Partial<Origin>)[];
}

/** A run that goes on, whose runner answers as the test says. */
function liveRun(respond: (command: Command, inbox: Inbox) => void = applied): Live {
  const cli = openCli();
  onTestFinished(() => cli[Symbol.asyncDispose]());
  const dir = controlOf(makeRunDir(cli.root, 'r', statusOf('r')));
  const delivered: Live['delivered'] = [];
  const inbox = openInbox({
    dir,
    deliver: (command, { text }) => {
      delivered.push({ ...command, text } as never);
      respond(command, inbox);
    },
    resolve: () => ({ type: 'ok', steps: [{ id: 'z' } as StepPlan] }),
  });
  onTestFinished(() => inbox.abandon());
  return { cli, dir, inbox, delivered };
}

function controlOf(dir: RunDir): RunDir {
  for (const path of [dir.control, dir.controlTemp, dir.claimed, dir.receipts, dir.rejected])
    mkdirSync(path, { recursive: true });
  return dir;
}

function verdict({ id, type: command }: Command, rest: Partial<Verdict> = {}): Verdict {
  return { id, command, verdict: 'applied', at, ...rest };
}

function applied(command: Command, inbox: Inbox): void {
  inbox.answer(verdict(command));
}

describe('from a program', () => {
  test('every command goes out as it was meant, and its receipt comes back', async () => {
    const { cli, delivered } = liveRun();
    const place = { root: cli.root, source: 'test' };
    const answers = [
      await stop('r', { ...place, step: 'a', reason: 'enough', id: 'my-own' }),
      await interrupt('r', { ...place, step: 'a' }),
      await resume('r', place),
      await steer('r', 'hello', { ...place, mode: 'next', expires: '10m' }),
      await append('r', [{ id: 'z' }], place),
      await extend('r', '1h', { ...place, step: 'a' }),
      await answer('r', 'q1', 'yes', place),
    ];
    for (const one of answers)
      expect(one).toMatchObject({ type: 'receipt', receipt: { verdict: 'applied', final: true } });
    expect(delivered).toMatchObject([
      { type: 'stop', id: 'my-own', source: 'test', step: 'a', reason: 'enough' },
      { type: 'interrupt', step: 'a' },
      { type: 'resume' },
      { type: 'steer', mode: 'next', expiresMs: 600_000, text: 'hello' },
      { type: 'append', steps: [{ id: 'z' }] },
      { type: 'extend', step: 'a', limitMs: 3_600_000 },
      { type: 'answer', ask: 'q1', text: 'yes' },
    ]);
  });

  test('the first word can be waited for, or the last, or as long as one likes', async () => {
    const { cli, delivered, inbox } = liveRun(() => {});
    const place = { root: cli.root };
    expect(await steer('r', 'one', { ...place, id: 's1', until: 'first' })).toMatchObject({
      receipt: { verdict: 'accepted', final: false },
    });
    expect(await steer('r', 'two', { ...place, waitMs: 100 })).toMatchObject({ type: 'no-verdict', why: 'time' });
    const last = steer('r', 'three', { ...place, id: 's3', waitMs: Number.POSITIVE_INFINITY });
    await until(() => delivered.length === 3, 'it is there');
    inbox.progress({ id: 's3', command: 'steer', verdict: 'queued', at });
    inbox.answer({ id: 's3', command: 'steer', verdict: 'delivered', at });
    expect(await last).toMatchObject({ receipt: { verdict: 'delivered', final: true } });
    const abort = new AbortController();
    const aborted = steer('r', 'four', { ...place, signal: abort.signal });
    await until(() => delivered.length === 4, 'it is there too');
    abort.abort();
    expect(await aborted).toMatchObject({ type: 'no-verdict', why: 'aborted' });
  });

  test('a runner that goes away is not waited for', async () => {
    const { cli, dir } = liveRun(() => {});
    const waiting = steer('r', 'one', { root: cli.root, waitMs: Number.POSITIVE_INFINITY });
    await new Promise((resolve) => void setTimeout(resolve, 50));
    writeFileSync(dir.status, JSON.stringify(statusOf('r', { owner: deadOwner() })));
    expect(await waiting).toMatchObject({ type: 'no-verdict', why: 'owner-lost' });
  });

  test('what is asked is shown with its question, as long as that is there', () => {
    const cli = openCli();
    onTestFinished(() => cli[Symbol.asyncDispose]());
    const ask = { step: 'command', attempt: 1, at, text: { chars: 5, sha256: 'abc' } };
    const all = [
      { ...ask, id: 'q1', state: 'answered' },
      { ...ask, id: 'q2', state: 'asked' },
    ];
    const dir = makeRunDir(cli.root, 'r', JSON.stringify({ ...statusOf('r'), asks: all }));
    const requests = join(dir.attempt('command', 1).path, 'ask', 'requests');
    mkdirSync(requests, { recursive: true });
    writeFileSync(join(requests, 'q2.json'), JSON.stringify({ v: 1, id: 'q2', text: 'Why?' }));
    expect(asks('r', { root: cli.root })).toMatchObject({
      type: 'ok',
      asks: [
        { id: 'q1', question: null },
        { id: 'q2', question: 'Why?' },
      ],
    });
  });
});

describe('from the command line', () => {
  test('verbs send, say what came of it, and end with its code', async () => {
    const { cli, delivered } = liveRun(({ id, type, ...command }, inbox) => {
      const refused = 'step' in command && command.step === 'nobody';
      inbox.answer(verdict({ id, type } as Command, refused ? { verdict: 'rejected', reason: 'unknown-step' } : {}));
    });
    const plan = cli.file('more.yaml', 'steps:\n  - id: z\n    run: "true"\n');
    const [interrupted, resumed, appended, extended, answered, stopped, refused] = await Promise.all([
      cli.run(['interrupt', 'r', '--step', 'a']),
      cli.run(['resume', 'r', '--json']),
      cli.run(['append', 'r', plan]),
      cli.run(['extend', 'r', '30m']),
      cli.run(['answer', 'r', 'q1', '-'], { input: 'yes, do\n' }),
      cli.run(['stop', 'r', '--step', 'a']),
      cli.run(['interrupt', 'r', '--step', 'nobody']),
    ]);
    expect(interrupted).toMatchObject({ code: 0, stdout: 'interrupt applied to step a of r\n', stderr: '' });
    expect(JSON.parse(resumed.stdout)).toMatchObject({ type: 'resume', verdict: 'applied', final: true });
    expect(appended).toMatchObject({ code: 0, stdout: '1 step appended to r\n' });
    expect(extended).toMatchObject({ code: 0, stdout: 'new deadline for r: 30m\n' });
    expect(answered).toMatchObject({ code: 0, stdout: 'answered q1\n' });
    expect(stopped).toMatchObject({ code: 0, stdout: 'stop applied to step a of r\n' });
    expect(refused).toMatchObject({ code: 8, stderr: 'coxswain: the interrupt was rejected (unknown-step)\n' });
    expect(delivered.every(({ source }) => source === 'command-line')).toBe(true);
    expect(delivered).toContainEqual(expect.objectContaining({ type: 'answer', ask: 'q1', text: 'yes, do\n' }));
  });

  test('steer says whether the message was accepted, and with --wait whether it was delivered', async () => {
    const { cli, inbox, delivered } = liveRun(() => {});
    const accepted = await cli.run(['steer', 'r', 'hello', '--step', 'a', '--mode', 'now']);
    expect(accepted).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^message accepted \(\w+\); not delivered yet\n$/) as unknown,
    });
    expect(delivered).toMatchObject([{ type: 'steer', step: 'a', mode: 'now', text: 'hello' }]);
    const calls = [
      cli.run(['steer', 'r', '--wait', 'delivered', '-'], { input: 'take this' }),
      cli.run(['steer', 'r', '--wait', 'delivered', 'and not this']),
      cli.run(['steer', 'r', '--wait', 'delivered', '--timeout', '300ms', 'or that']),
    ];
    await until(() => delivered.length === 4, 'all are there', 20_000);
    for (const command of delivered.slice(1)) {
      if (command.text === 'or that') continue;
      const taken = (command.text as unknown) === 'take this';
      inbox.answer(verdict(command, taken ? { verdict: 'delivered' } : { verdict: 'undelivered', reason: 'aborted' }));
    }
    const [taken, dropped, silent] = await Promise.all(calls);
    expect(taken).toMatchObject({ code: 0, stdout: expect.stringMatching(/^message delivered/) as unknown });
    expect(dropped).toMatchObject({ code: 8, stderr: 'coxswain: the message was undelivered (aborted)\n' });
    expect(silent).toMatchObject({ code: 8, stderr: expect.stringContaining('so far it is accepted') as unknown });
  });

  test('mistakes and runs that cannot be told anything have their codes', async () => {
    const cli = openCli();
    onTestFinished(() => cli[Symbol.asyncDispose]());
    makeRunDir(cli.root, 'ended', statusOf('ended', { state: 'completed' }));
    makeRunDir(cli.root, 'lost', statusOf('lost', { owner: deadOwner() }));
    makeRunDir(cli.root, 'bare', statusOf('bare'));
    const closed = controlOf(makeRunDir(cli.root, 'closed', statusOf('closed')));
    await writeDurable(closed.closed, { v: 1, state: 'completed', at });
    const bad = cli.file('bad.yaml', 'steps:\n  - id: [\n');
    const calls: [string[], number, string][] = [
      [['steer', 'nobody', 'x'], 7, "there is no run 'nobody'"],
      [['steer', 'ended', 'x'], 8, 'the run has ended already: completed'],
      [['interrupt', 'closed'], 8, 'the run has ended: it takes no more commands'],
      [['resume', 'lost'], 6, 'the process that ran it is gone'],
      [['extend', 'bare', '1h'], 8, 'control folder'],
      [['steer', 'bare', 'x', '--mode', 'soon'], 2, '--mode is one of now, next, auto'],
      [['steer', 'bare', ' '], 2, 'there is no message'],
      [['append', 'bare', bad], 2, 'bad.yaml:'],
      [['append', 'bare', 'nowhere.yaml'], 2, 'there is no such file'],
      [['answer', 'bare', 'q1'], 2, "missing required argument 'text'"],
    ];
    const ended = await Promise.all(calls.map(async ([args]) => cli.run(args)));
    for (const [index, [args, code, words]] of calls.entries()) {
      expect(ended[index], args.join(' ')).toMatchObject({ code, stdout: '' });
      expect(ended[index]?.stderr, args.join(' ')).toContain(words);
    }
  });
});
