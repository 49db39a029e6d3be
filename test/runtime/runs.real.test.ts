import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { PlanInput } from '../../src/plan/index.ts';
import { expectTruth, runs } from '../support/truth.ts';
import { definition, fakeAgents, sleeper, startRun } from './rig.ts';

/** Whole runs on real processes, in this process. Each ends with the check that its record is true. */

const sh = (script: string): string[] => ['sh', '-c', script];

describe('ends by itself', () => {
  test('a chain: each step gets the output of the one before', async () => {
    const rig = startRun({
      version: 1,
      steps: [
        { id: 'a', run: sh('echo hello') },
        { id: 'b', run: ['echo', 'got {{ steps.a.output }}'] },
        { id: 'c', run: ['echo', '{{ steps.b.output }}!'] },
      ],
    });
    const output = await rig.ended;
    const { result, report, status } = expectTruth(rig);
    expect(output).toMatchObject({ recorded: true, outcome: { state: 'completed', partial: false } });
    expect(result.steps.map((step) => step.output?.text)).toEqual(['hello', 'got hello', 'got hello!']);
    expect(status.steps.every((step) => step.proof?.verdict === 'gone' && step.proof.level === 'searched')).toBe(true);
    expect(report).toContain('completed');
  });

  test('side by side, as many as there are slots', async () => {
    // Each waits for the other: only side by side they end.
    const meet = (mine: string, other: string) => sh(`: > ${mine}; until [ -e ${other} ]; do sleep 0.01; done`);
    const rig = startRun({
      version: 1,
      limits: { concurrency: 2 },
      steps: [
        { id: 'a', needs: [], run: meet('a', 'b') },
        { id: 'b', needs: [], run: meet('b', 'a') },
        { id: 'c', needs: [], run: sh('echo c') },
        { id: 'd', needs: ['a', 'b', 'c'], run: sh('echo {{ steps.c.output }}d') },
      ],
    });
    await rig.ended;
    const { records, result } = expectTruth(rig);
    expect(result.steps.find((step) => step.id === 'd')?.output?.text).toBe('cd');
    let [now, most] = [0, 0];
    for (const { type } of records) {
      if (type === 'attempt.launching') most = Math.max(most, (now += 1));
      if (type === 'attempt.exited') now -= 1;
    }
    expect(most).toBe(2);
  });

  test('a failed step: what needs it is skipped, what does not goes on, and the run is failed in part', async () => {
    const rig = startRun({
      version: 1,
      steps: [
        { id: 'bad', needs: [], run: sh('echo bad flag >&2; exit 3') },
        { id: 'after', needs: ['bad'], run: ['echo', 'x'] },
        { id: 'good', needs: [], run: ['echo', 'x'] },
      ],
    });
    const { outcome } = await rig.ended;
    const { status, result } = expectTruth(rig);
    expect(outcome).toMatchObject({ state: 'failed', partial: true, cause: { type: 'failure', reason: 'exit-code' } });
    expect(status.steps.map((step) => step.state)).toEqual(['failed', 'skipped', 'completed']);
    expect(status.steps[0]?.error).toMatchObject({ code: 'exit-code', detail: { exitCode: 3 } });
    expect(result.steps.find((step) => step.id === 'bad')?.attempts[0]).toMatchObject({ exit: 3, outcome: 'failed' });
  });

  test('nothing is a result for a command, and a failure for an agent', async () => {
    const agents = await fakeAgents();
    const rig = startRun({
      version: 1,
      agents: { fake: definition(agents.settings('fake', 'plain')) },
      steps: [
        { id: 'command', needs: [], run: ['true'] },
        { id: 'agent', needs: [], agent: 'fake', task: 'say nothing', retry: 'none' },
      ],
    });
    await (await agents.next()).exit(0);
    await rig.ended;
    const { status, result } = expectTruth(rig);
    expect(status.steps.map((step) => [step.state, step.error?.code])).toEqual([
      ['completed', undefined],
      ['failed', 'empty-output'],
    ]);
    expect(result.steps.map((step) => step.outputState)).toEqual(['absent', 'absent']);
  });

  test('S036: the work is done and the process stays: it is ended, and the work counts', async () => {
    const agents = await fakeAgents();
    const rig = startRun({
      version: 1,
      agents: { fake: definition(agents.settings()) },
      steps: [{ id: 'a', agent: 'fake', task: 'work' }],
    });
    const agent = await agents.next();
    await agent.ignore('stdin-close');
    await agent.finish({ text: 'the answer' });
    const output = await rig.ended;
    const { status, result } = expectTruth(rig);
    expect(output.outcome.state).toBe('completed');
    expect(status.steps[0]).toMatchObject({ state: 'completed', forcedExit: true });
    expect(result.steps[0]).toMatchObject({ output: { text: 'the answer' }, attempts: [{ forcedExit: true }] });
    // An agent that has finished is not asked to drop its work.
    expect(agent.commands()).not.toContain('abort');
  });

  test('an agent that says it is done and then ends with another exit code than 0 has failed', async () => {
    const agents = await fakeAgents();
    const rig = startRun({
      version: 1,
      agents: { fake: definition(agents.settings()) },
      steps: [{ id: 'a', agent: 'fake', task: 'work' }],
    });
    const agent = await agents.next();
    await agent.ignore('stdin-close');
    await agent.finish({ text: 'the answer' });
    await agent.exit(7);
    await rig.ended;
    const { result } = expectTruth(rig);
    expect(result.steps[0]).toMatchObject({
      state: 'failed',
      error: { code: 'exit-code', detail: { exitCode: 7 } },
      attempts: [{ exit: 7, forcedExit: false }],
    });
  });

  test('S024: a kill after warnings is told as a kill, with what stderr had beside it', async () => {
    const warn = 'for i in $(seq 20); do echo "warning $i" >&2; done; kill -9 $$';
    const rig = startRun({ version: 1, steps: [{ id: 'a', run: sh(warn) }] });
    await rig.ended;
    const { result } = expectTruth(rig);
    expect(result.steps[0]).toMatchObject({
      state: 'failed',
      error: { code: 'signal', message: expect.stringContaining('SIGKILL'), detail: { signal: 'SIGKILL' } },
      attempts: [{ exit: null, signal: 'SIGKILL', class: 'signal' }],
    });
    const stderr = readFileSync(rig.dir.attempt('a', 1).stderr, 'utf8');
    expect(stderr.trim().split('\n')).toHaveLength(20);
  });

  test('S028: a grandchild that holds the pipes delays the step by the drain only, and is ended', async () => {
    const rig = startRun({ version: 1, steps: [{ id: 'a', run: ['bash', '-c', 'sleep 600 & echo done; exit 0'] }] });
    await rig.ended;
    const { records, status, result } = expectTruth(rig);
    expect(result.steps[0]?.output?.text).toBe('done');
    expect(status.steps[0]?.proof).toMatchObject({ verdict: 'gone', leftovers: 1 });
    const at = (type: string): number => Date.parse(records.find((one) => one.type === type)?.ts ?? '');
    expect(at('attempt.closed') - at('attempt.exited')).toBeLessThan(2_500);
  });

  test('S104: a command that reads its stdin to the end goes on at once', async () => {
    const rig = startRun({ version: 1, steps: [{ id: 'a', run: sh('cat >/dev/null; echo done') }] });
    await rig.ended;
    expect(expectTruth(rig).result.steps[0]?.output?.text).toBe('done');
  });

  test('S105: a task of 8 MiB for a child that exits without reading it', async () => {
    const rig = startRun({
      version: 1,
      agents: { deaf: { adapter: 'command', command: sh('exit 7') } },
      steps: [
        { id: 'deaf', needs: [], agent: 'deaf', task: 'x'.repeat(8 * 1024 * 1024), template: false },
        { id: 'healthy', needs: [], run: sh('echo fine') },
      ],
    });
    await rig.ended;
    const { status } = expectTruth(rig);
    expect(status.steps.map((step) => [step.state, step.error?.detail?.['exitCode']])).toEqual([
      ['failed', 7],
      ['completed', undefined],
    ]);
  });

  test('S005 and S015: signals of a child reach its own group only, and are named', async () => {
    const rig = startRun({
      version: 1,
      steps: [
        { id: 'group', needs: [], run: ['bash', '-c', 'kill -TERM 0; sleep 5'] },
        { id: 'killed', needs: [], run: sh('echo partial; kill -9 $$') },
        { id: 'other', needs: [], run: sh('echo fine') },
      ],
    });
    await rig.ended;
    const { status, result } = expectTruth(rig);
    expect(status.steps.map((step) => [step.state, step.error?.code])).toEqual([
      ['failed', 'signal'],
      ['failed', 'signal'],
      ['completed', undefined],
    ]);
    expect(result.steps.map((step) => [step.attempts[0]?.exit, step.attempts[0]?.signal])).toEqual([
      [null, 'SIGTERM'],
      [null, 'SIGKILL'],
      [0, null],
    ]);
  });
});

const furnish = (root: string): void => {
  mkdirSync(join(root, 'folder'));
  writeFileSync(join(root, 'plain-file'), 'text', { mode: 0o644 });
};

describe('cannot be started', () => {
  test('each reason is told apart, and no process is claimed', async () => {
    const plan: PlanInput = {
      version: 1,
      limits: { concurrency: 8 },
      agents: { gone: { adapter: 'command', command: ['/nowhere/agent'] } },
      steps: [
        { id: 'missing', needs: [], run: ['/nowhere/program'] },
        { id: 'not-executable', needs: [], run: ['./plain-file'] },
        { id: 'too-long', needs: [], run: ['echo', 'x'.repeat(3 * 1024 * 1024)], template: false },
        { id: 'agent-missing', needs: [], agent: 'gone', task: 'x' },
        { id: 'remove', needs: [], run: ['rmdir', 'folder'] },
        { id: 'cwd-missing', needs: ['remove'], cwd: 'folder', run: ['true'] },
      ],
    };
    const rig = startRun(plan, { furnish });
    await rig.ended;
    const { status, records, result } = expectTruth(rig);
    const codes = Object.fromEntries(status.steps.map((step) => [step.id, step.error?.code ?? step.state]));
    expect(codes).toMatchObject({
      missing: 'command-missing',
      'not-executable': 'command-not-executable',
      'too-long': 'argument-list-too-long',
      'agent-missing': 'command-missing',
      'cwd-missing': 'cwd-missing',
    });
    expect(result.steps.find((step) => step.id === 'missing')?.attempts[0]).toMatchObject({ exit: null, signal: null });
    const startedSteps = records.flatMap((one) => (one.type === 'attempt.started' ? [one.step] : []));
    expect(startedSteps).toEqual(['remove']);
    expect(status.steps.find((step) => step.id === 'missing')?.proof).toBeUndefined();
  });

  test('nothing started at all: the proof says so', async () => {
    const rig = startRun({ version: 1, steps: [{ id: 'a', run: ['/nowhere/program'] }] });
    await rig.ended;
    expectTruth(rig);
    expect(JSON.parse(readFileSync(rig.dir.proof, 'utf8'))).toMatchObject({ verdict: 'not-started', launches: 0 });
  });
});

describe('is ended', () => {
  test('a stop while it runs: waiting steps never start, everything is gone before it says stopped', async () => {
    const rig = startRun({
      version: 1,
      limits: { concurrency: 2 },
      steps: [sleeper('a'), sleeper('b'), sleeper('c')].map((step) => ({ ...step, needs: [] })),
    });
    const pids = await Promise.all(
      ['a', 'b'].map(async (id) => (await rig.recorded('attempt.started', (one) => one.step === id)).pid),
    );
    rig.stop();
    expect(rig.runtime.status().state).toBe('stopping');
    expect(rig.answers).toEqual([expect.objectContaining({ verdict: 'applied' })]);
    const { outcome } = await rig.ended;
    const { status, records } = expectTruth(rig);
    expect(outcome).toMatchObject({ state: 'stopped', cause: { type: 'stop', source: 'test' } });
    expect(status.steps.map((step) => [step.state, step.attempt])).toEqual([
      ['stopped', 1],
      ['stopped', 1],
      ['stopped', 0],
    ]);
    expect(pids.filter(runs)).toEqual([]);
    const order = records.map((one) => one.type);
    expect(order.lastIndexOf('attempt.closed')).toBeLessThan(order.indexOf('run.settled'));
  });

  test('a second stop is applied to the same end; one after the end is refused by the run', async () => {
    const rig = startRun({ version: 1, steps: [sleeper('a')] });
    await rig.recorded('attempt.started');
    rig.stop();
    rig.stop();
    await rig.ended;
    expectTruth(rig);
    expect(rig.answers.map((one) => one.verdict)).toEqual(['applied', 'applied']);
    expect(rig.runtime.command({ id: 'late', type: 'stop', source: 'test' })).toBe(false);
  });

  test('a stop while a step is being prepared: no process is ever started', async () => {
    const rig = startRun({ version: 1, steps: [sleeper('a')] });
    rig.stop();
    const { outcome } = await rig.ended;
    const { records, status } = expectTruth(rig);
    expect(outcome.state).toBe('stopped');
    expect(records.some((one) => one.type === 'attempt.launching')).toBe(false);
    expect(status.steps[0]).toMatchObject({ state: 'stopped', attempt: 0 });
  });

  test('S006: who takes no notice of signals is killed, and nothing says stopped before', async () => {
    const rig = startRun({
      version: 1,
      agents: {
        deaf: {
          adapter: 'command',
          command: sh(`trap '' INT TERM; echo up; while :; do date +%s%3N >> ticks; sleep 0.05; done`),
          stop: [
            { do: 'SIGTERM', grace: 200 },
            { do: 'SIGKILL', grace: 500 },
          ],
        },
      },
      steps: [{ id: 'a', agent: 'deaf', task: 'x' }],
    });
    const ticks = join(rig.root, 'ticks');
    await expect.poll(() => existsSync(ticks)).toBe(true);
    rig.stop();
    await rig.ended;
    const { records, status } = expectTruth(rig);
    expect(status.steps[0]).toMatchObject({ state: 'stopped', proof: { verdict: 'gone' } });
    expect(proofSignals(rig.dir.attempt('a', 1).proof)).toEqual(['SIGTERM', 'SIGKILL']);
    const settledAt = Date.parse(records.find((one) => one.type === 'run.settled')?.ts ?? '');
    const lastTick = Number(readFileSync(ticks, 'utf8').trim().split('\n').at(-1));
    expect(lastTick).toBeLessThanOrEqual(settledAt);
  });

  test('S026: who uses its grace is not killed', async () => {
    const script = `trap 'sleep 0.3; echo bye > bye.txt; exit 0' TERM; echo up > up; sleep 60 & wait`;
    const rig = startRun({ version: 1, steps: [{ id: 'a', run: ['bash', '-c', script] }] });
    await expect.poll(() => existsSync(join(rig.root, 'up'))).toBe(true);
    rig.stop();
    const { outcome } = await rig.ended;
    expectTruth(rig);
    expect(outcome.state).toBe('stopped');
    expect(readFileSync(join(rig.root, 'bye.txt'), 'utf8')).toBe('bye\n');
    expect(proofSignals(rig.dir.attempt('a', 1).proof)).toEqual(['SIGTERM']);
  });

  test('a frozen child is ended (S009, the half below the command line)', async () => {
    const agents = await fakeAgents();
    const rig = startRun({
      version: 1,
      agents: { fake: definition(agents.settings()) },
      steps: [{ id: 'a', agent: 'fake', task: 'work' }],
    });
    const agent = await agents.next();
    await agent.freeze();
    rig.stop();
    await rig.recorded('run.stopping');
    rig.runtime.killNow();
    const { outcome } = await rig.ended;
    expectTruth(rig);
    expect(outcome.state).toBe('stopped');
    await agent.gone();
  });

  test('the limit of the run, and within it the limit of a step', async () => {
    const run = startRun({ version: 1, limits: { timeout: '300ms' }, steps: [sleeper('a'), sleeper('b', ['a'])] });
    const step = startRun({
      version: 1,
      steps: [
        { ...sleeper('a'), timeout: '200ms' },
        { id: 'b', needs: [], run: sh('echo fine') },
      ],
    });
    expect((await run.ended).outcome).toMatchObject({ state: 'failed', cause: { type: 'run-deadline', limitMs: 300 } });
    expect(expectTruth(run).status.steps.map((one) => [one.state, one.cause?.type])).toEqual([
      ['failed', 'run-deadline'],
      ['skipped', 'run-deadline'],
    ]);
    expect((await step.ended).outcome).toMatchObject({ state: 'failed', partial: true, cause: { type: 'step-limit' } });
    expect(expectTruth(step).status.steps.map((one) => one.state)).toEqual(['failed', 'completed']);
  });

  test('S022: a limit on a child that takes no notice of TERM is kept by SIGKILL', async () => {
    const stop = [
      { do: 'SIGTERM' as const, grace: 300 },
      { do: 'SIGKILL' as const, grace: 500 },
    ];
    const rig = startRun({
      version: 1,
      agents: { deaf: { adapter: 'command', command: sh(`trap '' TERM; exec sleep 60`), stop } },
      steps: [{ id: 'a', agent: 'deaf', task: 'x', timeout: '300ms' }],
    });
    await rig.ended;
    const { status, records, result } = expectTruth(rig);
    expect(status.steps[0]).toMatchObject({ state: 'failed', cause: { type: 'step-limit' } });
    expect(result.steps[0]?.attempts[0]).toMatchObject({ exit: null, signal: 'SIGKILL' });
    const at = (type: string): number => Date.parse(records.find((one) => one.type === type)?.ts ?? '');
    expect(at('step.settled') - at('step.started')).toBeLessThan(1_500);
  });

  test('a signal to the runner ends the run as stopped, with that cause', async () => {
    const rig = startRun({ version: 1, steps: [sleeper('a')] });
    await rig.recorded('attempt.started');
    rig.runtime.end({ type: 'runner-signal', at: new Date().toISOString(), signal: 'SIGHUP' });
    const { outcome } = await rig.ended;
    expectTruth(rig);
    expect(outcome).toMatchObject({ state: 'stopped', cause: { type: 'runner-signal', signal: 'SIGHUP' } });
  });

  test('a fault outside the machines ends the run as crashed, in good order', async () => {
    const rig = startRun({ version: 1, steps: [sleeper('a')] });
    await rig.recorded('attempt.started');
    rig.runtime.fault(new Error('the host has failed'));
    const { outcome } = await rig.ended;
    expectTruth(rig);
    expect(outcome).toMatchObject({
      state: 'failed',
      cause: { type: 'runner-crashed', message: 'Error: the host has failed' },
    });
  });
});

describe('leftovers', () => {
  test('in the group, in sessions of their own, in jobs: all are found, named and ended', async () => {
    const rig = startRun({
      version: 1,
      steps: [
        { id: 'group', needs: [], run: sh('sleep 600 >/dev/null 2>&1 & echo done') },
        { id: 'session', needs: [], run: sh('setsid sleep 600 >/dev/null 2>&1 </dev/null & echo done') },
        { id: 'job', needs: [], run: ['bash', '-c', 'set -m; sleep 600 >/dev/null 2>&1 & echo done'] },
      ],
    });
    const { outcome } = await rig.ended;
    const { status } = expectTruth(rig);
    expect(outcome.state).toBe('completed');
    expect(status.steps.map((step) => [step.state, step.proof?.verdict, step.proof?.leftovers])).toEqual([
      ['completed', 'gone', 1],
      ['completed', 'gone', 1],
      ['completed', 'gone', 1],
    ]);
  });
});

function proofSignals(path: string): string[] {
  const proof = JSON.parse(readFileSync(path, 'utf8')) as { signals: { rung: string }[] };
  return proof.signals.map((one) => one.rung);
}
