import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { PermissionAnswer } from '../agents/index.ts';
import { makeDir } from '../record/index.ts';

/**
 * The questions that a child has asked by its protocol, as files where those of a mailbox would lie: whoever looks at a run
 * reads them there. The child reads none of it; it is answered by its protocol.
 */
export class AskedByProtocol {
  readonly #folder: string;
  readonly #open = new Set<string>();

  constructor(attemptDir: string) {
    this.#folder = join(attemptDir, 'ask', 'requests');
  }

  has(ask: string): boolean {
    return this.#open.has(ask);
  }

  get names(): readonly string[] {
    return [...this.#open];
  }

  /** A question that cannot be written down can be answered all the same. */
  add(ask: string, text: string): void {
    this.#open.add(ask);
    try {
      makeDir(this.#folder);
      writeFileSync(this.#path(ask), JSON.stringify({ v: 1, id: ask, text }), { mode: 0o600 });
    } catch {
      // Then nobody can read it, and its length is on record.
    }
  }

  remove(ask: string): void {
    this.#open.delete(ask);
    rmSync(this.#path(ask), { force: true });
  }

  #path(ask: string): string {
    return join(this.#folder, `${ask}.json`);
  }
}

/** What somebody's words come to: one word is a yes, everything else is a no and the reason for it. Null: there was no answer. */
export function permissionIn(text: string | undefined): PermissionAnswer {
  if (text === undefined) return { type: 'deny', why: null };
  const words = text.trim();
  if (/^allow$/i.test(words)) return { type: 'allow' };
  return { type: 'deny', why: /^deny$/i.test(words) || words === '' ? null : words };
}
