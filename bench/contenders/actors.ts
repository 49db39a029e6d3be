import { performance } from 'node:perf_hooks';
import { createActor, fromCallback, fromPromise, toPromise } from 'xstate';
import {
  type FinalizeLine,
  activityMachine,
  attemptMachine,
  fill,
  finalizeMachine,
  runMachine,
  stepMachine,
  terminationMachine,
} from '../../machines/index.ts';
import type { AttemptInput, ChildCommand, ChildEvent, RunInput } from '../../machines/protocol.ts';
import { createClientVersions, createRegistry } from '../../src/agents/index.ts';
import { Leases } from '../../src/host/index.ts';
import { nestOfTop } from '../../src/nest/index.ts';
import { type ResolvedPlan, resolvePlan } from '../../src/plan/index.ts';
import { createLauncher, createSweeper } from '../../src/process/index.ts';
import { openJournal, runDir } from '../../src/record/index.ts';
import { check } from '../../src/runtime/check.ts';
import { deadline } from '../../src/runtime/deadline.ts';
import { type Kit, now } from '../../src/runtime/kit.ts';
import { requestFor } from '../../src/runtime/launching.ts';
import { Listener } from '../../src/runtime/listener.ts';
import { nest } from '../../src/runtime/nest.ts';
import { Outputs } from '../../src/runtime/outputs.ts';
import { Texts } from '../../src/runtime/texts.ts';
import { prepare } from '../../src/runtime/prepare.ts';
import { ownerOfThisProcess, stepPlanOf } from '../../src/runtime/run.ts';
import { ProcessTable, isEmptied } from '../../src/runtime/table.ts';
import { tree } from '../../src/runtime/tree.ts';
import { type Contender, PROGRAM } from './contender.ts';
import { planOf } from './plan.ts';

/** The machines on real processes, searches and all, and nothing is written: no journal, no status, no file. */
export const actors: Contender = async (job) => {
  const begun = performance.now();
  const env = { ...process.env } as Record<string, string>;
  const agents = createRegistry({}, { env }).names();
  const loaded = resolvePlan(planOf(job, PROGRAM), { agents, cwd: job.folder });
  if (loaded.type === 'invalid') throw new Error('the plan is wrong');
  const kit = kitOf(loaded.plan, job.folder, env);
  const actor = createActor(wired(kit), { input: inputOf(loaded.plan) });
  const done = toPromise(actor);
  actor.start();
  actor.send({ type: 'run.begin', at: now(), deadlineAt: null });
  const { outcome } = await done;
  await kit.launcher.close();
  if (outcome.state !== 'completed') throw new Error(`the run ended as ${outcome.state}`);
  return performance.now() - begun;
};

function kitOf(plan: ResolvedPlan, folder: string, env: Record<string, string>): Kit {
  const dir = runDir(folder, 'bench');
  const sweeper = createSweeper({ now: () => performance.now() });
  const table = new ProcessTable(sweeper);
  const steps = new Map(plan.steps.map((step) => [step.id, step]));
  return {
    runId: 'bench',
    plan,
    step: (id) => {
      const step = steps.get(id);
      if (step === undefined) throw new Error(`no step ${id}`);
      return step;
    },
    dir,
    nest: nestOfTop({ root: dir.root, id: dir.id, instance: 'bench', limits: plan.limits.nested }),
    // Never appended to, so there is no file.
    journal: openJournal(dir.journal, { epoch: 1, firstSeq: 1 }),
    registry: createRegistry({}, { env }),
    versions: createClientVersions(env),
    env,
    redact: (text) => text,
    table,
    sweeper,
    leases: new Leases({ root: dir.root, run: 'bench', owner: ownerOfThisProcess() }),
    launcher: createLauncher({
      expected: plan.steps.length,
      onLost: (error) => {
        throw error;
      },
    }),
    prepared: new Map(),
    texts: new Texts(),
    checks: new Map(),
    outputs: new Outputs(),
    now,
    record: () => undefined,
    keepProof: ({ step, n, proof }) => table.close(step, n, proof.verdict),
    touch: () => undefined,
    guard: (callback) => callback,
  };
}

function inputOf(plan: ResolvedPlan): RunInput {
  const steps = plan.steps.map(stepPlanOf);
  const { limits, labels, name } = plan;
  return {
    id: 'bench',
    name,
    epoch: 1,
    steps,
    limits,
    labels,
    owner: ownerOfThisProcess(),
    seed: 1,
    recoverAfterMs: null,
  };
}

function wired(kit: Kit) {
  const keep = (_: unknown, kept: Parameters<Kit['keepProof']>[0]): void => kit.keepProof(kept);
  const termination = terminationMachine.provide({ actors: { tree: fill(tree(kit)) } });
  const attempt = attemptMachine.provide({
    actors: {
      child: fill(child(kit)),
      activity: fill(activityMachine),
      termination: fill(termination),
      check: fill(check(kit)),
    },
    actions: { keep },
  });
  const step = stepMachine.provide({
    actors: { prepare: fill(prepare(kit)), attempt: fill(attempt), deadline: fill(deadline) },
  });
  const finalize = finalizeMachine.provide({
    actors: {
      trees: fill(line()),
      inbox: fill(line()),
      settle: fill(line()),
      result: fill(line()),
      status: fill(line()),
      announce: fill(line()),
      report: fill(line()),
      release: fill(line()),
    },
  });
  return runMachine.provide({
    actors: { step: fill(step), deadline: fill(deadline), nest: fill(nest(kit)), finalize: fill(finalize) },
  });
}

/** A line of the end with nothing to write. */
const line = () => fromPromise<{ at: string }, FinalizeLine>(async () => ({ at: now() }));

/** The child port of the runtime without its files. */
const child = (kit: Kit) =>
  fromCallback<ChildCommand, AttemptInput>(({ sendBack, receive, input }) => {
    const { step, n, token } = input;
    const prepared = kit.prepared.get(step);
    if (prepared === undefined) throw new Error(`step ${step} was not prepared`);
    kit.prepared.delete(step);
    const tell = (event: ChildEvent): void => sendBack(event);
    const entry = kit.table.open(step, n, token);
    const request = requestFor(kit, input, prepared, kit.dir.attempt(step, n), null);
    const session = prepared.agent.adapter.open(request);
    const listener = new Listener(kit, tell, {
      transcript: () => {
        throw new Error('a command has no transcript');
      },
      allowEmpty: true,
    });
    let exit: { code: number | null; signal: string | null } = { code: null, signal: null };
    receive(() => listener.hear(session.finish().events));
    entry.session = session;
    entry.child = kit.launcher.launch(prepared.agent.adapter.launch(request), token, {
      started: ({ pid, startTime }) => {
        kit.table.started(entry, { pgid: pid, token, leader: { pid, startTime } });
        tell({ type: 'child.started', at: kit.now(), pid, startTime });
        listener.hear(session.start().events);
      },
      unstarted: (failure) => tell({ type: 'child.unstarted', at: kit.now(), failure }),
      stdout: (chunk) => listener.hear(session.push(chunk).events),
      stderr: () => listener.active(false),
      exited: (how) => {
        entry.exited = true;
        exit = how;
        tell({ type: 'child.exited', at: kit.now(), ...how });
      },
      drained: (how) => {
        listener.hearLast(session.exited({ ...exit, stderrTail: '' }).events);
        tell({ type: 'child.drained', at: kit.now(), how, end: listener.end(), emptied: isEmptied(entry) });
      },
    });
    return undefined;
  });
