import { hostname } from 'node:os';
import { randomInt, randomUUID } from 'node:crypto';
import { type ActorRefFrom, type InspectionEvent, createActor } from 'xstate';
import { type RunOutcome, type RunOutput, type Status, type StepOutput, project } from '../../machines/index.ts';
import type {
  Answer,
  Cause,
  Expected,
  Command,
  JournalBody,
  Owner,
  Progress,
  RunEvent,
  RunInput,
  StepPlan,
} from '../../machines/protocol.ts';
import { summarize } from '../../machines/policy/proof.ts';
import { createClientVersions, createRegistry } from '../agents/index.ts';
import { Leases } from '../host/index.ts';
import { type Nest, nestOfTop } from '../nest/index.ts';
import { type ResolvedOutput, type ResolvedPlan, type ResolvedStep, outputFiles } from '../plan/index.ts';
import { bootId, createLauncher, createSweeper, startTimeOf } from '../process/index.ts';
import {
  type Journal,
  type Redactor,
  type RunDir,
  type StatusFile,
  createRedactor,
  createStatusFile,
  openJournal,
} from '../record/index.ts';
import { Appending, type Proposed } from './appending.ts';
import { patient, watchClocks } from './clock.ts';
import { concludeCrash } from './crash.ts';
import type { EndedStep, Ending } from './ending.ts';
import { describeError } from './describe.ts';
import { limitUnder } from './inherited.ts';
import { defaultProof } from './source.ts';
import { keepProof } from './keep.ts';
import { type Kit, now } from './kit.ts';
import type { Closing } from './lines.ts';
import { Outputs } from './outputs.ts';
import { type Projector, createProjector } from './projector.ts';
import { ProcessTable } from './table.ts';
import { Texts } from './texts.ts';
import { type Machines, realMachines, wire } from './wire.ts';

export interface RuntimeOptions {
  plan: ResolvedPlan;
  dir: RunDir;
  owner: Owner;
  epoch: number;
  env: Readonly<Record<string, string>>;
  /** Where the run was started, when a child of another run did. Default: nowhere. */
  nest?: Nest | null;
  /** Where the answers to commands go. */
  answer(answer: Answer): void;
  /** And what is known of them before. Default: nowhere. */
  progress?: (progress: Progress) => void;
  closeInbox: Closing['closeInbox'];
  /** Default: the file in the run directory. */
  journal?: Journal;
  /** Default: the file in the run directory. */
  statusFile?: StatusFile;
  /** How an event gets into the journal. Default: straight. */
  append?: (body: JournalBody) => void;
  /** A status has been handed to its file. */
  onStatus?: (status: Status) => void;
  /** Sees every actor event; must not throw. */
  inspect?: (event: InspectionEvent) => void;
  machines?: Machines;
}

type RunActor = ActorRefFrom<ReturnType<typeof wire>>;

/** Of the reason somebody gives for a command. */
const MOST_REASON_CHARS = 300;

/** How long the machines may take to end a run after a fault outside them, before they are passed over. */
const ORDERLY_END_MS = 20_000;

/**
 * The supervisor of one run: it owns the actor system, the process table beside it, and the promise that the run
 * ends in a terminal record whatever fails.
 */
export class Runtime {
  readonly kit: Kit;
  readonly journal: Journal;
  readonly projector: Projector;
  readonly done: Promise<RunOutput>;
  readonly #options: RuntimeOptions;
  readonly #file: StatusFile;
  readonly #actor: RunActor;
  readonly #input: RunInput;
  readonly #appending: Appending;
  #redact: Redactor = (text) => text;
  #resolve: (output: RunOutput) => void = () => {};
  #crashed: Promise<void> | null = null;

  constructor(options: RuntimeOptions) {
    this.#options = options;
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.journal = options.journal ?? openJournal(options.dir.journal, { epoch: options.epoch, firstSeq: 1 });
    this.#file = options.statusFile ?? createStatusFile(options.dir.status);
    this.#appending = new Appending({
      dir: options.dir,
      plan: options.plan,
      resolving: { agents: createRegistry({}, { env: options.env }).names(), proof: defaultProof() },
      stepPlanOf,
    });
    this.kit = this.#makeKit();
    this.#input = withoutSecrets(inputOf(options), this.kit.redact);
    this.projector = createProjector({
      journal: this.journal,
      file: this.#file,
      project: (seq) => project(this.#actor.getSnapshot(), { seq, updatedAt: now() }),
      onWrite: (status) => options.onStatus?.(status),
    });
    const closing: Closing = {
      projector: this.projector,
      epoch: options.epoch,
      closeInbox: options.closeInbox,
      ending: (outcome) => this.#ending(outcome),
    };
    const answering = {
      // What is below a crashed machine goes on, and has nothing to say any more: its commands are answered with its end.
      answer: (one: Answer): void => {
        if (this.#crashed === null) this.#answer(one);
      },
      progress: (one: Progress): void => options.progress?.(one),
    };
    const machine = wire(this.kit, closing, answering, options.machines ?? realMachines);
    this.#actor = createActor(machine, {
      input: this.#input,
      clock: patient,
      ...(options.inspect === undefined ? {} : { inspect: options.inspect }),
    });
    const stopWatching = watchClocks((byMs) => this.#send({ type: 'clock.jumped', at: now(), byMs }));
    void this.done.then(stopWatching);
    this.#actor.subscribe({
      complete: () => void this.#complete(),
      error: (error) => this.crash(error),
    });
  }

  start(): void {
    const { timeoutMs } = this.#actor.getSnapshot().context.limits;
    const at = now();
    const deadlineAt = timeoutMs === null ? null : new Date(Date.parse(at) + timeoutMs).toISOString();
    this.#actor.start();
    this.#actor.send({ type: 'run.begin', at, deadlineAt });
  }

  /** Ends the run without having begun it. */
  refuse(cause: Cause): void {
    this.#actor.start();
    this.#actor.send({ type: 'run.refuse', at: cause.at, cause });
  }

  status(): Status {
    return this.projector.current();
  }

  get snapshot(): ReturnType<RunActor['getSnapshot']> {
    return this.#actor.getSnapshot();
  }

  /** Hands a command to the run. False: its machines are gone, and nobody will answer. */
  command(command: Command): boolean {
    if (this.#crashed !== null || this.#actor.getSnapshot().status !== 'active') return false;
    this.#actor.send({ type: 'run.command', at: now(), command: this.#fitForRecord(command) });
    return true;
  }

  /** Checks the raw steps of an `append` command, which has to be sent then: its verdict says what becomes of them. */
  propose(steps: readonly unknown[], command: string): Proposed {
    const proposed = this.#appending.propose(steps, command);
    if (proposed.type === 'ok') this.#learnSecrets();
    return proposed;
  }

  /** A command that never reached the run. */
  takeBack(answer: Answer): void {
    if (answer.verdict !== 'conflict') this.#appending.answered(answer);
  }

  #answer(answer: Answer): void {
    if (answer.verdict !== 'conflict') {
      this.#appending.answered(answer);
      // An answer to an ask goes its way to the child in this turn of the loop.
      queueMicrotask(() => this.kit.texts.delete(answer.id));
    }
    this.#options.answer(answer);
  }

  /** The reason is somebody's text and goes on record: without secrets, and not at any length. */
  #fitForRecord(command: Command): Command {
    if (!('reason' in command) || command.reason === undefined) return command;
    return { ...command, reason: this.kit.redact(command.reason).slice(0, MOST_REASON_CHARS) };
  }

  /** Ends the run for a cause from outside the machines: a signal to the runner, a fault in it. */
  end(cause: Cause): void {
    if (this.#crashed !== null) return;
    this.#actor.send({ type: 'run.end', cause });
    if (cause.type === 'runner-crashed') this.#passOverWhenLate(cause);
  }

  /** The journal cannot be written, or can be again. */
  recordTrouble(degraded: boolean): void {
    if (this.#crashed === null) this.#actor.send({ type: degraded ? 'record.degraded' : 'record.restored' });
  }

  /** An error outside the machines: they end the run in good order if they still can. */
  fault(error: unknown): void {
    this.end({ type: 'runner-crashed', at: now(), message: this.kit.redact(describeError(error)) });
  }

  #send(event: RunEvent): void {
    if (this.#crashed === null && this.#actor.getSnapshot().status === 'active') this.#actor.send(event);
  }

  /** SIGKILL to everything known, at once; the machines then see the exits and end in good order. */
  killNow(): void {
    this.kit.table.killNow();
  }

  /**
   * A fault that the machines cannot be trusted after. Everything launched is ended and the record is made without
   * them. Never throws; later calls change nothing.
   */
  crash(error: unknown): void {
    this.#crashed ??= this.#concludeCrash(error);
  }

  async #concludeCrash(error: unknown): Promise<void> {
    this.kit.table.shut();
    this.kit.table.killNow();
    await this.projector.pause();
    this.#actor.stop();
    const { closeInbox } = this.#options;
    const kit = { ...this.kit, record: (body: JournalBody) => this.#record(body) };
    const answer = (one: Answer): void => this.#answer(one);
    const crash = { file: this.#file, input: this.#input, closeInbox, answer, error };
    const output = await concludeCrash(kit, crash);
    this.kit.versions.close();
    await this.kit.launcher.close();
    this.journal.close();
    this.#resolve(output);
  }

  #passOverWhenLate(cause: Cause & { type: 'runner-crashed' }): void {
    const timer = setTimeout(() => this.crash(cause.message), ORDERLY_END_MS);
    void this.done.finally(() => clearTimeout(timer));
  }

  async #complete(): Promise<void> {
    if (this.#crashed !== null) return;
    const { output } = this.#actor.getSnapshot();
    this.kit.versions.close();
    await Promise.all([this.projector.close(), this.kit.launcher.close()]);
    this.journal.close();
    if (output !== undefined) this.#resolve(output);
  }

  #makeKit(): Kit {
    const { plan, dir, env, owner, nest = null } = this.#options;
    const steps = new Map<string, ResolvedStep>(plan.steps.map((step) => [step.id, step]));
    this.#learnSecrets();
    const sweeper = createSweeper({ now: () => performance.now() });
    const table = new ProcessTable(sweeper);
    const { journal } = this;
    // XState does not stop what is below an actor that has crashed: it goes on, and has nothing to say any more.
    const unlessCrashed =
      <T>(record: (one: T) => void) =>
      (one: T) => {
        if (this.#crashed === null) record(one);
      };
    return {
      runId: dir.id,
      plan,
      step: (id) => {
        const step = steps.get(id) ?? this.#appending.find(id);
        if (step === undefined) throw new Error(`the plan has no step ${id}`);
        return step;
      },
      dir,
      nest: nest ?? nestOfTop({ root: dir.root, id: dir.id, instance: owner.instance, limits: plan.limits.nested }),
      journal,
      registry: createRegistry(plan.agents, { env }),
      versions: createClientVersions(env),
      env,
      redact: (text) => this.#redact(text),
      table,
      sweeper,
      leases: new Leases({ root: dir.root, run: dir.id, owner }),
      launcher: createLauncher({ expected: plan.steps.length, onLost: (error) => this.crash(error) }),
      prepared: new Map(),
      checks: new Map(),
      outputs: new Outputs(),
      texts: new Texts(),
      now,
      record: unlessCrashed((body) => this.#record(body)),
      keepProof: unlessCrashed((kept) => keepProof(this.kit, kept)),
      touch: () => this.projector.touch(),
      guard:
        (callback) =>
        (...args) => {
          try {
            callback(...args);
          } catch (error) {
            this.crash(error);
          }
        },
    };
  }

  /** Values that steps set are as secret as those of the environment. */
  #learnSecrets(): void {
    const { env } = this.#options;
    this.#redact = createRedactor(env, ...this.#appending.steps.map((step) => step.env));
  }

  #record(body: JournalBody): void {
    if (this.#options.append === undefined) this.journal.append(body);
    else this.#options.append(body);
    this.projector.touch(body.type.startsWith('run.') || body.type === 'step.settled');
  }

  #ending(outcome: RunOutcome): Ending {
    return {
      outcome,
      status: () => this.projector.current(),
      steps: () => endedSteps(this.#actor.getSnapshot().context),
    };
  }
}

function endedSteps({ steps, settled }: { steps: StepPlan[]; settled: StepOutput[] }): EndedStep[] {
  const byId = new Map(settled.map((one) => [one.step, one]));
  return steps.flatMap((plan) => {
    const step = byId.get(plan.id);
    if (step === undefined) return [];
    const { outcome, cause, failure } = step;
    const attempts = step.attempts.map((one) => ({
      ...one,
      note: step.notes[one.n] ?? null,
      proof: one.proof === null ? null : summarize(one.proof),
    }));
    return [{ step: plan.id, agent: plan.agent, outcome, cause, failure, attempts }];
  });
}

function inputOf({ plan, dir, epoch, owner, env, nest = null }: RuntimeOptions): RunInput {
  const parent = nest?.parent ?? null;
  return {
    id: dir.id,
    name: plan.name,
    epoch,
    steps: plan.steps.map(stepPlanOf),
    limits: { concurrency: plan.limits.concurrency, timeoutMs: limitUnder(env, plan.limits.timeoutMs) },
    labels: { ...plan.labels },
    owner,
    seed: randomInt(2 ** 31),
    recoverAfterMs: plan.steering?.recoverAfterMs ?? null,
    ...(nest === null || parent === null ? {} : { parent: { ...parent, depth: nest.depth } }),
  };
}

/** What the machines have to know of a step. */
export function stepPlanOf({
  id,
  agent,
  model,
  needs,
  timeoutMs,
  limits,
  retry,
  leftovers,
  proof,
  asks,
  output,
}: ResolvedStep): StepPlan {
  const plan = { id, agent, models: [...model], needs: [...needs], timeoutMs, limits, retry, leftovers, proof, asks };
  return output === null ? plan : { ...plan, expects: expectedOf(output) };
}

function expectedOf(output: ResolvedOutput): Expected {
  const { schema, repair, changes } = output;
  return { value: schema !== null, repairs: repair, files: outputFiles(output), changes };
}

/** Name and labels are somebody's texts, too. */
function withoutSecrets(input: RunInput, redact: Redactor): RunInput {
  const labels: Record<string, string> = {};
  for (const [label, text] of Object.entries(input.labels)) labels[label] = redact(text);
  return { ...input, name: redact(input.name), labels };
}

/** This process, as the owner of a run. */
export function ownerOfThisProcess(): Owner {
  return {
    host: hostname(),
    bootId: bootId(),
    pid: process.pid,
    startTime: startTimeOf(process.pid),
    instance: randomUUID(),
  };
}
