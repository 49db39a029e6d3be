import type {
  AttemptOutput,
  Cooling,
  FailureClass,
  FailureCode,
  Instant,
  ProofLevel,
  RetryPlan,
  Tries,
} from '../protocol.ts';
import { asksForRetry, classOf } from './failure.ts';
import { isProven } from './proof.ts';
import { between, later } from './time.ts';

/** How long a model that failed is left alone by the other steps of the run, in milliseconds. */
export const COOL_DOWN = 60_000;

export const firstTry = (models: readonly string[], cooling: Cooling, at: Instant): Tries => ({
  models,
  model: nextModel(models, -1, cooling, at) ?? 0,
  startup: 0,
  waits: 0,
  task: 0,
  repairs: 0,
  delivery: 'auto',
});

export type Decision =
  | { type: 'settle'; note: string | null }
  | { type: 'retry'; class: FailureClass; delayMs: number; tries: Tries; note: string }
  /** The agent is told what was wrong, in `session` where it has one. */
  | { type: 'repair'; class: FailureClass; delayMs: 0; tries: Tries; note: string; session: string | null };

export interface Circumstances {
  attempt: AttemptOutput;
  ranMs: number;
  retry: RetryPlan;
  /** How often the agent may be told what was wrong with the value it handed in. */
  repairs: number;
  /** What is left of the attempt's own limit, which a repair does not renew; null is no limit. */
  leftMs: number | null;
  /** A tool may have changed something: in this attempt, or in one before that it goes on with. */
  sideEffects: boolean;
  cooling: Cooling;
  /** The level that the plan asks for. */
  proof: ProofLevel;
  at: Instant;
  /** 0 to 1, for the jitter. */
  chance: number;
}

/** Whether there is another attempt after this one, when, and with what. Pure. */
export function decide(tries: Tries, circumstances: Circumstances): Decision {
  const { attempt, retry, ranMs } = circumstances;
  const kind = classOf(attempt, retry.rules, ranMs);
  if (kind === null) return settle(null);
  if (!isProven(attempt.proof, circumstances.proof) && !retry.unproven) {
    return settle('nobody can say that its processes are gone');
  }
  const mends = kind === 'never' ? null : mend(tries, circumstances, kind);
  if (mends !== null) return mends;
  if (circumstances.sideEffects && !retry.afterSideEffects) return settle('it may have changed something already');
  switch (kind) {
    case 'never':
      return settle(null);
    case 'startup':
      return (
        atStart(tries, circumstances) ?? otherModel(tries, circumstances, kind) ?? atTask(tries, circumstances, kind)
      );
    case 'model':
      return (
        otherModel(tries, circumstances, kind) ?? sameModel(tries, circumstances) ?? atTask(tries, circumstances, kind)
      );
    case 'next-model':
      return otherModel(tries, circumstances, kind) ?? settle(null);
    case 'task':
      return atTask(tries, circumstances, kind);
  }
}

const settle = (note: string | null): Decision & { type: 'settle' } => ({ type: 'settle', note });

/** Failures of which the agent can be told, so that it puts them right. */
const MENDABLE: ReadonlySet<FailureCode> = new Set<FailureCode>([
  'schema-missing',
  'schema-invalid',
  'schema-ambiguous',
]);

/** What was done stays done in its session; without one the task is begun anew, as by any other try. */
function mend(tries: Tries, circumstances: Circumstances, kind: FailureClass): Decision | null {
  const { attempt, repairs, leftMs, retry } = circumstances;
  if (attempt.failure === null || !MENDABLE.has(attempt.failure.code)) return null;
  if (tries.repairs >= repairs || (leftMs !== null && leftMs <= 0)) return null;
  const { session } = attempt;
  if (session === null && circumstances.sideEffects && !retry.afterSideEffects) return null;
  return {
    type: 'repair',
    class: kind,
    delayMs: 0,
    tries: { ...tries, repairs: tries.repairs + 1, startup: 0, waits: 0 },
    note: `it is told what was wrong; repair ${tries.repairs + 1} of ${repairs}`,
    session,
  };
}

function atStart(tries: Tries, { attempt, retry, chance }: Circumstances): Decision | null {
  const wait = retry.startupMs[tries.startup];
  if (wait === undefined) return null;
  // Endpoint scanners kill processes whose arguments hold long texts: the next try keeps the task out of them.
  const delivery = attempt.exit?.signal === 'SIGKILL' ? 'file' : tries.delivery;
  return {
    type: 'retry',
    class: 'startup',
    delayMs: jittered(wait, chance),
    tries: { ...tries, startup: tries.startup + 1, delivery },
    note: `it did not start; try ${tries.startup + 2} of ${retry.startupMs.length + 1}`,
  };
}

function otherModel(tries: Tries, { cooling, at }: Circumstances, kind: FailureClass): Decision | null {
  const model = nextModel(tries.models, tries.model, cooling, at);
  if (model === null) return null;
  return {
    type: 'retry',
    class: kind,
    delayMs: 0,
    tries: { ...tries, model, startup: 0, waits: 0 },
    note: `${tries.models[tries.model]} failed; on to ${tries.models[model]}`,
  };
}

/** The next candidate that is not left alone just now; the next one at all when all are. */
function nextModel(models: readonly string[], current: number, cooling: Cooling, at: Instant): number | null {
  const rest = models.map((name, index) => ({ name, index })).filter(({ index }) => index > current);
  const warm = rest.find(({ name }) => {
    const until = cooling[name];
    return until === undefined || between(at, until) <= 0;
  });
  return (warm ?? rest[0])?.index ?? null;
}

function sameModel(tries: Tries, { attempt, retry, chance, at }: Circumstances): Decision | null {
  const wait = retry.modelMs[tries.waits];
  const asked = retryAfterMs(attempt);
  if (asked !== null && asked > retry.mostWaitMs)
    return settle(`the model asks to be left alone until ${later(at, asked)}`);
  if (wait === undefined) return null;
  return {
    type: 'retry',
    class: 'model',
    delayMs: asked ?? jittered(wait, chance),
    tries: { ...tries, waits: tries.waits + 1, startup: 0 },
    note: `the model failed; try ${tries.waits + 2} of ${retry.modelMs.length + 1}`,
  };
}

function atTask(tries: Tries, { attempt, retry, chance }: Circumstances, kind: FailureClass): Decision {
  const asked = asksForRetry(attempt.cause) && tries.task === 0;
  if (tries.task + 1 >= retry.attempts && !asked) return settle(null);
  const { firstMs, factor, mostMs } = retry.backoff;
  return {
    type: 'retry',
    class: kind,
    delayMs: jittered(Math.min(firstMs * factor ** tries.task, mostMs), chance),
    tries: { ...tries, task: tries.task + 1, startup: 0, waits: 0 },
    note: `it failed; attempt ${tries.task + 2} of ${Math.max(retry.attempts, 2)}`,
  };
}

/** Between 75 % and 125 %: steps that failed together do not come back together. */
const jittered = (ms: number, chance: number): number => Math.round(ms * (0.75 + chance / 2));

/** How long the model asked to be left alone, where it did. */
export function retryAfterMs({ failure }: AttemptOutput): number | null {
  const asked = failure?.detail?.['retryAfterMs'];
  return typeof asked === 'number' && asked >= 0 ? asked : null;
}

/** A number from 0 to 1 that depends on nothing but its seed. */
export function chanceOf(seed: number, n: number): number {
  const mixed = Math.imul((seed ^ n) + 0x9e3779b9, 0x85ebca6b) >>> 0;
  return (Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35) >>> 0) / 2 ** 32;
}
