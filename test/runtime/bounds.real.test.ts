import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { AnyActorRef, InspectionEvent } from 'xstate';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { MAX_LIVE } from '../../machines/policy/schedule.ts';
import { runDir } from '../../src/record/index.ts';
import { Runtime, ownerOfThisProcess } from '../../src/runtime/run.ts';
import { makeRun, testEnv } from '../support/kit.ts';
import { expectTruth, readRecord } from '../support/truth.ts';
import { startRun } from './rig.ts';

async function heap(collect: () => void): Promise<number> {
  // What is let go by callbacks that are still to run goes too.
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
  collect();
  return process.memoryUsage().heapUsed;
}

async function shortRuns(count: number): Promise<void> {
  for (let i = 0; i < count; i += 1) {
    const { dir, plan, remove } = makeRun({ version: 1, steps: [{ id: 'a', run: ['true'] }] });
    const runtime = new Runtime({
      plan,
      dir,
      owner: ownerOfThisProcess(),
      epoch: 1,
      env: testEnv,
      answer: () => {},
      closeInbox: async () => {},
    });
    runtime.start();
    await runtime.done;
    remove();
  }
}

describe('S096: nothing grows with what has ended', () => {
  test('the actors under a run are as many as its slots, however many steps it has had', async () => {
    const CONCURRENCY = 8;
    const steps = Array.from({ length: 160 }, (_, i) => ({ id: `s${i}`, needs: [], run: ['true'] }));
    let most = 0;
    const rig = startRun({ version: 1, limits: { concurrency: CONCURRENCY }, steps });
    rig.inspector.listeners.push((event) => {
      if (event.type === '@xstate.snapshot') {
        most = Math.max(most, Object.keys(rig.runtime.snapshot.children).length);
      }
    });
    const { outcome } = await rig.ended;
    const failed = rig.runtime.status().steps.filter((step) => step.state !== 'completed');
    expect(failed).toEqual([]);
    expect(outcome.state).toBe('completed');
    expectTruth(rig);
    // Beside the slots there are steps that are still looking for what is left, and the run's own two.
    expect(most).toBeLessThanOrEqual(MAX_LIVE + 2);
    expect(rig.runtime.kit.table.watched()).toEqual([]);
    expect(rig.runtime.kit.prepared.size).toBe(0);
  });

  test('runs that have ended leave no memory behind', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    await shortRuns(10);
    const before = await heap(collect);
    await shortRuns(25);
    const kept = (await heap(collect)) - before;
    // A run of one step holds about 100 KB while it lives.
    expect(kept / 25).toBeLessThan(20_000);
  });
});

test('S098: an event after the end, whatever it holds, is ignored and counted', async () => {
  vi.spyOn(console, 'warn').mockImplementation(() => {});
  onTestFinished(() => void vi.restoreAllMocks());
  const actors = new Map<string, AnyActorRef>();
  const rig = startRun({ version: 1, steps: [{ id: 'a', run: ['true'] }] });
  rig.inspector.listeners.push((event: InspectionEvent) => {
    if (event.type === '@xstate.event') actors.set(nameOf(event.actorRef), event.actorRef as AnyActorRef);
  });
  await rig.ended;
  const { status } = expectTruth(rig);
  const before = structuredClone(readRecord(rig.dir));
  const cycle: Record<string, unknown> = { big: 10n };
  cycle['itself'] = cycle;
  const targets = ['step:a', 'attempt', 'child', 'termination', 'finalize'].flatMap((name) => actors.get(name) ?? []);
  expect(targets).toHaveLength(5);
  for (const actor of targets) actor.send({ type: 'child.usage', at: '', usage: cycle });
  expect(rig.inspector.deadLetters).toHaveLength(targets.length);
  expect(rig.runtime.status().state).toBe(status.state);
  expect(readRecord(rig.dir)).toEqual(before);
});

const nameOf = (actor: object): string => ('id' in actor ? String(actor.id) : '');

describe('S094: with the development build of the state machines as with the other', () => {
  const run = promisify(execFile);
  const main = join(import.meta.dirname, '../../dist/src/cli/main.js');
  const plans = {
    chain: {
      code: 0,
      plan: {
        version: 1,
        steps: [
          { id: 'a', run: ['echo', 'hello'] },
          { id: 'b', run: ['echo', 'got {{ steps.a.output }}'] },
        ],
      },
    },
    failing: {
      code: 1,
      plan: {
        version: 1,
        steps: [
          { id: 'a', needs: [], run: ['sh', '-c', 'exit 3'] },
          { id: 'b', needs: [], run: ['true'] },
        ],
      },
    },
    limited: {
      code: 1,
      plan: { version: 1, limits: { timeout: '200ms' }, steps: [{ id: 'a', run: ['sleep', '600'] }] },
    },
  };

  test.each(Object.entries(plans))('the command line runs a plan: %s', async (name, { plan, code }) => {
    const folder = mkdtempSync(join(tmpdir(), 'coxswain-dev-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, 'plan.json');
    writeFileSync(file, JSON.stringify(plan));
    const root = join(folder, 'root');
    const args = ['--conditions=development', main, 'run', file, '--root', root, '--id', name, '--json'];
    const { stderr, exit } = await run(process.execPath, args, { cwd: folder }).then(
      (output) => ({ stderr: output.stderr, exit: 0 }),
      (error: { stderr: string; code: number }) => ({ stderr: error.stderr, exit: error.code }),
    );
    expect({ exit, stderr }).toEqual({ exit: code, stderr: '' });
    expectTruth({ dir: runDir(root, name) });
  });
});
