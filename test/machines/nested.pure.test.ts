import { describe, expect, test } from 'vitest';
import { ladderFor } from '../../machines/attempt-outcome.ts';
import { MOST_NESTED, nestedOf, seeNested, showNested } from '../../machines/policy/nested.ts';
import type { Cause, NestedSeen, Rung, RunState } from '../../machines/protocol.ts';
import { AT } from './models.ts';

const seen = (id: string, state: RunState, more: Partial<NestedSeen> = {}): NestedSeen => ({
  id,
  step: 'a',
  attempt: 1,
  depth: 1,
  epoch: 1,
  seq: 1,
  name: 'inner',
  state,
  counts: {},
  updatedAt: AT,
  ...more,
});

const states = ({ known }: { known: NestedSeen[] }): string[] => known.map(({ id, state }) => `${id} ${state}`);
const ids = (runs: NestedSeen[]): string[] => runs.map(({ id }) => id);

describe('another look at nested runs', () => {
  test('a run that was not known has started, and one that is over has ended, too', () => {
    const first = seeNested([], [seen('a', 'running'), seen('b', 'completed')]);
    expect(states(first)).toEqual(['a running', 'b completed']);
    expect([ids(first.started), ids(first.ended)]).toEqual([['a', 'b'], ['b']]);
  });

  test('what goes on is newer and no news for the journal', () => {
    const known = [seen('a', 'running')];
    const next = seeNested(known, [seen('a', 'stopping', { seq: 2 })]);
    expect(states(next)).toEqual(['a stopping']);
    expect([next.started, next.ended]).toEqual([[], []]);
  });

  test('what is older changes nothing, in whatever order it comes', () => {
    const known = [seen('a', 'stopping', { seq: 5 })];
    expect(seeNested(known, [seen('a', 'running', { seq: 4 })]).known).toEqual(known);
    expect(seeNested(known, [seen('a', 'completed', { seq: 9, epoch: 0 })]).known).toEqual(known);
    expect(seeNested(known, [seen('a', 'running', { seq: 5 })]).known).toEqual(known);
    const fresher = seen('a', 'stopping', { seq: 5, updatedAt: '2027-01-01T00:00:00.000Z' });
    expect(seeNested(known, [fresher]).known).toEqual([fresher]);
  });

  test.each(['completed', 'failed', 'stopped', 'paused'] as const)('%s never reverts', (state) => {
    const known = [seen('a', state, { seq: 5 })];
    for (const other of ['running', 'completed', 'failed'] as const) {
      const next = seeNested(known, [seen('a', other, { seq: 9, updatedAt: '2027-01-01T00:00:00.000Z' })]);
      expect(next).toEqual({ known, started: [], ended: [] });
    }
  });

  test('a later owner takes it up again', () => {
    const known = [seen('a', 'paused', { seq: 5 })];
    const again = seeNested(known, [seen('a', 'running', { epoch: 2, seq: 6 })]);
    expect([states(again), ids(again.started), ids(again.ended)]).toEqual([['a running'], ['a'], []]);
    const over = seeNested(known, [seen('a', 'completed', { epoch: 2, seq: 9 })]);
    expect([states(over), ids(over.started), ids(over.ended)]).toEqual([['a completed'], [], ['a']]);
  });

  test('the given lists are left alone', () => {
    const known: readonly NestedSeen[] = Object.freeze([Object.freeze(seen('a', 'running'))]);
    expect(states(seeNested(known, [seen('a', 'failed', { seq: 2 }), seen('b', 'queued')]))).toEqual([
      'a failed',
      'b queued',
    ]);
    expect(known).toEqual([seen('a', 'running')]);
  });

  test('no more are known than a plan can allow', () => {
    const many = Array.from({ length: MOST_NESTED + 5 }, (_, n) => seen(`r${n}`, 'running'));
    const full = seeNested([], many);
    expect([full.known.length, full.started.length]).toEqual([MOST_NESTED, MOST_NESTED]);
    expect(seeNested(full.known, [seen('r0', 'failed', { seq: 2 })]).ended).toHaveLength(1);
  });
});

const runs = (live: number, ended: number): NestedSeen[] => [
  ...Array.from({ length: ended }, (_, n) => seen(`e${n}`, 'completed')),
  ...Array.from({ length: live }, (_, n) => seen(`l${n}`, 'running')),
];

describe('what is shown', () => {
  test('all of a few', () => {
    expect(showNested(runs(3, 13))).toEqual(runs(3, 13));
  });

  test('of many those that go on, and the last that have ended, at most 16', () => {
    expect(ids(showNested(runs(2, 30)))).toEqual([...Array.from({ length: 14 }, (_, n) => `e${n + 16}`), 'l0', 'l1']);
    expect(ids(showNested(runs(20, 3)))).toEqual(Array.from({ length: 16 }, (_, n) => `l${n}`));
  });
});

describe('who waits for an answer below', () => {
  test('is counted over all that are known, those that are not shown too', () => {
    const many = runs(20, 0).map((one) => ({ ...one, asks: 2 }));
    expect(nestedOf(many).nested).toMatchObject({ total: 20, asks: 40 });
    expect(nestedOf(runs(2, 1)).nested).not.toHaveProperty('asks');
  });

  test('is nobody in a run that has ended', () => {
    const { known } = seeNested([], [seen('a', 'running', { asks: 1 }), seen('b', 'paused', { asks: 1 })]);
    expect(known.map(({ asks }) => asks)).toEqual([1, undefined]);
    const over = seeNested(known, [seen('a', 'failed', { seq: 2, asks: 1 })]);
    expect(nestedOf(over.known).nested).toEqual({ total: 2, runs: over.known });
  });
});

describe('how those below are ended', () => {
  const ladder: Rung[] = [
    { do: 'stop-nested', graceMs: 5_000 },
    { do: 'abort', graceMs: 1_000 },
    { do: 'SIGKILL', graceMs: 1_000 },
  ];
  const rungs = (cause: Cause | null, forcedExit = false): string[] =>
    ladderFor({ ladder, forcedExit, cause }).map((rung) => rung.do);

  test.each<[string, Cause | null, string]>([
    ['a stop', { type: 'stop', at: AT, source: 'test' }, 'stop-nested'],
    ['a limit', { type: 'step-limit', at: AT, limitMs: 5 }, 'stop-nested'],
    ['an interrupt', { type: 'interrupt', at: AT, source: 'test' }, 'interrupt-nested'],
    ['nothing', null, 'stop-nested'],
  ])('for %s', (_, cause, first) => {
    expect(rungs(cause)).toEqual([first, 'abort', 'SIGKILL']);
  });

  test('also when the work is done and the process does not go', () => {
    expect(rungs(null, true)).toEqual(['stop-nested', 'SIGKILL']);
    expect(ladder.map(({ graceMs }) => graceMs)).toEqual([5_000, 1_000, 1_000]);
  });
});
