import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { type Entered, NEST_ENV, type Nest, enterNest, nestOfEntered } from '../../src/nest/index.ts';
import { claimOwner, runDir } from '../../src/record/index.ts';
import { ownOwner } from '../support/made-run.ts';
import { addRun, childOf, makeNest, tampered } from './support.ts';

/** Whether a run may be started below another, and that nothing in the environment is believed. */

const brief = (entered: Entered): string => (entered.type === 'refused' ? entered.reason : entered.type);
const message = (entered: Entered): string => (entered.type === 'refused' ? entered.message : '');

/** Enters, and makes the run that did. */
function started(env: Record<string, string>, root: string, run: string): Nest {
  const entered = enterNest({ env, run });
  if (entered.type !== 'nested') throw new Error(message(entered));
  addRun(root, run);
  return entered.nest;
}

test('outside of any run there is nothing to enter', () => {
  expect(enterNest({ env: {}, run: 'r' })).toEqual({ type: 'top' });
  expect(enterNest({ env: { [NEST_ENV]: '' }, run: 'r' })).toEqual({ type: 'top' });
  expect(nestOfEntered({}, 'r')).toBeNull();
});

test('a child of a run takes a slot, which says where it was started', () => {
  const { root, top, nest } = makeNest();
  expect(existsSync(top.nest)).toBe(false);
  const entered = enterNest({ env: childOf(nest), run: 'one' });
  expect(entered).toMatchObject({
    type: 'nested',
    nest: { root, run: 'one', top: 'top', depth: 1, parent: { run: 'top', step: 'a', attempt: 1 } },
  });
  expect(JSON.parse(readFileSync(top.slot(1), 'utf8'))).toMatchObject({ v: 1, run: 'one', depth: 1 });
  expect([statSync(top.nest).mode & 0o777, statSync(top.slot(1)).mode & 0o777]).toEqual([0o700, 0o600]);
  expect(nestOfEntered(childOf(nest), 'one')).toEqual(entered.type === 'nested' && entered.nest);
  expect(() => nestOfEntered(childOf(nest), 'two')).toThrow('no place');
  // A start that came to nothing.
  if (entered.type === 'nested') entered.leave();
  expect(readdirSync(top.nest)).toEqual([]);
});

test('the fourth level is refused with the limit and what to do', () => {
  const { root, nest } = makeNest();
  const third = ['one', 'two', 'three'].reduce((above, run) => started(childOf(above), root, run), nest);
  const fourth = enterNest({ env: childOf(third), run: 'four' });
  expect(brief(fourth)).toBe('depth');
  expect(message(fourth)).toContain('depth 4 below run top, whose limit is 3');
  expect(message(fourth)).toContain('limits.nested.depth');
});

test('a plan that forbids nested runs, and one that has had its number', () => {
  const forbidden = makeNest({ depth: 0, total: 10 });
  expect(brief(enterNest({ env: childOf(forbidden.nest), run: 'one' }))).toBe('depth');
  const { root, nest } = makeNest({ depth: 3, total: 2 });
  const first = started(childOf(nest), root, 'one');
  started(childOf(first), root, 'two');
  const third = enterNest({ env: childOf(first), run: 'three' });
  expect([brief(third), message(third)]).toEqual(['total', expect.stringContaining('limits.nested.total')]);
});

test('what is no capability is refused, and makes nothing', () => {
  const { root, top, nest } = makeNest();
  const outside = join(root, 'outside');
  const garbage: (string | Record<string, string>)[] = [
    'garbage',
    '{}',
    'null',
    '[]',
    '{"v":1',
    'x'.repeat(40_000),
    tampered(nest, { v: 2 }),
    tampered(nest, { root: 'relative/path' }),
    tampered(nest, { root: `${root}\0x` }),
    tampered(nest, { top: '../outside' }),
    tampered(nest, { top: '..' }),
    tampered(nest, { top: 'a/b' }),
    tampered(nest, { depth: -1 }),
    tampered(nest, { depth: 0.5 }),
    tampered(nest, { token: '' }),
    tampered(nest, { parent: { run: '../../outside', step: 'a', attempt: 1 } }),
    tampered(nest, { parent: { run: 'top', step: '../a', attempt: 1 } }),
    tampered(nest, { parent: { run: 'top', step: 'a', attempt: 0 } }),
  ];
  for (const value of garbage) {
    const env = typeof value === 'string' ? { [NEST_ENV]: value } : value;
    expect(brief(enterNest({ env, run: 'one' })), JSON.stringify(env).slice(0, 200)).toBe('unreadable');
  }
  expect([existsSync(top.nest), existsSync(outside)]).toEqual([false, false]);
});

test('what does not agree with the record is refused', () => {
  const { root, top, nest } = makeNest();
  addRun(root, 'other');
  const elsewhere = join(root, 'nowhere', 'at', 'all');
  const wrong = [
    tampered(nest, { token: 'another' }),
    tampered(nest, { top: 'missing' }),
    tampered(nest, { root: elsewhere }),
    tampered(nest, { depth: 1 }),
    // A run of this root, and none of this nest.
    tampered(nest, { parent: { run: 'other', step: 'a', attempt: 1 } }),
  ];
  for (const env of wrong) {
    const entered = enterNest({ env, run: 'one' });
    expect(brief(entered), JSON.stringify(env)).toBe('not-valid');
    expect(() => nestOfEntered(env, 'one')).toThrow('is not valid');
  }
  expect([existsSync(elsewhere), existsSync(top.nest)]).toEqual([false, false]);
});

test('the depth is that of the record: a child cannot make itself less deep', () => {
  const { root, nest } = makeNest({ depth: 2, total: 10 });
  const second = started(childOf(started(childOf(nest), root, 'one')), root, 'two');
  expect(brief(enterNest({ env: childOf(second), run: 'three' }))).toBe('depth');
  expect(brief(enterNest({ env: tampered(second, { depth: 0 }), run: 'three' }))).toBe('not-valid');
  expect(brief(enterNest({ env: tampered(second, { depth: 1 }), run: 'three' }))).toBe('not-valid');
});

test('fields of a later version are passed over', () => {
  const { nest } = makeNest();
  const env = tampered(nest, { parent: { run: 'top', step: 'a', attempt: 1, more: true } });
  expect(brief(enterNest({ env, run: 'one' }))).toBe('nested');
});

test('a child of an earlier owner is left over', () => {
  const { top, nest } = makeNest();
  claimOwner(top, 2, { ...ownOwner(), instance: 'the-next' });
  expect(brief(enterNest({ env: childOf(nest), run: 'one' }))).toBe('not-valid');
  expect(brief(enterNest({ env: tampered(nest, { token: 'the-next' }), run: 'one' }))).toBe('nested');
});

test('nothing is started below a run that has ended', () => {
  const { root, top, nest } = makeNest();
  const one = started(childOf(nest), root, 'one');
  writeFileSync(runDir(root, 'one').closed, '{}');
  expect(brief(enterNest({ env: childOf(one), run: 'two' }))).toBe('ended');
  expect(brief(enterNest({ env: childOf(nest), run: 'two' }))).toBe('nested');
  writeFileSync(top.closed, '{}');
  expect(brief(enterNest({ env: childOf(nest), run: 'three' }))).toBe('ended');
});

test('another state root that was asked for is refused; the same one is not', () => {
  const { root, nest } = makeNest();
  const link = join(root, 'link');
  symlinkSync(root, link);
  const asked = (path: string): string => brief(enterNest({ env: childOf(nest), root: path, run: 'one' }));
  expect(asked(join(root, 'other'))).toBe('root');
  expect(asked(link)).toBe('nested');
  expect(asked(`${root}/`)).toBe('nested');
});

test('what lies in the place of a slot is passed over, and a link is not followed', () => {
  const { root, top, nest } = makeNest({ depth: 3, total: 4 });
  mkdirSync(top.nest);
  mkdirSync(top.slot(1));
  symlinkSync(join(root, 'outside'), top.slot(2));
  writeFileSync(top.slot(3), '{"v":1,"run":"../x"}');
  expect(brief(enterNest({ env: childOf(nest), run: 'one' }))).toBe('nested');
  expect(brief(enterNest({ env: childOf(nest), run: 'two' }))).toBe('total');
  expect(existsSync(join(root, 'outside'))).toBe(false);
});
