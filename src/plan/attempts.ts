import type { AttemptLimits, FailureRule, ProofLevel, RetryPlan } from '../../machines/protocol.ts';
import { limitOf, millisecondsOf } from './duration.ts';
import type { PlanInput } from './schema.ts';
import type { ResolvedStep } from './types.ts';

/** What a resolved step says about its attempts. */
export type Attempts = Pick<
  ResolvedStep,
  'limits' | 'retry' | 'leftovers' | 'survivors' | 'proof' | 'contain' | 'asks'
>;

type Duration = string | number;
type Written = NonNullable<PlanInput['defaults']>;
type WrittenLimits = NonNullable<Written['limits']>;
type WrittenRetry = Exclude<NonNullable<Written['retry']>, number | 'none'>;

/** In milliseconds. Starts: reference behaviour; the others are ours. */
const STARTUP: readonly number[] = [250, 750, 1_500];
const MODEL: readonly number[] = [2_000, 8_000, 20_000];
const MOST_WAIT = 60_000;
const BACKOFF = { first: 1_000, factor: 2, most: 60_000 };

/** Each field: of the step, else of the defaults, else ours. `proof`: the last of these for the proof. */
export function attemptsOf(step: PlanInput['steps'][number], defaults: Written, proof: ProofLevel): Attempts {
  return {
    limits: limitsOf(step.limits ?? {}, defaults.limits ?? {}),
    retry: retryOf(retryFields(step.retry), retryFields(defaults.retry), step.run !== undefined),
    leftovers: step.leftovers ?? defaults.leftovers ?? 'end',
    survivors: step.survivors ?? defaults.survivors ?? 'none',
    proof: step.proof ?? defaults.proof ?? proof,
    contain: step.contain ?? defaults.contain ?? 'auto',
    asks: step.asks ?? defaults.asks ?? 'wait',
  };
}

function limitsOf(step: WrittenLimits, defaults: WrittenLimits): AttemptLimits {
  return {
    attemptMs: limitOf(step.attempt ?? defaults.attempt),
    firstOutputMs: limitOf(step.firstOutput ?? defaults.firstOutput),
    stall: stallOf(step.stall ?? defaults.stall),
    toolMs: limitOf(step.tool ?? defaults.tool),
  };
}

function stallOf(written: WrittenLimits['stall']): AttemptLimits['stall'] {
  const { after, action = 'notice' } = typeof written === 'object' ? written : { after: written };
  const afterMs = limitOf(after);
  return afterMs === null ? null : { afterMs, action };
}

/** The short forms, written out. */
function retryFields(written: Written['retry']): WrittenRetry {
  if (written === 'none') return { attempts: 1, startup: 'none', model: 'none' };
  return typeof written === 'number' ? { attempts: written } : (written ?? {});
}

function retryOf(step: WrittenRetry, defaults: WrittenRetry, isCommand: boolean): RetryPlan {
  return {
    attempts: step.attempts ?? defaults.attempts ?? 1,
    backoff: backoffOf(step.backoff ?? defaults.backoff),
    startupMs: waitsOf(step.startup ?? defaults.startup ?? STARTUP),
    // A command has no model, whatever the defaults say.
    modelMs: isCommand ? [] : waitsOf(step.model ?? defaults.model ?? MODEL),
    mostWaitMs: millisecondsOf(step.mostWait ?? defaults.mostWait ?? MOST_WAIT),
    afterSideEffects: step.afterSideEffects ?? defaults.afterSideEffects ?? false,
    unproven: step.unproven ?? defaults.unproven ?? false,
    rules: (step.on ?? defaults.on ?? []).map(ruleOf),
  };
}

function backoffOf(written: WrittenRetry['backoff']): RetryPlan['backoff'] {
  const { first, factor, most } = typeof written === 'object' ? written : { first: written };
  const firstMs = millisecondsOf(first ?? BACKOFF.first);
  return {
    firstMs,
    factor: factor ?? BACKOFF.factor,
    mostMs: most === undefined ? Math.max(firstMs, BACKOFF.most) : millisecondsOf(most),
  };
}

function waitsOf(written: readonly Duration[] | 'none'): number[] {
  return written === 'none' ? [] : written.map(millisecondsOf);
}

function ruleOf({ code, text, as }: NonNullable<WrittenRetry['on']>[number]): FailureRule {
  return { ...(code === undefined ? {} : { code }), ...(text === undefined ? {} : { text }), as };
}
