import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { JournalRecord } from '../../machines/protocol.ts';
import { expectTruth, runs } from '../support/truth.ts';
import { type Rig, definition, fakeAgents, startRun } from './rig.ts';

/** Further attempts, on real processes: when there is one, when there is none, and never two at once. */

const sh = (script: string): string[] => ['sh', '-c', script];
const at = (one: { ts: string } | undefined): number => Date.parse(one?.ts ?? '');
const of = <T extends JournalRecord['type']>(records: readonly JournalRecord[], type: T) =>
  records.filter((one): one is JournalRecord & { type: T } => one.type === type);

/** Attempt n + 1 is launched after the proof of n, and the attempts are numbered without a gap. */
function expectOneWriter(records: readonly JournalRecord[]): void {
  expect(of(records, 'attempt.closed').every(({ proof }) => proof === null || proof.verdict === 'gone')).toBe(true);
  const ofStep = new Map<string, string[]>();
  for (const one of records) {
    if (one.type !== 'attempt.launching' && one.type !== 'attempt.closed') continue;
    ofStep.set(one.step, [...(ofStep.get(one.step) ?? []), `${one.type} ${one.attempt}`]);
  }
  for (const order of ofStep.values()) {
    expect(order).toEqual(
      order.map((_, index) => `attempt.${index % 2 === 0 ? 'launching' : 'closed'} ${Math.floor(index / 2) + 1}`),
    );
  }
}

/** What each attempt of the step came to, and the note on it. */
const attemptsOf = (rig: Rig, step = 0) =>
  (rig.runtime.status().steps[step]?.attempts ?? []).map(({ n, model, outcome, class: code }) => [
    n,
    model,
    outcome,
    code,
  ]);

describe('S070: killed before it did anything', () => {
  test('is started again, and no longer with the task among its arguments', async () => {
    const script = `
if [ ! -e once ]; then : > once; kill -9 $$; fi
case "$1" in */task.md) echo "file: $(cat "$1")";; *) echo "argument: $1";; esac`;
    const rig = startRun({
      version: 1,
      agents: { scanned: { adapter: 'command', command: ['sh', '-c', script, 'sh'], task: 'argv' } },
      steps: [{ id: 'a', agent: 'scanned', task: 'say hello' }],
    });
    await rig.ended;
    const { records, result, status } = expectTruth(rig);
    expectOneWriter(records);
    expect(of(records, 'step.backing-off')).toMatchObject([{ attempt: 1, class: 'startup' }]);
    expect(of(records, 'step.backing-off')[0]?.delayMs).toBeGreaterThanOrEqual(187);
    expect(attemptsOf(rig)).toEqual([
      [1, null, 'failed', 'signal'],
      [2, null, 'completed', null],
    ]);
    expect(status.steps[0]?.attempts?.[0]?.note).toContain('did not start');
    expect(result.steps[0]).toMatchObject({ output: { text: 'file: say hello' }, attempts: [{}, {}] });
    const argv = [1, 2].map((n) => {
      const launch = readFileSync(rig.dir.attempt('a', n).launch, 'utf8');
      expect(launch).not.toContain('say hello');
      return (JSON.parse(launch) as { argv: string[] }).argv.at(-1);
    });
    expect(argv).toEqual(['{task}', expect.stringMatching(/task\.md$/)]);
    // The file is there as long as the attempt is.
    expect(existsSync(argv[1] ?? '')).toBe(false);
  });

  test('after a byte of output it is not, nor what the plan says never to try again', async () => {
    const rig = startRun({
      version: 1,
      steps: [
        { id: 'spoke', needs: [], run: sh('echo x >&2; kill -9 $$') },
        { id: 'never', needs: [], run: sh('kill -9 $$'), retry: { on: [{ code: 'signal', as: 'never' }] } },
        { id: 'none', needs: [], run: sh('kill -9 $$'), retry: 'none' },
      ],
    });
    await rig.ended;
    const { status } = expectTruth(rig);
    expect(status.steps.map((one) => [one.state, one.attempt])).toEqual([
      ['failed', 1],
      ['failed', 1],
      ['failed', 1],
    ]);
  });
});

test('S031: what was ended by its limit has stopped before the next attempt begins', async () => {
  const deaf = sh(`trap '' INT TERM; echo x; while :; do echo "$$ $(date +%s%3N)" >> ticks; sleep 0.03; done`);
  const stop = [
    { do: 'SIGTERM' as const, grace: 150 },
    { do: 'SIGKILL' as const, grace: 500 },
  ];
  const rig = startRun({
    version: 1,
    agents: { deaf: { adapter: 'command', command: deaf, stop } },
    steps: [{ id: 'a', agent: 'deaf', task: 'x', limits: { attempt: 300 }, retry: { attempts: 2, backoff: 50 } }],
  });
  await rig.ended;
  const { records, status } = expectTruth(rig);
  expectOneWriter(records);
  expect(status.steps[0]).toMatchObject({ state: 'failed', cause: { type: 'attempt-limit' }, attempt: 2 });
  const ticks = readFileSync(join(rig.root, 'ticks'), 'utf8').trim().split('\n');
  const [first, second] = of(records, 'attempt.started').map(({ pid }) =>
    ticks.filter((tick) => tick.startsWith(`${pid} `)).map((tick) => Number(tick.split(' ')[1])),
  ) as [number[], number[]];
  expect(Math.min(first.length, second.length)).toBeGreaterThan(3);
  expect(first.length + second.length).toBe(ticks.length);
  const [closed] = of(records, 'attempt.closed');
  expect(first.at(-1)).toBeLessThanOrEqual(at(closed));
  expect(second[0]).toBeGreaterThanOrEqual(at(of(records, 'attempt.launching')[1]));
});

const withModels = async (steps: Record<string, { model: string[]; needs?: string[]; retry?: object }>) => {
  const agents = await fakeAgents();
  const rig = startRun({
    version: 1,
    agents: { fake: definition(agents.settings()) },
    steps: Object.entries(steps).map(([id, more]) => ({ id, needs: [], agent: 'fake', task: id, ...more })),
  });
  return { rig, agents };
};

describe('models', () => {
  const RATE_LIMIT = '429 {"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}';

  test('S013: the next attempt waits for the proof of one that has failed and goes on living', async () => {
    const { rig, agents } = await withModels({ a: { model: ['acme/bad', 'acme/good'] } });
    const first = await agents.next();
    await first.ignore('stdin-close');
    const stray = await first.stray();
    await first.finish({ errorMessage: '529 overloaded' });
    const launched = await rig.recorded('attempt.launching', (one) => one.attempt === 2);
    expect([first.pid, stray].filter(runs)).toEqual([]);
    const second = await agents.next();
    await second.finish({ text: 'done' });
    await rig.ended;
    const { records } = expectTruth(rig);
    expectOneWriter(records);
    const [closed] = of(records, 'attempt.closed');
    expect(closed).toMatchObject({ proof: { verdict: 'gone', leftovers: 1 }, forcedExit: true });
    expect(launched.seq).toBeGreaterThan(closed?.seq ?? Number.POSITIVE_INFINITY);
  });

  test('S072: the next candidate at once, and the siblings pass over the one that failed', async () => {
    const model = ['acme/bad', 'acme/good'];
    const { rig, agents } = await withModels({ a: { model }, b: { model, needs: ['a'] } });
    await (await agents.next()).finish({ errorMessage: RATE_LIMIT });
    const models: (string | undefined)[] = [];
    for (let i = 0; i < 2; i += 1) {
      const agent = await agents.next();
      models.push(agent.argv[agent.argv.indexOf('--model') + 1]);
      await agent.finish({ text: 'done' });
    }
    await rig.ended;
    const { records, status, result } = expectTruth(rig);
    expectOneWriter(records);
    expect(models).toEqual(['acme/good', 'acme/good']);
    expect(of(records, 'step.backing-off')).toMatchObject([
      { step: 'a', class: 'model', delayMs: 0, model: 'acme/good' },
    ]);
    expect(status.steps.map((one) => (one.attempts ?? []).map((each) => [each.model, each.class]))).toEqual([
      [
        ['acme/bad', 'rate-limited'],
        ['acme/good', null],
      ],
      [['acme/good', null]],
    ]);
    expect(result.steps[0]?.attempts.map((one) => one.class)).toEqual(['rate-limited', null]);
  });

  test('S071: one that asks for too long a wait: another one at once, or an end that says until when', async () => {
    const tooLong = `${RATE_LIMIT} retry-after-ms: 274579000`;
    const { rig, agents } = await withModels({
      fallback: { model: ['acme/busy', 'acme/free'] },
      alone: { model: ['acme/slow'] },
    });
    for (let i = 0; i < 3; i += 1) {
      const agent = await agents.next();
      const free = agent.argv.includes('acme/free');
      await agent.finish(free ? { text: 'done' } : { errorMessage: tooLong });
    }
    await rig.ended;
    const { records, status } = expectTruth(rig);
    expect(status.steps.map((one) => [one.state, one.attempt])).toEqual([
      ['completed', 2],
      ['failed', 1],
    ]);
    const settled = of(records, 'step.settled').find((one) => one.step === 'alone');
    const until = /until (\S+)$/.exec(settled?.note ?? '')?.[1] ?? '';
    expect(Date.parse(until) - at(settled)).toBeGreaterThan(274_000_000);
    expect(settled?.error).toMatchObject({ code: 'rate-limited', detail: { retryAfterMs: 274_579_000 } });
  });

  test('after a tool that may have changed something there is no further attempt, unless the plan allows it', async () => {
    const model = ['acme/bad', 'acme/good'];
    const { rig, agents } = await withModels({
      careful: { model },
      reckless: { model, retry: { afterSideEffects: true } },
    });
    for (let i = 0; i < 3; i += 1) {
      const agent = await agents.next();
      await agent.toolStart('bash', { command: 'make install' });
      await agent.toolEnd('bash');
      await agent.finish(agent.argv.includes('acme/good') ? { text: 'done' } : { errorMessage: RATE_LIMIT });
    }
    await rig.ended;
    const { status } = expectTruth(rig);
    expect(status.steps.map((one) => [one.state, one.attempt])).toEqual([
      ['failed', 1],
      ['completed', 2],
    ]);
    expect(status.steps[0]?.attempts?.[0]?.note).toContain('changed something');
  });
});

const waiting = (more: object = {}) => ({
  id: 'a',
  run: sh('exit 3'),
  retry: { attempts: 2, backoff: '60s' },
  ...more,
});

describe('a wait', () => {
  test.each([
    ['a stop', {}, (rig: Rig) => rig.stop(), ['stopped', 'stop']],
    ['the limit of the step', { timeout: '2m' }, (rig: Rig) => rig.extend(0, 'a'), ['failed', 'step-limit']],
    ['the deadline of the run', {}, (rig: Rig) => rig.extend(0), ['failed', 'run-deadline']],
  ])('is ended at once by %s, without a further attempt (S071)', async (_what, more, end, expected) => {
    const rig = startRun({ version: 1, steps: [waiting(more)] });
    await rig.recorded('step.backing-off');
    expect(rig.runtime.status().steps[0]).toMatchObject({ state: 'backing-off', attempt: 1 });
    const endedAt = performance.now();
    end(rig);
    await rig.ended;
    expect(performance.now() - endedAt).toBeLessThan(1_000);
    const { status, records } = expectTruth(rig);
    expectOneWriter(records);
    expect([status.steps[0]?.state, status.steps[0]?.cause?.type]).toEqual(expected);
    expect(status.steps[0]).toMatchObject({ attempt: 1, error: { code: 'exit-code' } });
  });

  test('is as long as the plan says, and the attempts are as many', async () => {
    const retry = { attempts: 3, backoff: { first: 100, factor: 2 } };
    const rig = startRun({
      version: 1,
      steps: [{ id: 'a', run: sh('echo x >> tries; [ $(wc -l < tries) = 3 ]'), retry }],
    });
    await rig.ended;
    const { records, status } = expectTruth(rig);
    expectOneWriter(records);
    expect(status.steps[0]).toMatchObject({ state: 'completed', attempt: 3 });
    const waits = of(records, 'step.backing-off').map((one) => one.delayMs);
    expect(waits.map((ms, index) => ms >= 75 * 2 ** index && ms <= 125 * 2 ** index)).toEqual([true, true]);
    const launched = of(records, 'attempt.launching').map(at);
    const closed = of(records, 'attempt.closed').map(at);
    waits.forEach((ms, index) =>
      expect((launched[index + 1] ?? 0) - (closed[index] ?? 0)).toBeGreaterThanOrEqual(ms - 1),
    );
  });
});

test('nobody can say that the first one is gone: there is no second, and the step has failed', async () => {
  const steps = [{ id: 'a', run: sh('exit 3'), retry: { attempts: 3, backoff: 10 } }];
  const blind = { type: 'blind', reason: 'nobody can look here', level: 'searched', serial: 1 } as const;
  const rig = startRun(
    { version: 1, steps },
    { before: ({ kit }) => void Object.assign(kit.sweeper, { look: async () => blind }) },
  );
  await rig.ended;
  const { records, status } = expectTruth({ ...rig, unproven: true });
  expect(of(records, 'attempt.launching')).toHaveLength(1);
  expect(status.steps[0]).toMatchObject({ state: 'failed', error: { code: 'unproven' }, attempt: 1 });
  expect(status.steps[0]?.attempts?.[0]?.note).toContain('nobody can say');
});
