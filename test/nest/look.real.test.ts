import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { NestedSeen, Status } from '../../machines/protocol.ts';
import { type Nest, createNestLooker, enterNest, liveNested } from '../../src/nest/index.ts';
import { type RunDir, runDir } from '../../src/record/index.ts';
import { deadOwner, makeRunDir, statusOf } from '../support/made-run.ts';
import { addRun, childOf, makeNest } from './support.ts';

/** How a runner sees the runs that its children started: through slots and status files, and no others. */

const states = (seen: NestedSeen[]): string[] => seen.map(({ id, state }) => `${id} ${state}`);

/** A nested run that has taken its slot. */
function nested(above: Nest, id: string): { nest: Nest; dir: RunDir } {
  const entered = enterNest({ env: childOf(above), run: id });
  if (entered.type !== 'nested') throw new Error(entered.type);
  return { nest: entered.nest, dir: addRun(above.root, id) };
}

/** Replaces its status, as a runner does. */
let version = 0;
function says(dir: RunDir, changes: Partial<Status> | string): void {
  writeFileSync(
    dir.status,
    typeof changes === 'string' ? changes : JSON.stringify(statusOf(dir.id, { seq: version, ...changes })),
  );
  // The clock of a file system may be too coarse for two changes in a row.
  version += 1;
  utimesSync(dir.status, version, version);
}

test('without a nest there is nothing to see', () => {
  const { nest } = makeNest();
  expect(createNestLooker(nest).look()).toEqual([]);
  expect(liveNested(nest, { step: 'a', n: 1 })).toEqual([]);
});

test('each change is told once, and no other', () => {
  const { nest } = makeNest();
  const looker = createNestLooker(nest);
  const { dir } = nested(nest, 'one');
  expect(looker.look()).toMatchObject([{ id: 'one', step: 'a', attempt: 1, depth: 1, state: 'queued', name: '' }]);
  expect(looker.look()).toEqual([]);
  says(dir, { name: 'inner\nrun', state: 'running' });
  expect(looker.look()).toMatchObject([{ id: 'one', state: 'running', name: 'inner run', counts: { running: 1 } }]);
  expect(looker.look()).toEqual([]);
  says(dir, { state: 'completed' });
  expect(states(looker.look())).toEqual(['one completed']);
});

test('each run sees those of its own children', () => {
  const { nest } = makeNest();
  const one = nested(nest, 'one');
  const two = nested(one.nest, 'two');
  says(one.dir, {});
  says(two.dir, {});
  expect(states(createNestLooker(nest).look())).toEqual(['one running']);
  expect(states(createNestLooker(one.nest).look())).toEqual(['two running']);
  expect(createNestLooker(two.nest).look()).toEqual([]);
});

test('who waits for an answer is counted with those further below, and within bounds', () => {
  const { nest } = makeNest();
  const { dir } = nested(nest, 'one');
  const looker = createNestLooker(nest);
  const at = new Date(0).toISOString();
  const ask = { id: 'a.1.q', step: 'a', attempt: 1, text: { chars: 1, sha256: '0' }, at, state: 'asked' as const };
  const counted = (changes: object): unknown[] => {
    says(dir, changes);
    return looker.look().map(({ asks }) => asks);
  };
  expect(counted({ asks: [] })).toEqual([undefined]);
  expect(counted({ asks: [ask, { ...ask, state: 'answered' }] })).toEqual([1]);
  expect(counted({ asks: [ask], nested: { total: 1, asks: 2, runs: [] } })).toEqual([3]);
  // Another version, or another program.
  expect(counted({ asks: undefined })).toEqual([undefined]);
  expect(counted({ asks: 'many', nested: { asks: -1 } })).toEqual([undefined]);
  expect(counted({ asks: [ask], nested: { asks: 1e15 } })).toEqual([64 * 257]);
});

test('what is no status is passed over, until there is one', () => {
  const { root, nest } = makeNest();
  const { dir } = nested(nest, 'one');
  const other = addRun(root, 'other');
  says(other, { state: 'completed' });
  const looker = createNestLooker(nest);
  for (const text of ['', '{}', '{"v":1', JSON.stringify(statusOf('other')), '{"v":2}']) {
    says(dir, text);
    expect(looker.look(), text).toEqual([]);
  }
  rmSync(dir.status);
  symlinkSync(other.status, dir.status);
  expect(looker.look()).toEqual([]);
  rmSync(dir.status);
  mkdirSync(dir.status);
  expect(looker.look()).toEqual([]);
  rmSync(dir.status, { recursive: true });
  says(dir, { counts: { ...statusOf('one').counts, running: 0, completed: 3, odd: 7 } as Status['counts'] });
  expect(looker.look()).toMatchObject([{ id: 'one', counts: { completed: 3 } }]);
});

test('a slot that was given back and taken by another run is that of the other', () => {
  const { nest } = makeNest();
  const looker = createNestLooker(nest);
  const first = enterNest({ env: childOf(nest), run: 'one' });
  expect(looker.look()).toEqual([]);
  if (first.type === 'nested') first.leave();
  nested(nest, 'two');
  expect(states(looker.look())).toEqual(['two queued']);
});

test('a run directory that is removed is no reason to forget', () => {
  const { root, nest } = makeNest();
  const { dir } = nested(nest, 'one');
  says(dir, { state: 'completed' });
  const looker = createNestLooker(nest);
  expect(states(looker.look())).toEqual(['one completed']);
  rmSync(dir.path, { recursive: true });
  expect(looker.look()).toEqual([]);
  makeRunDir(root, 'one', null);
  expect(states(looker.look())).toEqual(['one queued']);
});

test('the live ones of an attempt are those of that attempt that have not ended', () => {
  const { root, nest } = makeNest();
  const [one, two, three, four] = ['one', 'two', 'three', 'four'].map((id) => nested(nest, id).dir);
  if (one === undefined || two === undefined || three === undefined || four === undefined) throw new Error('none');
  says(one, {});
  says(two, { state: 'stopped' });
  says(three, { owner: deadOwner() });
  const live = (step: string, n: number): [string, boolean][] =>
    liveNested(nest, { step, n }).map(({ dir, owned }) => [dir.id, owned]);
  expect(live('a', 1)).toEqual([
    ['one', true],
    ['three', false],
    // Its runner is about to say something.
    ['four', true],
  ]);
  expect([live('a', 2), live('b', 1)]).toEqual([[], []]);
  rmSync(join(runDir(root, 'four').path), { recursive: true });
  expect(live('a', 1).map(([id]) => id)).toEqual(['one', 'three']);
});
