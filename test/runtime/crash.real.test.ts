import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { assign } from 'xstate';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { RunOutput } from '../../machines/index.ts';
import { type AgentAdapter, type Registry } from '../../src/agents/index.ts';
import type { PlanInput } from '../../src/plan/index.ts';
import { type JournalFiles, createStatusFile, openJournal, writeText } from '../../src/record/index.ts';
import { journalFiles } from '../../src/record/journal.ts';
import { type Machines, realMachines } from '../../src/runtime/wire.ts';
import { type OnDisk, expectNobodyLeft, expectTruth, runs } from '../support/truth.ts';
import { deferred } from '../support/kit.ts';
import { type Rig, sleeper, startRun } from './rig.ts';

/**
 * Must show 5, in this process: whatever fails, every child is gone, and the record says that the runner has crashed.
 * The faults are on purpose, in one action or one callback each.
 */

const BUG = 'a bug on purpose';
const throws = (): never => {
  throw new Error(BUG);
};

// What is below a crashed actor goes on and writes to it; XState's development build complains of each such letter.
beforeEach(() => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  return () => warn.mockRestore();
});

/** The machines as they are, but for one action of one of them. */
function withBug(machine: keyof Machines, action: string, bug: () => void = throws): Machines {
  return { ...realMachines, [machine]: realMachines[machine].provide({ actions: { [action]: bug } }) };
}

/** Two that need work to end: one takes no notice of TERM and has a child in a session of its own. */
const PLAN: PlanInput = {
  version: 1,
  agents: {
    stubborn: {
      adapter: 'command',
      command: ['sh', '-c', `trap '' TERM; setsid sleep 600 & echo up > up; sleep 600`],
      stop: [
        { do: 'SIGTERM', grace: 200 },
        { do: 'SIGKILL', grace: 500 },
      ],
    },
  },
  steps: [
    { id: 'stubborn', needs: [], agent: 'stubborn', task: 'x' },
    { ...sleeper('plain'), needs: [] },
    sleeper('later', ['plain']),
  ],
};

/** All of them are running. */
async function underWay(rig: Rig): Promise<number[]> {
  const started = ['stubborn', 'plain'].map((id) => rig.recorded('attempt.started', (one) => one.step === id));
  const pids = (await Promise.all(started)).map((one) => one.pid);
  await expect.poll(() => existsSync(join(rig.root, 'up'))).toBe(true);
  return pids;
}

/** What has to be true after a crash of the runner. */
function expectCrashed(rig: Rig, output: RunOutput, message = BUG): OnDisk {
  const record = expectTruth({ dir: rig.dir });
  expect(output).toMatchObject({ recorded: true, outcome: { state: 'failed', cause: { type: 'runner-crashed' } } });
  expect(record.status).toMatchObject({ state: 'failed', cause: { type: 'runner-crashed' } });
  expect(JSON.stringify(record.status.cause)).toContain(message);
  expect(record.report).toContain(message);
  // Every process that was started is accounted for.
  expect(JSON.parse(readFileSync(rig.dir.proof, 'utf8'))).toMatchObject({ launches: rig.runtime.kit.table.launches });
  expect(record.status.steps.map((step) => step.state)).not.toContain('running');
  return record;
}

describe('an action throws', () => {
  test.each([
    ['run', 'latch'],
    ['step', 'endAttempt'],
    ['attempt', 'latch'],
    ['termination', 'ask'],
    ['termination', 'noteSignal'],
  ] as const)('in %s: %s, while the run is being stopped', async (machine, action) => {
    const rig = startRun(PLAN, { machines: withBug(machine, action) });
    const pids = await underWay(rig);
    rig.stop();
    const output = await rig.ended;
    const { status } = expectCrashed(rig, output);
    expect(pids.filter(runs)).toEqual([]);
    expect(status.steps.map((step) => [step.state, step.proof?.verdict])).toEqual([
      ['failed', 'gone'],
      ['failed', 'gone'],
      // The stop had reached it, unless it was the stop that failed.
      [machine === 'run' ? 'skipped' : 'stopped', undefined],
    ]);
  });

  test.each([
    ['run', 'begin'],
    ['run', 'recordStarted'],
    ['run', 'startSteps'],
    ['step', 'recordStarted'],
    ['step', 'noteReady'],
    ['attempt', 'noteStarted'],
    ['attempt', 'recordStarted'],
  ] as const)('in %s: %s, at the start', async (machine, action) => {
    const rig = startRun(PLAN, { machines: withBug(machine, action) });
    const { status } = expectCrashed(rig, await rig.ended);
    // A process that was started is proven gone, also when there was no time to journal its start.
    const { launches } = rig.runtime.kit.table;
    expect(status.steps.filter((step) => step.proof?.verdict === 'gone')).toHaveLength(launches);
  });

  test.each([
    ['run', 'settleStep'],
    ['step', 'noteAttempt'],
    ['attempt', 'noteExit'],
    ['attempt', 'noteDrained'],
    ['attempt', 'noteProof'],
    ['attempt', 'recordClosed'],
    ['termination', 'noteClean'],
  ] as const)('in %s: %s, when a step ends beside another', async (machine, action) => {
    const steps = [
      { id: 'short', needs: [], run: ['sh', '-c', 'until [ -e go ]; do sleep 0.01; done'] },
      { ...sleeper('long'), needs: [] },
    ];
    const rig = startRun({ version: 1, steps }, { machines: withBug(machine, action) });
    const { pid } = await rig.recorded('attempt.started', (one) => one.step === 'long');
    writeFileSync(join(rig.root, 'go'), '');
    const { status } = expectCrashed(rig, await rig.ended);
    expect(runs(pid)).toBe(false);
    expect(status.steps.find((step) => step.id === 'long')).toMatchObject({
      state: 'failed',
      proof: { verdict: 'gone' },
    });
  });

  // trees, inbox, settle, result, status, announce, report, release
  test.each([1, 2, 3, 4, 5, 6, 7, 8])('in finalize: noteLine, after line %i', async (line) => {
    let lines = 0;
    const noteLine = assign(({ event }: { event: { output?: { at: string } } }) => {
      lines += 1;
      return lines === line ? throws() : { at: event.output?.at };
    });
    const finalize = realMachines.finalize.provide({ actions: { noteLine: noteLine as never } });
    const machines: Machines = { ...realMachines, finalize };
    const rig = startRun({ version: 1, steps: [{ id: 'a', run: ['true'] }] }, { machines });
    const output = await rig.ended;
    const { status, records } = expectTruth({ dir: rig.dir });
    // What is settled stays settled; before that the crash is the end.
    const settledFirst = line >= 3;
    expect(output.outcome.cause.type).toBe(settledFirst ? 'completed' : 'runner-crashed');
    expect(status.state).toBe(settledFirst ? 'completed' : 'failed');
    expect(records.filter((one) => one.type === 'run.completed')).toHaveLength(1);
  });
});

/** What an agent's adapter does wrong. */
function withAdapter(registry: Registry, change: (real: AgentAdapter) => AgentAdapter): void {
  const resolve = registry.resolve.bind(registry);
  registry.resolve = async (name, use) => {
    const found = await resolve(name, use);
    if (found.type !== 'agent') return found;
    return { type: 'agent', agent: { ...found.agent, adapter: change(found.agent.adapter) } };
  };
}

describe('a callback throws', () => {
  test('in a port, when bytes come from a child: beside others that run', async () => {
    const rig = startRun(
      {
        version: 1,
        steps: [
          { ...sleeper('long'), needs: [] },
          { id: 'talker', needs: [], run: ['sh', '-c', 'until [ -e go ]; do sleep 0.01; done; echo hello; sleep 600'] },
        ],
      },
      {
        before: (runtime) =>
          withAdapter(runtime.kit.registry, (real) => ({
            ...real,
            open: (request) => ({ ...real.open(request), push: throws }),
          })),
      },
    );
    const pids = await Promise.all(
      ['long', 'talker'].map(async (id) => (await rig.recorded('attempt.started', (one) => one.step === id)).pid),
    );
    writeFileSync(join(rig.root, 'go'), '');
    expectCrashed(rig, await rig.ended);
    expect(pids.filter(runs)).toEqual([]);
  });

  test('in a search for what is left', async () => {
    const rig = startRun(PLAN, {
      before: ({ kit }) => {
        const look = kit.sweeper.look.bind(kit.sweeper);
        let looks = 0;
        kit.sweeper.look = async (target) => ((looks += 1) === 1 ? throws() : look(target));
      },
    });
    const pids = await underWay(rig);
    rig.stop();
    expectCrashed(rig, await rig.ended);
    expect(pids.filter(runs)).toEqual([]);
  });

  test.each(['launch', 'open'] as const)('in a port, when it is started: %s', async (name) => {
    const rig = startRun(
      { version: 1, steps: [{ id: 'a', run: ['true'] }] },
      { before: (runtime) => withAdapter(runtime.kit.registry, (real) => ({ ...real, [name]: throws })) },
    );
    const { status } = expectCrashed(rig, await rig.ended);
    expect(status.steps[0]?.proof).toBeUndefined();
  });

  test('in the preparation of a step', async () => {
    const rig = startRun(
      { version: 1, steps: [{ id: 'a', run: ['true'] }] },
      { before: (runtime) => void (runtime.kit.registry.resolve = async () => throws()) },
    );
    const { status } = expectCrashed(rig, await rig.ended);
    expect(status.steps[0]).toMatchObject({ state: 'failed', attempt: 0 });
  });

  test('S097: what was thrown is on record with name, message, code and cause', async () => {
    const error = Object.assign(new RangeError('too far', { cause: new TypeError('no such pier') }), {
      code: 'EPIER',
    });
    const machines = withBug('step', 'noteReady', () => {
      throw error;
    });
    const rig = startRun({ version: 1, steps: [{ id: 'a', run: ['true'] }] }, { machines });
    const words = 'RangeError: too far (EPIER); caused by TypeError: no such pier';
    const { records } = expectCrashed(rig, await rig.ended, words);
    expect(records.find((one) => one.type === 'run.settled')?.cause).toMatchObject({ message: words });
  });

  test('what it says of itself is redacted', async () => {
    const secret = 'hunter2-hunter2';
    const rig = startRun(
      { version: 1, steps: [{ id: 'a', run: ['true'] }] },
      {
        env: { PATH: process.env['PATH'] ?? '', SOME_API_KEY: secret },
        machines: withBug('step', 'noteReady', () => {
          throw new Error(`cannot use ${secret}`);
        }),
      },
    );
    const { status } = expectCrashed(rig, await rig.ended, 'cannot use');
    expect(JSON.stringify(status)).not.toContain(secret);
  });
});

/** Its waits are short; its patience is counted in what they would have been. */
const hasty: Machines = {
  ...realMachines,
  finalize: realMachines.finalize.provide({ delays: { backOff: 5 } }),
};

const noSpace = (): never => {
  throw Object.assign(new Error('ENOSPC: no space left on device'), { code: 'ENOSPC' });
};

/** A disk that is full while `full` says so, for journal and status. */
function disk(full: () => boolean) {
  const files: JournalFiles = {
    ...journalFiles,
    write: (...args) => (full() ? noSpace() : journalFiles.write(...args)),
  };
  return (dir: { journal: string; status: string }) => ({
    journal: openJournal(dir.journal, { epoch: 1, firstSeq: 1, files }),
    statusFile: createStatusFile(dir.status, {
      retryMs: 10,
      replace: async (path, text) => {
        if (full()) noSpace();
        const written = await writeText(path, text);
        if (written.type === 'trouble') throw new Error(written.message);
      },
    }),
  });
}

describe('the disk is full', () => {
  test('for a while: children are ended on time, and the end is on record once there is room', async () => {
    let full = false;
    const rig = startRun(PLAN, { machines: hasty, options: disk(() => full) });
    const pids = await underWay(rig);
    full = true;
    rig.stop();
    await rig.recorded('persistence.degraded');
    expect(pids.filter(runs)).toEqual([]);
    expect(rig.runtime.status()).toMatchObject({ state: 'finalizing', persistence: 'degraded' });
    full = false;
    const output = await rig.ended;
    expect(output).toMatchObject({ recorded: true, outcome: { state: 'stopped' } });
    const { records, status } = expectTruth({ dir: rig.dir, runtime: rig.runtime });
    expect(records.map((one) => one.type)).toContain('persistence.restored');
    expect(status.persistence).toBeUndefined();
  });

  test('for good: children are ended, and nothing claims an end', async () => {
    let full = false;
    const rig = startRun(PLAN, { machines: hasty, options: disk(() => full) });
    const pids = await underWay(rig);
    full = true;
    rig.stop();
    const output = await rig.ended;
    expect(output.recorded).toBe(false);
    expect(pids.filter(runs)).toEqual([]);
    expectNobodyLeft(rig.records);
    expect(existsSync(rig.dir.result)).toBe(false);
    expect(readFileSync(rig.dir.journal, 'utf8')).not.toContain('run.settled');
    expect(existsSync(rig.dir.activeMarker)).toBe(true);
  });

  test('at the start: what is not on record is not started', async () => {
    let full = true;
    const rig = startRun(
      { version: 1, steps: [{ id: 'a', run: ['touch', 'was-started'] }] },
      { machines: hasty, options: disk(() => full) },
    );
    await rig.recorded('persistence.degraded');
    full = false;
    await rig.ended;
    const { status } = expectTruth({ dir: rig.dir, runtime: rig.runtime });
    expect(status.steps[0]).toMatchObject({ state: 'failed', error: { code: 'resources-exhausted' } });
    expect(existsSync(join(rig.root, 'was-started'))).toBe(false);
  });
});

test('the run directory is removed while it runs: children are ended, and the run ends', async () => {
  const rig = startRun(PLAN, { machines: hasty });
  const pids = await underWay(rig);
  rmSync(rig.dir.path, { recursive: true });
  rig.stop();
  await rig.ended;
  expectNobodyLeft(rig.records);
  expect(pids.filter(runs)).toEqual([]);
});

test('a step that was being prepared when the machines crashed starts nothing any more', async () => {
  const [asked, gate, prepared] = [deferred(), deferred(), deferred()];
  const rig = startRun(PLAN, {
    machines: withBug('run', 'latch'),
    before: ({ kit }) => {
      const resolve = kit.registry.resolve.bind(kit.registry);
      const set = kit.prepared.set.bind(kit.prepared);
      const slowly: Registry['resolve'] = async (...args) => {
        asked.resolve();
        await gate.promise;
        return resolve(...args);
      };
      const noticed: typeof set = (...args) => {
        prepared.resolve();
        return set(...args);
      };
      Object.assign(kit.registry, { resolve: slowly });
      Object.assign(kit.prepared, { set: noticed });
    },
  });
  await asked.promise;
  rig.stop();
  expectCrashed(rig, await rig.ended);
  gate.resolve();
  // What is below the machines that have crashed goes on: it comes as far as the launch, and not further.
  await prepared.promise;
  await turn();
  await turn();
  expect(rig.runtime.kit.table.launches).toBe(0);
});

test('what makes the record of a crash fails too: children are ended, and the run ends unrecorded', async () => {
  const rig = startRun(PLAN);
  const pids = await underWay(rig);
  Object.assign(rig.runtime.kit, { redact: throws });
  rig.runtime.crash(new Error(BUG));
  expect(await rig.ended).toMatchObject({ recorded: false, outcome: { state: 'failed' } });
  expectNobodyLeft(rig.records);
  expect(pids.filter(runs)).toEqual([]);
});
