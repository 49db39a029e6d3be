import { describe, expect, test } from 'vitest';
import { type Circumstances, chanceOf, decide, firstTry, retryAfterMs } from '../../machines/policy/retry.ts';
import { later } from '../../machines/policy/time.ts';
import type { AttemptOutput, FailureCode, RetryPlan, Tries } from '../../machines/protocol.ts';
import { AT, RETRY, attemptOutput, proof } from './models.ts';

/** Whether there is another attempt, when, and with what: S068 to S072 as decisions. */

const PLAN: RetryPlan = { ...RETRY, attempts: 1, startupMs: [250, 750, 1_500], modelMs: [2_000, 8_000, 20_000] };
/** Makes waits what the plan says: no jitter. */
const EVEN = 0.5;

const failed = (code: FailureCode, more: Partial<AttemptOutput> = {}, detail: Record<string, number> = {}) => ({
  ...attemptOutput('failed'),
  cause: { type: 'failure', at: AT, reason: code } as const,
  failure: { code, message: 'it failed', detail },
  ...more,
});
const killedAtStart = failed('signal', { active: false, exit: { at: AT, code: null, signal: 'SIGKILL' } });
const rateLimited = (retryAfter?: number) =>
  failed('rate-limited', {}, retryAfter === undefined ? {} : { retryAfterMs: retryAfter });

function after(attempt: AttemptOutput, tries: Tries, more: Partial<Circumstances> = {}) {
  return decide(tries, {
    attempt,
    ranMs: 50,
    retry: PLAN,
    repairs: 0,
    leftMs: null,
    sideEffects: attempt.sideEffects,
    cooling: {},
    proof: 'searched',
    at: AT,
    chance: EVEN,
    ...more,
  });
}
const start = (models: string[], cooling: Record<string, string> = {}): Tries => firstTry(models, cooling, AT);

/** Goes on as long as there is another attempt; waits and models, in order. */
function chain(attempt: AttemptOutput, models: string[], more: Partial<Circumstances> = {}) {
  const tried: { delayMs: number; model: string | undefined; class: string }[] = [];
  let tries = start(models);
  for (;;) {
    const decision = after(attempt, tries, more);
    if (decision.type === 'settle') return { tried, note: decision.note };
    ({ tries } = decision);
    tried.push({ delayMs: decision.delayMs, model: tries.models[tries.model], class: decision.class });
    if (tried.length > 50) throw new Error('it never ends');
  }
}

describe('a start that failed', () => {
  test('is tried again on the same model after 250, 750 and 1500 ms, then on the next', () => {
    expect(chain(killedAtStart, ['m/1', 'm/2']).tried).toEqual([
      { delayMs: 250, model: 'm/1', class: 'startup' },
      { delayMs: 750, model: 'm/1', class: 'startup' },
      { delayMs: 1_500, model: 'm/1', class: 'startup' },
      { delayMs: 0, model: 'm/2', class: 'startup' },
      // The count begins anew with a new candidate.
      { delayMs: 250, model: 'm/2', class: 'startup' },
      { delayMs: 750, model: 'm/2', class: 'startup' },
      { delayMs: 1_500, model: 'm/2', class: 'startup' },
    ]);
  });

  test('by SIGKILL: the task is kept out of the arguments from then on', () => {
    const decision = after(killedAtStart, start([]));
    expect(decision).toMatchObject({ type: 'retry', class: 'startup', tries: { delivery: 'file' } });
    const exhausted = failed('resources-exhausted', { active: false, exit: null, proof: null });
    expect(after(exhausted, start([]))).toMatchObject({ type: 'retry', tries: { delivery: 'auto' } });
    if (decision.type !== 'retry') throw new Error('no retry');
    expect(after(exhausted, decision.tries)).toMatchObject({ tries: { delivery: 'file' } });
  });

  test('counts as a failure at the task when all else is used up', () => {
    const { tried } = chain(killedAtStart, [], { retry: { ...PLAN, attempts: 2 } });
    expect(tried.map((one) => one.delayMs)).toEqual([250, 750, 1_500, 1_000, 250, 750, 1_500]);
  });
});

describe('a model that failed', () => {
  test('the next candidate at once; on the last one after 2, 8 and 20 s', () => {
    expect(chain(rateLimited(), ['m/1', 'm/2']).tried).toEqual([
      { delayMs: 0, model: 'm/2', class: 'model' },
      { delayMs: 2_000, model: 'm/2', class: 'model' },
      { delayMs: 8_000, model: 'm/2', class: 'model' },
      { delayMs: 20_000, model: 'm/2', class: 'model' },
    ]);
  });

  test('S071: a wait it asks for is kept to the millisecond, up to the most', () => {
    expect(after(rateLimited(5_000), start(['m/1']))).toMatchObject({ type: 'retry', delayMs: 5_000 });
    expect(after(rateLimited(0), start(['m/1']))).toMatchObject({ type: 'retry', delayMs: 0 });
    expect(after(rateLimited(60_000), start(['m/1']))).toMatchObject({ type: 'retry', delayMs: 60_000 });
    const tooLong = after(rateLimited(274_579_000), start(['m/1']));
    expect(tooLong).toEqual({ type: 'settle', note: expect.stringContaining(later(AT, 274_579_000)) });
    // With somebody else to ask nobody waits.
    expect(after(rateLimited(274_579_000), start(['m/1', 'm/2']))).toMatchObject({ type: 'retry', delayMs: 0 });
  });

  test('S069: a context that is too long is too long for all', () => {
    expect(after(failed('context-overflow'), start(['m/1', 'm/2', 'm/3']))).toEqual({ type: 'settle', note: null });
  });

  test('S068: a wrong key: the next candidate, never the same one', () => {
    expect(chain(failed('auth'), ['m/1', 'm/2']).tried).toEqual([{ delayMs: 0, model: 'm/2', class: 'next-model' }]);
    expect(chain(failed('auth'), ['m/1']).tried).toEqual([]);
  });

  test('counts as a failure at the task when all else is used up', () => {
    const retry = { ...PLAN, attempts: 2, modelMs: [2_000] };
    expect(chain(rateLimited(), ['m/1'], { retry }).tried.map((one) => one.delayMs)).toEqual([2_000, 1_000, 2_000]);
  });
});

describe('S072: models that failed a moment ago', () => {
  const cooling = { 'm/1': later(AT, 30_000), 'm/2': later(AT, 1), 'm/3': AT };

  test('are passed over at the start and later, until they have cooled down', () => {
    expect(start(['m/1', 'm/2', 'm/3'], cooling).model).toBe(2);
    expect(start(['m/1', 'm/4'], cooling).model).toBe(1);
    const next = after(rateLimited(), start(['m/0', 'm/1', 'm/2', 'm/3']), { cooling });
    expect(next).toMatchObject({ type: 'retry', tries: { model: 3 } });
    const cooled = { at: later(AT, 1) };
    expect(after(rateLimited(), start(['m/0', 'm/2']), { cooling, ...cooled })).toMatchObject({ tries: { model: 1 } });
  });

  test('are better than none', () => {
    expect(start(['m/1', 'm/2'], cooling).model).toBe(0);
    expect(after(rateLimited(), start(['m/0', 'm/1', 'm/2']), { cooling })).toMatchObject({ tries: { model: 1 } });
    expect(start([], cooling).model).toBe(0);
  });
});

describe('failures at the task', () => {
  test('once, unless the plan says more; the waits grow to the most', () => {
    expect(chain(failed('exit-code'), []).tried).toEqual([]);
    const retry = { ...PLAN, attempts: 5, backoff: { firstMs: 1_000, factor: 3, mostMs: 5_000 } };
    const { tried, note } = chain(failed('exit-code'), ['m/1', 'm/2'], { retry, ranMs: 60_000 });
    expect(tried.map((one) => one.delayMs)).toEqual([1_000, 3_000, 5_000, 5_000]);
    // A task that failed says nothing against the model.
    expect(tried.every((one) => one.model === 'm/1' && one.class === 'task')).toBe(true);
    expect(note).toBeNull();
  });

  test('a stall that is to be tried again is, once, without the plan asking for more attempts', () => {
    const stalled = {
      ...attemptOutput('failed'),
      failure: null,
      cause: { type: 'stall-limit', at: AT, limitMs: 1, action: 'retry' } as const,
    };
    expect(chain(stalled, []).tried).toHaveLength(1);
    expect(chain(stalled, [], { retry: { ...PLAN, attempts: 3 } }).tried).toHaveLength(2);
  });
});

describe('never', () => {
  const all = { ...PLAN, attempts: 5 };

  test('after what may have changed something, unless the plan allows it', () => {
    for (const attempt of [failed('exit-code'), rateLimited(), killedAtStart]) {
      const changed = { ...attempt, sideEffects: true };
      expect(after(changed, start([]), { retry: all })).toMatchObject({ type: 'settle', note: expect.any(String) });
      expect(after(changed, start([]), { retry: { ...all, afterSideEffects: true } }).type).toBe('retry');
    }
  });

  test('while nobody can say that the last one is gone, at the level that was asked for', () => {
    for (const [verdict, asked] of [
      ['survived', 'group'],
      ['unknown', 'group'],
      ['gone', 'contained'],
    ] as const) {
      const attempt = failed('exit-code', { proof: proof(verdict) });
      expect(after(attempt, start([]), { retry: all, proof: asked })).toMatchObject({ note: expect.any(String) });
      expect(after(attempt, start([]), { retry: { ...all, unproven: true }, proof: asked }).type).toBe('retry');
    }
    const neverStarted = failed('resources-exhausted', { proof: null, exit: null });
    expect(after(neverStarted, start([]), { proof: 'contained' }).type).toBe('retry');
  });

  test('when it was ended from outside, or went well', () => {
    const stopped = { ...failed('exit-code'), cause: { type: 'stop', at: AT, source: 'test' } as const };
    expect(after(stopped, start([]), { retry: all })).toEqual({ type: 'settle', note: null });
    expect(after(attemptOutput('completed'), start([]), { retry: all })).toEqual({ type: 'settle', note: null });
  });
});

describe('jitter', () => {
  test('a wait of ours is between 75 and 125 % of what the plan says', () => {
    const retry = { ...PLAN, attempts: 2 };
    const waits = [0, 0.5, 1].map((chance) => after(failed('exit-code'), start([]), { retry, chance }));
    expect(waits).toMatchObject([{ delayMs: 750 }, { delayMs: 1_000 }, { delayMs: 1_250 }]);
  });

  test('chances lie from 0 to 1, depend on their seed alone, and spread', () => {
    const chances = Array.from({ length: 2_000 }, (_, seed) => chanceOf(seed, 1 + (seed % 5)));
    expect(chances.every((chance) => chance >= 0 && chance < 1)).toBe(true);
    expect(chances).toEqual(chances.map((_, seed) => chanceOf(seed, 1 + (seed % 5))));
    for (let tenth = 0; tenth < 10; tenth += 1) {
      const inside = chances.filter((chance) => Math.floor(chance * 10) === tenth).length;
      expect(inside, `from 0.${tenth} on`).toBeGreaterThan(100);
    }
  });
});

test('a wait is read where it is a number that makes sense', () => {
  const waits = [10, 0, -1, '10', undefined].map((retryAfter) =>
    retryAfterMs(failed('rate-limited', {}, { retryAfterMs: retryAfter as number })),
  );
  expect(waits).toEqual([10, 0, null, null, null]);
  expect(retryAfterMs(attemptOutput('completed'))).toBeNull();
});

const unfit = (more: Partial<AttemptOutput> = {}) => failed('schema-invalid', { session: 's1', ...more });

describe('S078, S079: a value that does not fit', () => {
  const tries = start(['m/1', 'm/2']);

  test('is told to its agent in the session, as often as the step says, and apart from tries at the task', () => {
    const first = after(unfit(), tries, { repairs: 1 });
    expect(first).toMatchObject({
      type: 'repair',
      session: 's1',
      delayMs: 0,
      tries: { repairs: 1, task: 0, model: 0 },
    });
    if (first.type !== 'repair') throw new Error('no repair');
    expect(after(unfit(), first.tries, { repairs: 1 })).toMatchObject({ type: 'settle' });
    expect(after(unfit(), first.tries, { repairs: 1, retry: { ...PLAN, attempts: 2 } })).toMatchObject({
      type: 'retry',
      class: 'task',
      tries: { task: 1, repairs: 1 },
    });
    expect(after(unfit(), tries)).toMatchObject({ type: 'settle' });
  });

  test('what was done stays done in a session; without one the task would be done again', () => {
    const sideEffects = true;
    expect(after(unfit(), tries, { repairs: 1, sideEffects })).toMatchObject({ type: 'repair' });
    expect(after(unfit({ session: null }), tries, { repairs: 1 })).toMatchObject({ type: 'repair', session: null });
    expect(after(unfit({ session: null }), tries, { repairs: 1, sideEffects })).toMatchObject({ type: 'settle' });
  });

  test('not when the time of the attempt is over, when a rule says never, or for another failure', () => {
    expect(after(unfit(), tries, { repairs: 1, leftMs: 0 })).toMatchObject({ type: 'settle' });
    const never: RetryPlan = { ...PLAN, rules: [{ code: 'schema-invalid', as: 'never' }] };
    expect(after(unfit(), tries, { repairs: 1, retry: never })).toMatchObject({ type: 'settle' });
    for (const code of ['hidden-error', 'missing-output', 'no-changes'] as const) {
      expect(after(failed(code, { session: 's1' }), tries, { repairs: 1 })).toMatchObject({ type: 'settle' });
    }
    expect(after(unfit({ proof: proof('survived') }), tries, { repairs: 1 })).toMatchObject({ type: 'settle' });
  });
});
