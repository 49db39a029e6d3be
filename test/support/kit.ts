import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AttemptInput, JournalBody } from '../../machines/index.ts';
import { type AgentAdapter, createClientVersions, createRegistry } from '../../src/agents/index.ts';
import { Leases } from '../../src/host/index.ts';
import { nestOfTop } from '../../src/nest/index.ts';
import { type PlanInput, type ResolvedPlan, resolvePlan } from '../../src/plan/index.ts';
import { type Sweeper, createLauncher, createSweeper, newToken } from '../../src/process/index.ts';
import { type RunDir, addActive, createRedactor, createRunDir, openJournal } from '../../src/record/index.ts';
import { keepProof } from '../../src/runtime/keep.ts';
import { type Kit, now } from '../../src/runtime/kit.ts';
import { ownerOfThisProcess } from '../../src/runtime/run.ts';
import { Texts } from '../../src/runtime/texts.ts';
import { Outputs } from '../../src/runtime/outputs.ts';
import { ProcessTable } from '../../src/runtime/table.ts';

/** The environment of this process, without its holes. */
export const testEnv: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(process.env).flatMap(([name, value]) => (value === undefined ? [] : [[name, value] as const])),
);

/** Resolves a plan whose folder is `cwd`; throws with all its mistakes. */
export function planFor(plan: PlanInput, cwd: string): ResolvedPlan {
  const loaded = resolvePlan(plan, { agents: createRegistry({}, { env: testEnv }).names(), cwd });
  if (loaded.type === 'invalid') throw new Error(JSON.stringify(loaded.errors));
  return loaded.plan;
}

/** A state root of its own with one run directory, as the owner of a run finds it. The root is the plan's folder too. */
export function makeRun(
  plan: PlanInput,
  furnish: (root: string) => void = () => {},
): { root: string; dir: RunDir; plan: ResolvedPlan; remove: () => void } {
  const root = mkdtempSync(join(tmpdir(), 'coxswain-run-'));
  furnish(root);
  const resolved = planFor(plan, root);
  const made = createRunDir(root, 'r1', resolved);
  if (made.type !== 'ok') throw new Error(`no run directory: ${made.type}`);
  addActive(made.dir);
  return { root, dir: made.dir, plan: resolved, remove: () => rmSync(root, { recursive: true, force: true }) };
}

export interface TestKit extends Kit {
  /** What callbacks of the outside world have thrown. */
  readonly faults: unknown[];
  /** Makes a step ready to be launched; resolves with its token. */
  prepare(step: string, adapter?: (real: AgentAdapter) => AgentAdapter): Promise<string>;
  /** Ends everything that was launched and removes the run directory. */
  dispose(): Promise<void>;
}

/** What the ports of a run share, over a real run directory: for tests of one port or one machine. */
export function makeKit(plan: PlanInput, sweeper: (real: Sweeper) => Sweeper = (real) => real): TestKit {
  const run = makeRun(plan);
  const { dir } = run;
  const journal = openJournal(dir.journal, { epoch: 1, firstSeq: 1 });
  const registry = createRegistry(run.plan.agents, { env: testEnv });
  const real = createSweeper({ now: () => performance.now() });
  // The last resort looks with its own eyes, whatever a test puts before the machine's.
  const table = new ProcessTable(real);
  const faults: unknown[] = [];
  const steps = new Map(run.plan.steps.map((step) => [step.id, step]));
  const kit: TestKit = {
    runId: dir.id,
    plan: run.plan,
    step(id) {
      const step = steps.get(id);
      if (step === undefined) throw new Error(`no step ${id}`);
      return step;
    },
    dir,
    nest: nestOfTop({ root: dir.root, id: dir.id, instance: 'test', limits: run.plan.limits.nested }),
    journal,
    registry,
    versions: createClientVersions(testEnv),
    env: testEnv,
    redact: createRedactor(testEnv),
    table,
    sweeper: sweeper(real),
    leases: new Leases({ root: dir.root, run: dir.id, owner: ownerOfThisProcess() }),
    launcher: createLauncher({ onLost: (error) => void faults.push(error) }),
    prepared: new Map(),
    checks: new Map(),
    outputs: new Outputs(),
    texts: new Texts(),
    now,
    record: (body: JournalBody) => void journal.append(body),
    keepProof: (kept) => keepProof(kit, kept),
    touch: () => {},
    guard:
      (callback) =>
      (...args) => {
        try {
          callback(...args);
        } catch (error) {
          faults.push(error);
        }
      },
    faults,
    async prepare(id, adapter = (same) => same) {
      const step = kit.step(id);
      const found = await registry.resolve(step.agent, step.run === null ? 'task' : 'run');
      if (found.type !== 'agent') throw new Error(found.message);
      const agent = { ...found.agent, adapter: adapter(found.agent.adapter) };
      const token = newToken();
      kit.prepared.set(id, {
        agent,
        version: null,
        step,
        texts: { task: step.task, run: step.run, env: step.env },
        token,
        container: null,
      });
      return token;
    },
    async dispose() {
      const left = await table.endAll();
      journal.close();
      run.remove();
      if (left.length > 0)
        throw new Error(
          `not proven gone: ${JSON.stringify(left.map(({ target, verdict, members }) => ({ target, verdict, members })))}`,
        );
    },
  };
  return kit;
}

/** The input of a first attempt at step `a` without limits, but for what the test says. */
export const attemptInput = (given: Partial<AttemptInput> & Pick<AttemptInput, 'at'>): AttemptInput => ({
  step: 'a',
  n: 1,
  token: 't',
  agent: 'fake',
  model: null,
  ladder: [],
  limits: { attemptMs: null, firstOutputMs: null, stall: null, toolMs: null },
  leftovers: 'end',
  delivery: 'auto',
  resumes: false,
  listens: true,
  deadlineAt: null,
  session: null,
  expects: null,
  repair: null,
  ...given,
});

/** A pipe with a name. */
export const makeFifo = (path: string): void => void execFileSync('sh', ['-c', 'mkfifo "$1"', 'sh', path]);

export interface Deferred {
  promise: Promise<void>;
  resolve: () => void;
}

/** A promise to be settled from outside: a gate. */
export function deferred(): Deferred {
  let resolve: (() => void) | null = null;
  const promise = new Promise<void>((done) => (resolve = done));
  return { promise, resolve: () => resolve?.() };
}
