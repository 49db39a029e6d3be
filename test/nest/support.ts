import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Nest, NEST_ENV, nestEnv, nestOfTop } from '../../src/nest/index.ts';
import { type NestCapability, type RunDir, claimOwner, createRunDir } from '../../src/record/index.ts';
import { ownOwner } from '../support/made-run.ts';

/** A state root with a top run that is owned by this process; removed after the test. */
export function makeNest(limits = { depth: 3, total: 10 }): { root: string; top: RunDir; nest: Nest } {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'coxswain-nest-')));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  const top = addRun(root, 'top', limits);
  const owner = { ...ownOwner(), instance: 'the-owner' };
  if (claimOwner(top, 1, owner).type !== 'ok') throw new Error('not claimed');
  return { root, top, nest: nestOfTop({ root, id: 'top', instance: 'the-owner', limits }) };
}

/** A run directory as a starter leaves it. */
export function addRun(root: string, id: string, nested: object = { depth: 3, total: 10 }): RunDir {
  const made = createRunDir(root, id, { version: 1, limits: { concurrency: 1, timeoutMs: null, nested } });
  if (made.type !== 'ok') throw new Error(`no run directory: ${made.type}`);
  return made.dir;
}

/** The environment of a child of step `a`, attempt 1. */
export const childOf = (nest: Nest): Record<string, string> => nestEnv(nest, { step: 'a', n: 1 });

/** The same with something in its capability changed. */
export function tampered(nest: Nest, changes: Partial<Record<keyof NestCapability, unknown>>): Record<string, string> {
  const capability = JSON.parse(childOf(nest)[NEST_ENV] ?? '') as NestCapability;
  return { [NEST_ENV]: JSON.stringify({ ...capability, ...changes }) };
}
