import { createActor, fromCallback } from 'xstate';
import { describe, expect, test } from 'vitest';
import { EXIT_GRACE, REVIEW_LIMIT } from '../../machines/policy/defaults.ts';
import { later } from '../../machines/policy/time.ts';
import { activityMachine, attemptMachine, fill } from '../../machines/index.ts';
import type { AttemptInput, AttemptLimits, ChildCommand, JournalBody } from '../../machines/protocol.ts';
import { StepClock } from '../../src/testing/index.ts';
import { AT, NO_LIMITS, attemptModel } from './models.ts';

/** A child that reviews its work in the background: after its end that is waited for, and not for ever. */
function running(limits: Partial<AttemptLimits> = {}) {
  const clock = new StepClock();
  const told: string[] = [];
  const records: JournalBody[] = [];
  const child = fromCallback<ChildCommand>(({ receive }) => receive(({ type }) => void told.push(type)));
  const machine = attemptMachine.provide({
    actors: {
      child: fill(child as never) as never,
      activity: fill(activityMachine),
      termination: fill(fromCallback(() => {}) as never) as never,
    },
    actions: { record: (_: unknown, body: JournalBody) => void records.push(body) },
  });
  const given = attemptModel.input as AttemptInput;
  const actor = createActor(machine, { clock, input: { ...given, limits: { ...NO_LIMITS, ...limits } } }).start();
  const now = (): string => later(AT, clock.now());
  const send = (event: object): void => actor.send({ at: now(), ...event } as never);
  send({ type: 'child.started', pid: 42, startTime: 1 });
  return {
    told,
    wait: (ms: number) => clock.advance(ms),
    review: (seq: number, active: boolean) => send({ type: 'child.review', seq, active }),
    ended: () => send({ type: 'child.ended', end: { type: 'success', chars: 2, stop: 'stop' } }),
    failed: () =>
      send({ type: 'child.ended', end: { type: 'failure', failure: { code: 'model-error', message: 'no' } } }),
    resumed: () => send({ type: 'child.resumed' }),
    exited: () => send({ type: 'child.exited', code: 0, signal: null }),
    stop: () => send({ type: 'end', cause: { type: 'stop', at: now(), source: 'test' } }),
    state: () => JSON.stringify(actor.getSnapshot().value).replaceAll(/["{}]/g, ''),
    context: () => actor.getSnapshot().context,
    activities: () => records.flatMap((one) => (one.type === 'activity.changed' ? [one.state] : [])),
    overdue: () => records.flatMap((one) => (one.type === 'review.overdue' ? [one] : [])),
  };
}

describe('while it reviews', () => {
  test('its end is waited for, and it is asked to exit when the review is over', () => {
    const child = running();
    child.review(1, true);
    child.ended();
    expect(child.state()).toBe('working:reviewing');
    expect(child.context().activity).toBe('reviewing');
    child.wait(REVIEW_LIMIT - 1);
    expect(child.told).toEqual([]);
    child.review(2, false);
    expect(child.state()).toBe('working:finishing');
    expect(child.told).toEqual(['child.finish']);
    expect(child.activities().slice(-2)).toEqual(['reviewing', 'fresh']);
    expect(child.overdue()).toEqual([]);
  });

  test('it may go on working: that was not the end', () => {
    const child = running();
    child.review(1, true);
    child.ended();
    child.wait(100_000);
    child.resumed();
    expect(child.state()).toBe('working:running');
    child.ended();
    // Its time begins anew with the new end.
    child.wait(REVIEW_LIMIT - 1);
    expect(child.state()).toBe('working:reviewing');
  });

  test('it may exit by itself', () => {
    const child = running();
    child.review(1, true);
    child.ended();
    child.exited();
    expect(child.state()).toBe('draining');
  });

  test('a stop is a stop, and a limit of the attempt is one', () => {
    const child = running();
    child.review(1, true);
    child.ended();
    child.stop();
    expect(child.state()).toBe('terminating');
    const limited = running({ attemptMs: 1_000 });
    limited.review(1, true);
    limited.ended();
    limited.wait(1_000);
    expect(limited.context().cause).toMatchObject({ type: 'attempt-limit' });
  });

  test('its silence is no stall, unless it goes on working', () => {
    const child = running({ stall: { afterMs: 30_000, action: 'stop' } });
    child.review(1, true);
    child.ended();
    child.wait(100_000);
    expect(child.state()).toBe('working:reviewing');
    child.resumed();
    child.wait(30_000);
    expect(child.context().cause).toMatchObject({ type: 'stall-limit' });
  });
});

describe('after its time', () => {
  test('the attempt goes on without it and has done well', () => {
    const child = running();
    child.review(1, true);
    child.ended();
    child.wait(REVIEW_LIMIT);
    expect(child.state()).toBe('working:finishing');
    expect(child.told).toEqual(['child.finish']);
    expect(child.overdue()).toMatchObject([
      { at: later(AT, REVIEW_LIMIT), step: 'a', attempt: 1, limitMs: REVIEW_LIMIT },
    ]);
    expect(child.context()).toMatchObject({ cause: null, end: { type: 'success' } });
    child.wait(EXIT_GRACE);
    expect(child.state()).toBe('terminating');
    expect(child.context().cause).toBe(null);
  });

  test('a review that begins again and again has no more time than one', () => {
    const child = running();
    child.ended();
    let at = 0;
    for (let seq = 1; child.state().startsWith('working'); seq += 1) {
      child.review(seq, seq % 2 === 1);
      child.wait(500);
      at += 500;
    }
    expect(at).toBeGreaterThanOrEqual(REVIEW_LIMIT);
    expect(at).toBeLessThanOrEqual(REVIEW_LIMIT + 2 * EXIT_GRACE);
  });
});

describe('is not waited for', () => {
  test('when it is over before the end, when there is none, and when the work has failed', () => {
    const over = running();
    over.review(1, true);
    over.review(2, false);
    over.ended();
    const none = running();
    none.ended();
    const failed = running();
    failed.review(1, true);
    failed.failed();
    for (const child of [over, none, failed]) expect(child.state()).toBe('working:finishing');
  });

  test('when a later report has come before it', () => {
    const child = running();
    child.review(5, false);
    child.review(4, true);
    child.ended();
    expect(child.state()).toBe('working:finishing');
    child.review(5, true);
    expect(child.state()).toBe('working:finishing');
    // It has just begun: there is a second in which to say so.
    child.review(6, true);
    expect(child.state()).toBe('working:reviewing');
    child.review(6, false);
    expect(child.state()).toBe('working:reviewing');
  });
});
