import { hostname } from 'node:os';
import { randomInt, randomUUID } from 'node:crypto';
import { type ActorRefFrom, type InspectionEvent, createActor } from 'xstate';
import { type RunOutcome, type RunOutput, type Status, type StepOutput, project } from '../../machines/index.ts';
import type {
  Answer,
  Cause,
  Command,
  JournalBody,
  Owner,
  RunEvent,
  RunInput,
  StepPlan,
} from '../../machines/protocol.ts';
import { summarize } from '../../machines/policy/proof.ts';
import { createRegistry } from '../agents/index.ts';
import type { ResolvedPlan, ResolvedStep } from '../plan/index.ts';
import { bootId, createSweeper, startTimeOf } from '../process/index.ts';
import {
  type Journal,
  type Redactor,
  type RunDir,
  type StatusFile,
  createRedactor,
  createStatusFile,
  openJournal,
} from '../record/index.ts';
import { patient, watchClocks } from './clock.ts';
import { concludeCrash } from './crash.ts';
import type { EndedStep, Ending } from './ending.ts';
import { describeError } from './describe.ts';
import { limitUnder } from './inherited.ts';
import { keepProof } from './keep.ts';
import { type Kit, now } from './kit.ts';
import type { Closing } from './lines.ts';
import { Outputs } from './outputs.ts';
import { type Projector, createProjector } from './projector.ts';
import { ProcessTable } from './table.ts';
import { type Machines, realMachines, wire } from './wire.ts';

export interface RuntimeOptions {
  plan: ResolvedPlan;
  dir: RunDir;
  owner: Owner;
  epoch: number;
  env: Readonly<Record<string, string>>;
  /** Where the answers to commands go. */
  answer(answer: Answer): void;
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
  #resolve: (output: RunOutput) => void = () => {};
  #crashed: Promise<void> | null = null;

  constructor(options: RuntimeOptions) {
    this.#options = options;
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.journal = options.journal ?? openJournal(options.dir.journal, { epoch: options.epoch, firstSeq: 1 });
    this.#file = options.statusFile ?? createStatusFile(options.dir.status);
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
    const answer = (one: Answer): void => options.answer(one);
    const machine = wire(this.kit, closing, answer, options.machines ?? realMachines);
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

  /**
   * Moves the deadline of the run, or the limit of a step that runs; `limitMs` counts from now, 0 is over at once.
   * False: there is nothing to move any more, or no such step runs.
   */
  extend(limitMs: number, step?: string): boolean {
    const { context, status } = this.#actor.getSnapshot();
    const active = this.#crashed === null && status === 'active' && context.outcome === null;
    if (!active || (step !== undefined && !context.live.includes(step))) return false;
    const at = now();
    const deadlineAt = new Date(Date.parse(at) + limitMs).toISOString();
    this.#send({ type: 'run.extend', at, deadlineAt, limitMs, ...(step === undefined ? {} : { step }) });
    return true;
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
    const crash = { file: this.#file, input: this.#input, closeInbox, error };
    const output = await concludeCrash(kit, crash);
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
    await this.projector.close();
    this.journal.close();
    if (output !== undefined) this.#resolve(output);
  }

  #makeKit(): Kit {
    const { plan, dir, env } = this.#options;
    const steps = new Map<string, ResolvedStep>(plan.steps.map((step) => [step.id, step]));
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
        const step = steps.get(id);
        if (step === undefined) throw new Error(`the plan has no step ${id}`);
        return step;
      },
      dir,
      journal,
      registry: createRegistry(plan.agents, { env }),
      env,
      redact: createRedactor(env, ...plan.steps.map((step) => step.env)),
      table,
      sweeper,
      prepared: new Map(),
      outputs: new Outputs(),
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

function inputOf({ plan, dir, epoch, owner, env }: RuntimeOptions): RunInput {
  return {
    id: dir.id,
    name: plan.name,
    epoch,
    steps: plan.steps.map(stepPlanOf),
    limits: { ...plan.limits, timeoutMs: limitUnder(env, plan.limits.timeoutMs) },
    labels: { ...plan.labels },
    owner,
    seed: randomInt(2 ** 31),
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
}: ResolvedStep): StepPlan {
  return { id, agent, models: [...model], needs: [...needs], timeoutMs, limits, retry, leftovers, proof };
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
