import type { Instant, JournalBody, Proof, StepId } from '../../machines/protocol.ts';
import type { ClientVersions, Registry } from '../agents/index.ts';
import type { Leases } from '../host/index.ts';
import type { Nest } from '../nest/index.ts';
import type { ResolvedPlan, ResolvedStep } from '../plan/index.ts';
import type { Check } from '../quality/index.ts';
import type { Launcher, Sweeper } from '../process/index.ts';
import type { Journal, Redactor, RunDir } from '../record/index.ts';
import type { Outputs } from './outputs.ts';
import type { PreparedSteps } from './prepared.ts';
import type { ProcessTable } from './table.ts';
import type { Texts } from './texts.ts';

/** What the ports of one run share. One object a run, handed down: there are no globals. */
export interface Kit {
  readonly runId: string;
  readonly plan: ResolvedPlan;
  step(id: StepId): ResolvedStep;
  readonly dir: RunDir;
  /** Where the run stands among those that start each other. */
  readonly nest: Nest;
  readonly journal: Journal;
  readonly registry: Registry;
  readonly versions: ClientVersions;
  /** The runner's environment, taken once. */
  readonly env: Readonly<Record<string, string>>;
  readonly redact: Redactor;
  readonly table: ProcessTable;
  readonly sweeper: Sweeper;
  readonly leases: Leases;
  readonly launcher: Launcher;
  readonly prepared: PreparedSteps;
  /** Of steps that have more to show than their word, for the attempt that is next or under way. */
  readonly checks: Map<StepId, Check>;
  readonly outputs: Outputs;
  /** Of messages and answers on their way. */
  readonly texts: Texts;
  now(): Instant;
  /** Journals an event; the status follows. Never throws. */
  record(body: JournalBody): void;
  /** Keeps the whole proof of an attempt, and lets go of one that is gone. Never throws. */
  keepProof(kept: { step: StepId; n: number; proof: Proof }): void;
  /** Something changed that the journal does not carry. */
  touch(): void;
  /**
   * Wraps a callback of the outside world: what it throws ends the run as crashed, in good order, instead of
   * reaching whoever called.
   */
  guard: <A extends unknown[]>(callback: (...args: A) => void) => (...args: A) => void;
}

/** Now, as machines and records carry it. */
export const now = (): Instant => new Date().toISOString();
