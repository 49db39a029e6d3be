import { readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import type { RunOutput } from '../../machines/index.ts';
import type { Answer, JournalRecord, Proof } from '../../machines/protocol.ts';
import type { AgentSettings } from '../../src/agents/index.ts';
import type { PlanInput } from '../../src/plan/index.ts';
import { claimOwner, type RunDir } from '../../src/record/index.ts';
import { Runtime, type RuntimeOptions, ownerOfThisProcess } from '../../src/runtime/run.ts';
import { type FakeAgents, startFakeAgents } from '../../src/testing/fake-agent/index.ts';
import { Inspector } from '../support/inspector.ts';
import { makeRun, testEnv } from '../support/kit.ts';

/** A run in this process, without bus and inbox: its supervisor, its record, and everything that its actors did. */
export interface Rig {
  runtime: Runtime;
  dir: RunDir;
  root: string;
  inspector: Inspector;
  answers: Answer[];
  /** What has been journaled so far. */
  records: readonly JournalRecord[];
  /** Resolves with the first record, now or to come, that matches. */
  recorded<T extends JournalRecord['type']>(
    type: T,
    matches?: (record: JournalRecord & { type: T }) => boolean,
  ): Promise<JournalRecord & { type: T }>;
  /** Sends a stop. */
  stop(): void;
  /** Moves the deadline of the run, or the limit of a step; whether that was applied. */
  extend(limitMs: number, step?: string): boolean;
  ended: Promise<RunOutput>;
}

export type RigOptions = Partial<Pick<RuntimeOptions, 'machines' | 'journal' | 'statusFile' | 'closeInbox' | 'env'>> & {
  /** Makes what needs the run directory. */
  options?: (dir: RunDir) => Partial<RuntimeOptions>;
  /** Before it starts. */
  before?: (runtime: Runtime) => void;
  /** Puts something into the plan's folder first. */
  furnish?: (root: string) => void;
};

/** Starts a plan. The run is ended and its folder removed after the test. */
export function startRun(plan: PlanInput, { options, before, furnish, ...given }: RigOptions = {}): Rig {
  const run = makeRun(plan, furnish);
  const inspector = new Inspector();
  const answers: Answer[] = [];
  const owner = ownerOfThisProcess();
  claimOwner(run.dir, 1, owner);
  const runtime = new Runtime({
    plan: run.plan,
    dir: run.dir,
    owner,
    epoch: 1,
    env: testEnv,
    answer: (answer) => void answers.push(answer),
    closeInbox: async () => {},
    inspect: inspector.inspect,
    ...given,
    ...options?.(run.dir),
  });
  const records: JournalRecord[] = [];
  const listeners = new Set<(record: JournalRecord) => void>();
  runtime.journal.onAppend((record) => {
    records.push(record);
    for (const listener of listeners) listener(record);
  });
  onTestFinished(async () => {
    runtime.killNow();
    await runtime.kit.table.endAll();
    run.remove();
  });
  before?.(runtime);
  runtime.start();
  return {
    runtime,
    dir: run.dir,
    root: run.root,
    inspector,
    answers,
    records,
    recorded: (type, matches = () => true) => {
      type Wanted = JournalRecord & { type: typeof type };
      const wanted = (record: JournalRecord): record is Wanted => record.type === type && matches(record as Wanted);
      const found = records.find(wanted);
      if (found !== undefined) return Promise.resolve(found);
      return new Promise((resolve) => {
        const listener = (record: JournalRecord): void => {
          if (!wanted(record)) return;
          listeners.delete(listener);
          resolve(record);
        };
        listeners.add(listener);
      });
    },
    stop: () => void runtime.command({ id: `stop-${answers.length}`, type: 'stop', source: 'test' }),
    extend: (limitMs, step) => {
      const deadlineAt = new Date(Date.now() + limitMs).toISOString();
      const id = `extend-${answers.length}`;
      const ofStep = step === undefined ? {} : { step };
      runtime.command({ type: 'extend', id, source: 'test', deadlineAt, limitMs, ...ofStep });
      return answers.findLast((answer) => answer.id === id)?.verdict === 'applied';
    },
    ended: runtime.done,
  };
}

/** Fake agents for one test. */
export async function fakeAgents(): Promise<FakeAgents> {
  const agents = await startFakeAgents();
  onTestFinished(() => agents.dispose());
  return agents;
}

/** As a plan defines it. */
export function definition<T extends Pick<AgentSettings, 'name'>>(settings: T): Omit<T, 'name'> {
  const { name, ...rest } = settings;
  return name === '' ? settings : rest;
}

/** What the whole proof of an attempt says; kept in a file of its own. */
export const proofOf = (rig: Rig, step = 'a', n = 1): Proof =>
  JSON.parse(readFileSync(rig.dir.attempt(step, n).proof, 'utf8')) as Proof;

/** A command step that goes on until somebody ends it. */
export const sleeper = (id: string, needs: string[] = []) => ({ id, needs, run: ['sleep', '600'] });
