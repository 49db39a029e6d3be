import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { JournalRecord } from '../../machines/protocol.ts';
import { later } from '../../machines/policy/time.ts';
import type { PlanInput } from '../../src/plan/index.ts';
import type { FakeChild } from '../../src/testing/fake-agent/index.ts';
import { openCli, until } from '../support/cli.ts';
import { expectTruth, runs } from '../support/truth.ts';
import { type Rig, definition, fakeAgents, proofOf, sleeper, startRun } from './rig.ts';

/** Limits, and what is left when work ends, on real processes. Each run ends with the check that its record is true. */

const sh = (script: string): string[] => ['sh', '-c', script];
const textOf = (rig: Rig, name: string): string => readFileSync(join(rig.root, name), 'utf8');
const at = (one: { ts: string } | undefined): number => Date.parse(one?.ts ?? '');
const changes = (records: readonly JournalRecord[], step: string): string[] =>
  records.flatMap((one) => (one.type === 'activity.changed' && one.step === step ? [one.state] : []));

/* ------------------------------------------------------------------ stops */

/** Counts the SIGTERMs it gets in the file $1, and goes 200 ms after the first. With $2 it has a child that does the same. */
const COUNTER = `
trap 'echo TERM >> "$1"' TERM
[ -z "$2" ] || sh counter.sh "$2" '' &
: > "$1.up"
until [ -e "$1" ]; do sleep 0.02; done
for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.02; done
`;

const furnish = (root: string): void => writeFileSync(join(root, 'counter.sh'), COUNTER);

test('S007: one stop is one SIGTERM to each process, three stops are one as well', async () => {
  const run = ['sh', 'counter.sh', 'leader', 'grandchild'];
  const rig = startRun({ version: 1, steps: [{ id: 'a', run }] }, { furnish });
  await expect.poll(() => ['leader.up', 'grandchild.up'].every((name) => existsSync(join(rig.root, name)))).toBe(true);
  for (let i = 0; i < 3; i += 1) rig.stop();
  expect((await rig.ended).outcome.state).toBe('stopped');
  expectTruth(rig);
  expect([textOf(rig, 'leader'), textOf(rig, 'grandchild')]).toEqual(['TERM\n', 'TERM\n']);
  expect(rig.answers.map((one) => one.verdict)).toEqual(['applied', 'applied', 'applied']);
  expect(proofOf(rig).signals.map((one) => one.rung)).toEqual(['SIGTERM']);
});

/* ------------------------------------------------------------------ what stays */

/** Ends what was kept, once the test is over. */
function endLater(pid: number): number {
  onTestFinished(() => void (runs(pid) && process.kill(pid, 'SIGKILL')));
  return pid;
}

/** A helper in a session of its own; declared where that is allowed. */
const WITH_HELPER = `
setsid sleep 300 </dev/null >/dev/null 2>&1 &
[ -z "$COXSWAIN_SURVIVORS_DIR" ] || : > "$COXSWAIN_SURVIVORS_DIR/$!"
echo $! > helper.tmp; mv helper.tmp helper; echo done`;

const helperOf = async (rig: Rig): Promise<number> => {
  await expect.poll(() => existsSync(join(rig.root, 'helper'))).toBe(true);
  return endLater(Number(textOf(rig, 'helper')));
};

describe('S008: a helper that the child declared', () => {
  test.each([
    ['lives on and is listed, where the plan allows it', WITH_HELPER, 'completed'],
    ['lives on after a stop too', `${WITH_HELPER}; sleep 300`, 'stopped'],
  ])('%s', async (_what, script, state) => {
    const rig = startRun({ version: 1, steps: [{ id: 'a', run: sh(script), survivors: 'declared' }] });
    const helper = await helperOf(rig);
    if (state === 'stopped') rig.stop();
    await rig.ended;
    const { status } = expectTruth({ ...rig, kept: [helper] });
    expect(status.steps[0]).toMatchObject({ state, proof: { verdict: 'gone', kept: 1, leftovers: 0 } });
    expect(proofOf(rig).kept).toMatchObject([{ pid: helper, startTime: expect.any(Number), declared: true }]);
    expect(runs(helper)).toBe(true);
  });

  test('is ended like any other, where it does not', async () => {
    const rig = startRun({ version: 1, steps: [{ id: 'a', run: sh(WITH_HELPER) }] });
    const helper = await helperOf(rig);
    await rig.ended;
    const { status } = expectTruth(rig);
    expect(status.steps[0]).toMatchObject({ state: 'completed', proof: { verdict: 'gone', kept: 0, leftovers: 1 } });
    expect(runs(helper)).toBe(false);
  });
});

const leaving = (name: string) => sh(`sleep 300 >/dev/null 2>&1 & echo $! > ${name}; echo done`);

test('leftovers are ended, kept, or make the attempt a failure', async () => {
  const policies = ['end', 'keep', 'fail'] as const;
  const steps = policies.map((leftovers) => ({ id: leftovers, needs: [], run: leaving(leftovers), leftovers }));
  const rig = startRun({ version: 1, steps });
  await rig.ended;
  const [end, keep, fail] = policies.map((name) => endLater(Number(textOf(rig, name)))) as [number, number, number];
  const { status } = expectTruth({ ...rig, kept: [keep] });
  const of = (index: number) => status.steps[index];
  expect(of(0)).toMatchObject({ state: 'completed', proof: { verdict: 'gone', leftovers: 1, kept: 0 } });
  expect(of(1)).toMatchObject({ state: 'completed', proof: { verdict: 'gone', leftovers: 0, kept: 1 } });
  expect(of(2)).toMatchObject({
    state: 'failed',
    error: { code: 'leftovers' },
    proof: { verdict: 'gone', leftovers: 1 },
  });
  expect([end, keep, fail].map(runs)).toEqual([false, true, false]);
  expect(proofOf(rig, 'keep').kept).toMatchObject([{ pid: keep, startTime: expect.any(Number) }]);
});

/* ------------------------------------------------------------------ limits of an attempt */

/** One fake agent a step, side by side, told apart by their tasks. */
async function withAgents(steps: Record<string, object>, plan: Partial<PlanInput> = {}) {
  const agents = await fakeAgents();
  const rig = startRun({
    version: 1,
    limits: { concurrency: 8 },
    agents: { fake: definition(agents.settings()) },
    steps: Object.entries(steps).map(([id, more]) => ({ id, needs: [], agent: 'fake', task: id, ...more })),
    ...plan,
  });
  const met = new Map<string, FakeChild>();
  for (let i = 0; i < Object.keys(steps).length; i += 1) {
    const child = await agents.next();
    met.set(child.task, child);
  }
  const agent = (task: string): FakeChild => {
    const child = met.get(task);
    if (child === undefined) throw new Error(`no agent has the task ${task}`);
    return child;
  };
  return { rig, agent, next: () => agents.next() };
}

describe('a single tool', () => {
  test('S030: is ended at its limit, which names it; noise and the end of another one do not help', async () => {
    const { rig, agent } = await withAgents({ a: { limits: { tool: '400ms' } } });
    const child = agent('a');
    await child.toolStart('read');
    await child.toolStart('X');
    await child.toolEnd('read');
    const noise = setInterval(() => void child.stderr('.\n').catch(() => {}), 50);
    onTestFinished(() => clearInterval(noise));
    await rig.ended;
    const { status, records } = expectTruth(rig);
    expect(status.steps[0]).toMatchObject({ state: 'failed', cause: { type: 'tool-limit', tool: 'X', limitMs: 400 } });
    const took =
      at(records.find((one) => one.type === 'attempt.exited')) - Date.parse(String(status.steps[0]?.cause?.at));
    expect(took).toBeLessThan(400);
    // Asked by its protocol, before any signal.
    expect(child.commands()).toContain('abort');
  });

  test('S033: may be silent for longer than a stall', async () => {
    const limits = { stall: { after: '1200ms', action: 'stop' as const } };
    const { rig, agent } = await withAgents({ works: { limits }, idles: { limits } });
    await agent('works').toolStart('bash');
    // Begun later: when this one has stalled, the tool of the other has been open for longer than that.
    await agent('idles').say('thinking');
    await rig.recorded('step.settled', (one) => one.step === 'idles');
    await agent('works').toolEnd('bash', { output: 'x' });
    await agent('works').finish({ text: 'made it' });
    await rig.ended;
    const { status, records } = expectTruth(rig);
    expect(status.steps.map((one) => one.cause?.type)).toEqual(['completed', 'stall-limit']);
    expect(changes(records, 'works')).toEqual([]);
  });
});

test('S032: nothing at all by the limit of the first output', async () => {
  const limits = { firstOutput: '1s' };
  const rig = startRun({
    version: 1,
    steps: [
      { ...sleeper('silent'), limits },
      { id: 'speaks', needs: [], limits, run: sh('echo x; sleep 0.6') },
      { id: 'complains', needs: [], limits, run: sh('echo x >&2; sleep 0.6') },
    ],
  });
  await rig.ended;
  const { status } = expectTruth(rig);
  expect(status.steps.map((one) => one.cause?.type)).toEqual(['first-output-limit', 'completed', 'completed']);
});

const stall = (action: string) => ({ limits: { stall: { after: '1500ms', action } } });

test('S034: a stall is acted on as the plan says, told once, and never after the end', async () => {
  const actions = ['notice', 'interrupt', 'stop', 'retry'];
  const { rig, agent, next } = await withAgents(Object.fromEntries(actions.map((one) => [one, stall(one)])));
  // Side by side: on a busy machine one after the other would stall before its turn.
  await Promise.all(
    actions.map(async (action) => {
      const child = agent(action);
      await child.say('let me see');
      await child.toolStart('read');
      await child.toolEnd('read', { output: 'text' });
    }),
  );
  await rig.recorded('activity.changed', (one) => one.step === 'notice' && one.state === 'stalled');
  expect(rig.runtime.status().steps[0]).toMatchObject({ state: 'running', activity: 'stalled' });
  await agent('notice').finish({ text: 'slow, but done' });
  const second = await next();
  expect(second.task).toBe('retry');
  await second.finish({ text: 'the second time' });
  await rig.ended;
  const { status, records } = expectTruth(rig);
  expect(status.steps.map((one) => [one.state, one.cause?.type, one.attempt])).toEqual([
    ['completed', 'completed', 1],
    ['paused', 'interrupt', 1],
    ['failed', 'stall-limit', 1],
    ['completed', 'completed', 2],
  ]);
  for (const action of actions) expect(changes(records, action).slice(0, 2)).toEqual(['quiet', 'stalled']);
  expect(actions.slice(1).map((action) => changes(records, action).length)).toEqual([2, 2, 2]);
  expect(changes(records, 'notice').slice(2)).toEqual(['fresh']);
});

test('S027: the time of a step begins with the step, not with the run', async () => {
  const steps = ['a', 'b', 'c', 'd', 'e', 'f'].map((id) => ({ id, needs: [], timeout: '1s', run: sh('sleep 0.4') }));
  const rig = startRun({ version: 1, limits: { concurrency: 2 }, steps });
  await rig.ended;
  const { status } = expectTruth(rig);
  expect(status.counts.completed).toBe(6);
  expect(Date.parse(status.endedAt ?? '') - Date.parse(status.startedAt)).toBeGreaterThan(1_000);
});

/* ------------------------------------------------------------------ deadlines */

const minutes = (from: string, told: string): number | null =>
  told === '' ? null : Math.round((Date.parse(told) - Date.parse(from)) / 60_000);

describe('COXSWAIN_DEADLINE', () => {
  const tell = sh('echo "$COXSWAIN_DEADLINE"');
  const deadlines = async (limits: PlanInput['limits'], env: Record<string, string> = {}) => {
    const steps = [
      { id: 'plain', needs: [], run: tell },
      { id: 'step', needs: [], run: tell, timeout: '30m' },
      { id: 'attempt', needs: [], run: tell, timeout: '30m', limits: { attempt: '10m' } },
    ];
    const rig = startRun({ version: 1, limits, steps }, { env: { PATH: process.env['PATH'] ?? '', ...env } });
    await rig.ended;
    const { result, status } = expectTruth(rig);
    return { status, told: result.steps.map((step) => step.output?.text ?? '') };
  };

  test('is the earliest end that is known, and only ever earlier further down', async () => {
    const free = await deadlines({});
    expect(free.told.map((one) => minutes(free.status.startedAt, one))).toEqual([null, 30, 10]);
    const run = await deadlines({ timeout: '20m' });
    expect(run.told.map((one) => minutes(run.status.startedAt, one))).toEqual([20, 20, 10]);
    // As one who is run by another runner, with five minutes to go.
    const inherited = later(new Date().toISOString(), 5 * 60_000);
    const below = await deadlines({ timeout: '20m' }, { COXSWAIN_DEADLINE: inherited });
    expect(below.told.map((one) => minutes(below.status.startedAt, one))).toEqual([5, 5, 5]);
    expect(Date.parse(below.status.deadlineAt ?? '')).toBeLessThanOrEqual(Date.parse(inherited) + 50);
    expect(below.told.every((one) => Date.parse(one) <= Date.parse(inherited))).toBe(true);
  });

  test('that is over already ends the run at once', async () => {
    const rig = startRun(
      { version: 1, steps: [sleeper('a')] },
      { env: { PATH: process.env['PATH'] ?? '', COXSWAIN_DEADLINE: '2020-01-01T00:00:00Z' } },
    );
    expect((await rig.ended).outcome).toMatchObject({ state: 'failed', cause: { type: 'run-deadline' } });
    expectTruth(rig);
  });
});

describe('a deadline that is moved', () => {
  test('later: the run goes on beyond the old one; earlier: it ends by the new one', async () => {
    const steps = [
      sleeper('a'),
      // It is over 200 ms after the first deadline of the run.
      { ...sleeper('clock'), needs: [], timeout: '600ms' },
    ];
    const rig = startRun({ version: 1, limits: { timeout: '400ms' }, steps });
    expect(rig.extend(60_000)).toBe(true);
    await rig.recorded('step.settled', (one) => one.step === 'clock');
    expect(rig.runtime.status().state).toBe('running');
    expect(rig.extend(100)).toBe(true);
    const { outcome } = await rig.ended;
    const { records, status } = expectTruth(rig);
    expect(outcome).toMatchObject({ state: 'failed', cause: { type: 'run-deadline', limitMs: 100 } });
    expect(records.filter((one) => one.type === 'run.deadline-moved')).toHaveLength(2);
    expect(Math.abs(Date.parse(status.deadlineAt ?? '') - Date.parse(status.cause?.at ?? ''))).toBeLessThan(100);
    expect(rig.extend(60_000)).toBe(false);
  });

  test('to now: of a step, then of the run', async () => {
    const rig = startRun({ version: 1, steps: [sleeper('a'), { ...sleeper('b'), needs: [] }] });
    await Promise.all(['a', 'b'].map((id) => rig.recorded('attempt.started', (one) => one.step === id)));
    expect(rig.extend(0, 'nobody')).toBe(false);
    expect(rig.extend(0, 'a')).toBe(true);
    await rig.recorded('step.settled', (one) => one.step === 'a');
    expect(rig.extend(0, 'a')).toBe(false);
    expect(rig.extend(0)).toBe(true);
    await rig.ended;
    const { status, records } = expectTruth(rig);
    expect(status.steps.map((one) => [one.state, one.cause?.type])).toEqual([
      ['failed', 'step-limit'],
      ['failed', 'run-deadline'],
    ]);
    expect(records.find((one) => one.type === 'step.extended')).toMatchObject({ step: 'a', limitMs: 0 });
  });
});

test('an agent is told that its time runs out, while it works, and can come to an end', async () => {
  const { rig, agent } = await withAgents({ a: { limits: { attempt: '2s' } } });
  await agent('a').toolStart('bash');
  await expect
    .poll(() => agent('a').steered(), { timeout: 5_000 })
    .toEqual([expect.stringContaining('time is running out')]);
  await agent('a').finish({ text: 'as far as I came' });
  await rig.ended;
  const { result, records } = expectTruth(rig);
  expect(result.steps[0]).toMatchObject({ state: 'completed', output: { text: 'as far as I came' } });
  expect(records.filter((one) => one.type === 'cause.late')).toEqual([]);
});

/* ------------------------------------------------------------------ a runner that stands still */

test('a runner that is frozen for three seconds does not take its healthy children for stalled', async () => {
  await using cli = openCli();
  const ticks = join(cli.cwd, 'ticks');
  const count = (): number => (existsSync(ticks) ? readFileSync(ticks, 'utf8').split('\n').length : 0);
  const run = sh('i=0; while [ $i -lt 34 ]; do i=$((i+1)); echo $i; echo $i >> ticks; sleep 0.1; done');
  const limits = { stall: { after: '1s', action: 'stop' } };
  // Its first byte comes in time, while nobody can read it.
  const first = sh('until [ -e frozen ]; do sleep 0.02; done; echo in time; until [ -e thawed ]; do sleep 0.02; done');
  const steps = [
    { id: 'busy', needs: [], run, limits },
    { id: 'first', needs: [], run: first, limits: { firstOutput: '2s' } },
  ];
  cli.file('plan.json', JSON.stringify({ version: 1, steps }));
  const { id, pid } = await cli.detach(['plan.json']);
  const directory = join(cli.root, 'runs', id);
  // On a busy machine the child works sooner than its runner has written.
  await until(() => count() > 2 && existsSync(join(directory, 'status.json')), 'the child works');
  process.kill(pid, 'SIGSTOP');
  cli.file('frozen', '');
  const frozenAt = count();
  try {
    // Thirty of its ticks are three seconds and more.
    await until(() => count() >= frozenAt + 30, 'three seconds have passed');
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  await until(() => cli.status(id).steps[0]?.state === 'completed', 'the busy one has ended');
  cli.file('thawed', '');
  await until(() => cli.status(id).endedAt, 'the run has ended');
  expect(cli.status(id).steps.map((one) => [one.state, one.cause?.type])).toEqual([
    ['completed', 'completed'],
    ['completed', 'completed'],
  ]);
});
