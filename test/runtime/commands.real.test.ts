import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, onTestFinished, test } from 'vitest';
import { can } from '../../machines/index.ts';
import type { JournalRecord, JournalType } from '../../machines/protocol.ts';
import { type Answered, type PlanInput, type Run, start } from '../../src/index.ts';
import { runDir } from '../../src/record/index.ts';
import { testEnv } from '../support/kit.ts';
import { expectTruth } from '../support/truth.ts';
import { describeCause } from '../../src/client.ts';
import { definition, fakeAgents, sleeper } from './rig.ts';

/** Commands through the library, on real processes: each is answered once, and the answer is true. */

async function begin(plan: PlanInput): Promise<Run> {
  const root = mkdtempSync(join(tmpdir(), 'coxswain-commands-'));
  const run = await start({ plan }, { root, env: testEnv, cwd: root, id: 'r1' });
  onTestFinished(async () => {
    run.kill();
    await run.ended();
    rmSync(root, { recursive: true, force: true });
  });
  return run;
}

/** The first record, now or to come, that matches. */
async function recorded<T extends JournalType>(
  run: Run,
  type: T,
  matches: (record: JournalRecord & { type: T }) => boolean = () => true,
): Promise<JournalRecord & { type: T }> {
  for await (const record of run.events()) {
    if (record.type === type && matches(record as JournalRecord & { type: T })) return record as never;
  }
  throw new Error(`the run ended without ${type}`);
}

/** The record of its end; every command in it has one verdict. */
async function conclude(run: Run) {
  await run.ended();
  const truth = expectTruth({ dir: runDir(join(run.directory, '..', '..'), run.id) });
  const ids = (type: 'command.accepted' | 'command.answered'): string[] =>
    truth.records.flatMap((one) => (one.type === type ? [one.id] : []));
  expect(new Set(ids('command.answered')).size).toBe(ids('command.answered').length);
  expect(ids('command.accepted').filter((id) => !ids('command.answered').includes(id))).toEqual([]);
  const { counts, recent } = truth.status.steering;
  expect(counts.delivered + counts.undelivered).toBe(counts.requested);
  expect(recent.every(({ endedAt }) => endedAt !== undefined)).toBe(true);
  expect(truth.status.asks.every(({ state }) => state !== 'asked')).toBe(true);
  return truth;
}

const agent = (id: string, more: object = {}) => ({ id, needs: [], agent: 'fake', task: `do ${id}`, ...more });

async function withAgents(
  steps: object[],
  more: object = {},
): Promise<{ run: Run; agents: Awaited<ReturnType<typeof fakeAgents>> }> {
  const agents = await fakeAgents();
  const run = await begin({
    version: 1,
    agents: { fake: definition(agents.settings()) },
    steps,
    ...more,
  } as PlanInput);
  return { run, agents };
}

const steerable = (run: Run): string[] =>
  can(run.status()).flatMap(({ command, step }) => (command === 'steer' ? [step ?? 'run'] : []));
const verdictOf = ({ verdict, reason }: Answered): string => (reason === undefined ? verdict : `${verdict} ${reason}`);

describe('stop, interrupt, resume', () => {
  test('S023: a queued step is stopped before it begins, and never does', async () => {
    const { run, agents } = await withAgents([agent('a'), agent('b')], { limits: { concurrency: 1 } });
    const a = await agents.next();
    expect(verdictOf(await run.stop({ step: 'b', reason: 'not needed' }))).toBe('applied');
    expect(verdictOf(await run.stop({ step: 'b' }))).toBe('rejected already-ended');
    expect(verdictOf(await run.stop({ step: 'nobody' }))).toBe('rejected unknown-step');
    await a.finish();
    const { status, records } = await conclude(run);
    expect(status.steps.map(({ id, state, attempt }) => [id, state, attempt])).toEqual([
      ['a', 'completed', 1],
      ['b', 'stopped', 0],
    ]);
    expect(records.filter((one) => one.type === 'step.settled' && one.step === 'b')).toHaveLength(1);
    expect(agents.started).toBe(1);
  });

  test('a running step is stopped, and the others go on', async () => {
    const { run, agents } = await withAgents([agent('a'), agent('b')]);
    const [first, second] = [await agents.next(), await agents.next()];
    const [a, b] = first.task === 'do a' ? [first, second] : [second, first];
    expect(verdictOf(await run.stop({ step: 'a' }))).toBe('applied');
    await a.gone();
    await b.finish();
    const { status } = await conclude(run);
    expect(status.steps.map(({ state, cause }) => [state, cause?.type])).toEqual([
      ['stopped', 'stop'],
      ['completed', 'completed'],
    ]);
    expect(status.state).toBe('stopped');
  });

  test('a paused step goes on in the same session while the run goes on, with what is left of its limit', async () => {
    const { run, agents } = await withAgents([agent('a', { timeout: '1h' }), agent('keeper')]);
    const [first, second] = [await agents.next(), await agents.next()];
    const [a, keeper] = first.task === 'do a' ? [first, second] : [second, first];
    expect(verdictOf(await run.interrupt({ step: 'a' }))).toBe('applied');
    await recorded(run, 'step.settled', ({ step }) => step === 'a');
    expect(run.status().steps[0]).toMatchObject({ state: 'paused', cause: { type: 'interrupt' } });
    expect(verdictOf(await run.interrupt({ step: 'a' }))).toBe('rejected already-ended');
    expect(verdictOf(await run.resume({ step: 'keeper' }))).toBe('rejected not-paused');
    expect(verdictOf(await run.resume({ step: 'a' }))).toBe('applied');
    expect(verdictOf(await run.resume())).toBe('rejected not-paused');
    const again = await agents.next();
    const [, session] = sessionsIn(run);
    expect(again.argv.join(' ')).toContain(session ?? 'a session');
    await again.finish({ text: 'done at last' });
    await keeper.finish();
    const { status, records, result } = await conclude(run);
    expect(status).toMatchObject({ state: 'completed' });
    expect(status.steps[0]).toMatchObject({ state: 'completed', attempt: 2 });
    expect(status.steps[0]?.attempts?.map(({ outcome }) => outcome)).toEqual(['paused', 'completed']);
    expect(records.filter((one) => one.type === 'step.resumed')).toHaveLength(1);
    expect(result.steps[0]?.output?.text).toBe('done at last');
    await a.gone();
  });

  test('of the names that an agent gives its session the last one is kept, as it is', async () => {
    const stream = fileURLToPath(new URL('../fixtures/codex-0.171.0/simple-reply.jsonl', import.meta.url));
    const command = ['sh', '-c', 'cat >/dev/null; cat "$0"', stream];
    const run = await begin({
      version: 1,
      agents: { printed: { adapter: 'codex', mode: 'exec', command } },
      steps: [{ id: 'a', agent: 'printed', task: 'do a' }],
    });
    const { status } = await conclude(run);
    expect(status.state).toBe('completed');
    // First the thread alone, at its end with what was counted in it: one name that only the adapter reads.
    expect(sessionsIn(run)).toEqual([null, expect.stringMatching(/^[0-9a-f-]{36}#\d+\.\d+\.\d+\.\d+$/)]);
  });

  test('when nothing can go on and something is paused, the run is paused; what waits for it is left waiting', async () => {
    const { run, agents } = await withAgents([agent('a'), { ...agent('b'), needs: ['a'] }]);
    await agents.next();
    await run.interrupt({ step: 'a' });
    const { status } = await conclude(run);
    expect(status.state).toBe('paused');
    expect(status.steps.map(({ state }) => state)).toEqual(['paused', 'pending']);
    expect(verdictOf(await run.resume())).toBe('rejected run-ended');
  });

  test('interrupt of the run pauses what runs and what waits; stop ends it for good all the same', async () => {
    const { run, agents } = await withAgents([agent('a'), { ...agent('b'), needs: ['a'] }]);
    const a = await agents.next();
    for (const what of ['abort', 'stdin-close'] as const) await a.ignore(what);
    expect(verdictOf(await run.interrupt())).toBe('applied');
    expect(verdictOf(await run.resume())).toBe('rejected stopping');
    expect(verdictOf(await run.stop())).toBe('applied');
    const { status } = await conclude(run);
    expect(status.state).toBe('stopped');
    expect(status.steps.map(({ state }) => state)).toEqual(['stopped', 'stopped']);
  });
});

/** Sessions that attempts have closed with. */
const sessionsIn = (run: Run): (string | null)[] => {
  const lines = readFileSync(join(run.directory, 'events.jsonl'), 'utf8').trim().split('\n');
  const closed = lines.map((line) => JSON.parse(line) as JournalRecord).filter((one) => one.type === 'attempt.closed');
  return [null, ...closed.map((one) => (one.type === 'attempt.closed' ? one.session : null))];
};

describe('steer', () => {
  test('delivered when the agent took it and went on with it, and no sooner', async () => {
    const { run, agents } = await withAgents([agent('a')]);
    const a = await agents.next();
    await a.toolStart('bash');
    const receipt = run.steer('use the other folder', { mode: 'now' });
    expect(await a.nextSteer()).toBe('use the other folder');
    await recorded(run, 'steer.queued');
    expect(run.status().steering.counts).toMatchObject({ requested: 1, queued: 1 });
    await a.toolEnd('bash');
    await a.take();
    // It is part of the conversation; whether the work goes on with it is not known yet.
    expect(run.status().steering.counts).toMatchObject({ queued: 1, delivered: 0 });
    await a.say('as you say');
    expect(await receipt).toMatchObject({ type: 'steer', verdict: 'delivered', final: true });
    await a.finish();
    const { records, status } = await conclude(run);
    expect(records.flatMap(({ type }) => (type.startsWith('steer.') ? [type] : []))).toEqual([
      'steer.scheduled',
      'steer.routed',
      'steer.queued',
      'steer.delivered',
    ]);
    expect(status.steering.counts).toMatchObject({ requested: 1, delivered: 1, undelivered: 0 });
    expect(records.some(({ type }) => type === 'notice')).toBe(false);
    expectNoText(run, 'use the other folder');
  });

  test('S043: a command step cannot be spoken to, and says so at once', async () => {
    const run = await begin({ version: 1, steps: [sleeper('a')] });
    await recorded(run, 'attempt.started');
    expect(steerable(run)).toEqual([]);
    const answered = await run.steer('hello');
    expect(verdictOf(answered)).toBe('undelivered unsupported');
    await run.stop();
    const { records } = await conclude(run);
    expect(records.find(({ type }) => type === 'notice')).toMatchObject({ about: 'steering', state: 'undelivered' });
    expect(records.some(({ type }) => type === 'steer.queued')).toBe(false);
  });

  test('a program that says that it listens can be spoken to from then on', async () => {
    const script = `cd "$COXSWAIN_STEER_DIR" && printf '{"v":1,"modes":["now"]}' > .c && mv .c capability.json; sleep 600`;
    const run = await begin({ version: 1, steps: [{ id: 'a', run: script }] });
    for await (const status of run.watch()) if (status.steps[0]?.listens === undefined && status.steps[0]?.pid) break;
    expect(steerable(run)).toEqual(['run', 'a']);
    await run.stop();
    await conclude(run);
  });

  test('several agents: each has its own end, and the answer says which', async () => {
    const { run, agents } = await withAgents([agent('a'), sleeper('b', [])]);
    const a = await agents.next();
    await recorded(run, 'attempt.started', ({ step }) => step === 'b');
    const receipt = run.steer('look here');
    await a.nextSteer();
    await a.take();
    await a.say('seen');
    expect(await receipt).toMatchObject({
      verdict: 'undelivered',
      reason: 'unsupported',
      partial: true,
      targets: [
        { step: 'a', state: 'delivered' },
        { step: 'b', state: 'undelivered', reason: 'unsupported' },
      ],
    });
    await a.finish();
    await run.stop();
    const { status, records } = await conclude(run);
    expect(status.steering.counts).toMatchObject({ requested: 1, delivered: 0, undelivered: 1, partial: 1 });
    expect(records.find(({ type }) => type === 'notice')).toMatchObject({ state: 'partial' });
  });

  test('a step that waits is spoken to when its agent works; one that never does, never', async () => {
    const { run, agents } = await withAgents([
      agent('a'),
      { ...agent('b'), needs: ['a'], retry: 'none' },
      { ...agent('c'), needs: ['b'] },
    ]);
    const a = await agents.next();
    const toB = run.steer('for b', { step: 'b' });
    const toC = run.steer('for c', { step: 'c' });
    await a.finish();
    const b = await agents.next();
    expect(await b.nextSteer()).toBe('for b');
    await b.take();
    await b.say('mine');
    expect(verdictOf(await toB)).toBe('delivered');
    expect(verdictOf(await run.steer('for a', { step: 'a' }))).toBe('undelivered step-ended');
    expect(verdictOf(await run.steer('for nobody', { step: 'nobody' }))).toBe('rejected unknown-step');
    await b.finish({ errorMessage: '400 bad' });
    expect(verdictOf(await toC)).toBe('undelivered step-ended');
    await conclude(run);
  });

  test('S044: one that ends without a word about it leaves the message unconfirmed, or not taken', async () => {
    const { run, agents } = await withAgents([agent('a')]);
    const a = await agents.next();
    const receipt = run.steer('hello');
    await a.nextSteer();
    await a.exit(3);
    const { verdict, reason } = await receipt;
    expect(verdict).toBe('undelivered');
    expect(['aborted', 'unconfirmed', 'step-ended']).toContain(reason);
    await conclude(run);
  });

  test('one of which nothing is heard: where the plan says so, its agent is resumed for it, and takes it', async () => {
    const { run, agents } = await withAgents([agent('a', { timeout: '1h' })], { steering: { recover: 100 } });
    const a = await agents.next();
    await a.ignore('steer');
    const receipt = run.steer('use the other folder');
    expect(await a.nextSteer()).toBe('use the other folder');
    const again = await agents.next();
    // The same session, told of it anew.
    expect(again.argv.join(' ')).toContain(sessionsIn(run).at(-1) ?? 'a session');
    expect(await again.nextSteer()).toBe('use the other folder');
    // It came before the session was gone on with, so it was taken along.
    await again.tasked();
    await again.say('as you say');
    expect(await receipt).toMatchObject({
      verdict: 'delivered',
      detail: 'nothing was heard of it at first: an agent was interrupted and resumed for it, once',
    });
    // Once in a run.
    await again.ignore('steer');
    const second = run.steer('and the tests');
    await again.nextSteer();
    await run.stop();
    expect(verdictOf(await second)).toMatch(/^undelivered (unconfirmed|step-ended)$/);
    const { status, records } = await conclude(run);
    expect(status.steps[0]).toMatchObject({ state: 'stopped', attempt: 2 });
    expect(status.steps[0]?.attempts?.map(({ outcome }) => outcome)).toEqual(['paused', 'stopped']);
    expect(records.flatMap(({ type }) => (type.endsWith('recovering') ? [type] : []))).toEqual([
      'steer.recovering',
      'step.recovering',
    ]);
    expect(records.some(({ type }) => type === 'step.resumed')).toBe(false);
    expectNoText(run, 'use the other folder');
    await a.gone();
  });

  test('what is taken when its time was over is on record as late, and changes no verdict', async () => {
    const { run, agents } = await withAgents([agent('a')]);
    const a = await agents.next();
    await a.toolStart('bash');
    const receipt = run.steer('quickly', { expires: 50 });
    await a.nextSteer();
    expect(verdictOf(await receipt)).toBe('undelivered expired');
    await a.toolEnd('bash');
    await a.take();
    await a.say('sorry');
    await recorded(run, 'steer.late');
    await a.finish();
    const { status } = await conclude(run);
    expect(status.steering.counts).toMatchObject({ requested: 1, delivered: 0, undelivered: 1, late: 1 });
  });

  test('64 are open at most; one more is refused, and counted', async () => {
    const { run, agents } = await withAgents([agent('a')]);
    const a = await agents.next();
    await a.toolStart('bash');
    const open = Array.from({ length: 64 }, async (_, i) => run.steer(`message ${i}`));
    expect(verdictOf(await run.steer('one more'))).toBe('undelivered inbox-full');
    await run.stop();
    const verdicts = new Set((await Promise.all(open)).map(({ verdict }) => verdict));
    expect([...verdicts]).toEqual(['undelivered']);
    const { status } = await conclude(run);
    expect(status.steering.counts).toMatchObject({ requested: 65, undelivered: 65 });
    expect(status.steering.recent).toHaveLength(20);
  });
});

describe('append, extend', () => {
  test('steps are added, run, and see what came before; what clashes is refused', async () => {
    const { run, agents } = await withAgents([agent('a')]);
    const a = await agents.next();
    const added = await run.append([{ id: 'b', needs: ['a'], run: ['echo', 'after {{ steps.a.output }}'] }]);
    expect(verdictOf(added)).toBe('applied');
    expect(verdictOf(await run.append([{ id: 'b', needs: [], run: 'true' }]))).toBe('rejected invalid');
    expect(verdictOf(await run.append([{ id: 'c', needs: ['nobody'], run: 'true' }]))).toBe('rejected invalid');
    await a.finish({ text: 'one' });
    const { status, result } = await conclude(run);
    expect(status.steps.map(({ id, state }) => [id, state])).toEqual([
      ['a', 'completed'],
      ['b', 'completed'],
    ]);
    expect(result.steps[1]?.output?.text).toBe('after one');
    expect(readdirSync(join(run.directory, 'plan'))).toEqual(['1.json']);
    expect(verdictOf(await run.append([{ id: 'd', needs: [], run: 'true' }]))).toBe('rejected run-ended');
  });

  test('a deadline is moved, with a receipt', async () => {
    const run = await begin({ version: 1, steps: [sleeper('a')] });
    await recorded(run, 'attempt.started');
    const before = Date.now();
    expect(verdictOf(await run.extend('1h'))).toBe('applied');
    const asked = Date.parse(run.status().deadlineAt ?? '') - 3_600_000;
    expect(asked).toBeGreaterThanOrEqual(before);
    expect(asked).toBeLessThanOrEqual(Date.now());
    expect(verdictOf(await run.extend('soon'))).toBe('rejected invalid');
    expect(verdictOf(await run.extend('1h', { step: 'nobody' }))).toBe('rejected unknown-step');
    const over = '2020-01-01T00:00:00.000Z';
    expect(await run.extend(over, { step: 'a' })).toMatchObject({
      verdict: 'applied',
      detail: `${over} is over already: step a ends now`,
    });
    const { status } = await conclude(run);
    const { cause } = status.steps[0] ?? {};
    expect(cause).toMatchObject({ type: 'step-limit', limitMs: 0, deadlineAt: over });
    expect(cause && describeCause(cause)).toBe(`the step's deadline was moved to ${over}, which was over already`);
  });
});

describe('asks', () => {
  test('a child asks, the status says that a person is waited for, and the answer reaches it', async () => {
    const { run, agents } = await withAgents([agent('a')]);
    const a = await agents.next();
    await a.ask({ id: 'q1', text: 'which branch?' });
    const { id } = await recorded(run, 'ask.asked');
    expect(run.status().steps[0]?.waiting).toBe('person');
    expect(run.status().asks).toMatchObject([{ id, step: 'a', attempt: 1, state: 'asked' }]);
    expect(verdictOf(await run.answer('nothing', 'x'))).toBe('rejected unknown-ask');
    expect(verdictOf(await run.answer(id, 'the main one'))).toBe('applied');
    expect(await a.answered('q1')).toMatchObject({ state: 'answered', text: 'the main one' });
    expect(verdictOf(await run.answer(id, 'no, another'))).toBe('rejected not-waiting');
    expect(run.status().steps[0]?.waiting).toBeUndefined();
    await a.finish();
    const { status } = await conclude(run);
    expect(status.asks).toMatchObject([{ id, state: 'answered' }]);
    expectNoText(run, 'which branch?');
    expectNoText(run, 'the main one');
  });

  test('with asks: decline it is told at once', async () => {
    const { run, agents } = await withAgents([agent('a', { asks: 'decline' })]);
    const a = await agents.next();
    await a.ask({ id: 'q1', text: 'may I?' });
    expect(await a.answered('q1')).toMatchObject({ state: 'declined' });
    await a.finish();
    const { status } = await conclude(run);
    expect(status.asks).toMatchObject([{ state: 'declined' }]);
  });

  test('one that ends, or takes its question back, is not waited for', async () => {
    const { run, agents } = await withAgents([agent('a')]);
    const a = await agents.next();
    await a.ask({ id: 'q1', text: 'may I?' });
    await recorded(run, 'ask.asked');
    await a.withdraw('q1');
    expect(await recorded(run, 'ask.expired')).toMatchObject({ reason: 'gone' });
    await a.ask({ id: 'q2', text: 'may I now?' });
    await recorded(run, 'ask.asked', ({ id }) => id.endsWith('q2'));
    await a.finish();
    await a.exit(0);
    const { status } = await conclude(run);
    expect(status.asks.map(({ state }) => state)).toEqual(['expired', 'expired']);
  });
});

describe('waiting', () => {
  test('for the first word, for the last, or no longer', async () => {
    const { run, agents } = await withAgents([agent('a')]);
    const a = await agents.next();
    await a.toolStart('bash');
    expect(await run.steer('hello', { until: 'first' })).toMatchObject({ verdict: 'accepted', final: false });
    const controller = new AbortController();
    const waiting = run.steer('hello again', { signal: controller.signal });
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    await expect(run.stop({ signal: AbortSignal.abort(new Error('never mind')) })).rejects.toThrow('never mind');
    // The command stands all the same.
    const { status } = await conclude(run);
    expect(status.state).toBe('stopped');
  });

  test('events go on from where a reader was', async () => {
    const { run, agents } = await withAgents([agent('a')]);
    const a = await agents.next();
    const { seq } = await recorded(run, 'attempt.started');
    await a.finish();
    await run.ended();
    const rest: number[] = [];
    for await (const record of run.events({ from: seq + 1 })) rest.push(record.seq);
    expect(rest[0]).toBe(seq + 1);
    expect(rest).toEqual(rest.map((_, i) => seq + 1 + i));
  });
});

describe('S050', () => {
  test('what `can` names is obeyed, in every state that a command can meet', async () => {
    const { run, agents } = await withAgents([agent('a'), agent('b'), { ...agent('c'), needs: ['b'] }]);
    await agents.next();
    await agents.next();
    const named = (): string[] => can(run.status()).map(({ command, step }) => `${command} ${step ?? ''}`.trim());
    expect(named()).toEqual([
      'stop',
      'interrupt',
      'steer',
      'extend',
      'append',
      ...['a', 'b'].flatMap((step) => [`stop ${step}`, `interrupt ${step}`, `steer ${step}`, `extend ${step}`]),
      'stop c',
      'interrupt c',
      'steer c',
    ]);
    expect(verdictOf(await run.interrupt({ step: 'a' }))).toBe('applied');
    await recorded(run, 'step.settled', ({ step }) => step === 'a');
    expect(named()).toEqual(expect.arrayContaining(['resume', 'resume a', 'stop a', 'steer a']));
    expect(named()).not.toContain('interrupt a');
    expect(verdictOf(await run.stop({ step: 'a' }))).toBe('applied');
    expect(named().filter((one) => one.endsWith(' a'))).toEqual([]);
    expect(verdictOf(await run.stop())).toBe('applied');
    await run.ended();
    expect(named()).toEqual([]);
    await conclude(run);
  });
});

/** Texts of people are nowhere but in what the agent itself wrote. */
function expectNoText(run: Run, text: string): void {
  const found = readdirSync(run.directory, { recursive: true, encoding: 'utf8' })
    .filter((name) => !/^(sessions|attempts\/[^/]+\/\d+\/(stdout\.jsonl|transcript\.jsonl))/.test(name))
    .map((name) => join(run.directory, name))
    .filter((path) => existsSync(path) && statSync(path).isFile() && readFileSync(path, 'utf8').includes(text));
  expect(found).toEqual([]);
}
