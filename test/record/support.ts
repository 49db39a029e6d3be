import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

export { at, body, owner, statusOf } from './support-data.ts';

/** A folder of this test's own, removed when it ends. */
export function tempFolder(): string {
  const path = mkdtempSync(join(tmpdir(), 'coxswain-record-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

export function json(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'));
}

export function mode(path: string): number {
  return statSync(path).mode & 0o777;
}

/** Every path below a folder. */
export function everything(path: string): string[] {
  return readdirSync(path, { recursive: true, encoding: 'utf8' }).map((name) => join(path, name));
}

/** Resolves when `condition` holds; fails when it does not within the deadline. */
export async function until(condition: () => boolean, what: string, deadlineMs = 5000): Promise<void> {
  const end = Date.now() + deadlineMs;
  while (!condition()) {
    if (Date.now() > end) throw new Error(`not within ${deadlineMs} ms: ${what}`);
    // A poll of a condition, not a guess at a duration.
    await new Promise((resolve) => {
      setTimeout(resolve, 5);
    });
  }
}

export interface Deferred {
  promise: Promise<void>;
  resolve: () => void;
}

/** A promise to open from outside, as a gate. */
export function deferred(): Deferred {
  let resolve: (() => void) | null = null;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve: () => resolve?.() };
}
