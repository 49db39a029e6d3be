import { resolve } from 'node:path';
import type { Findings, Instant } from '../../machines/protocol.ts';
import { type Stamp, type Written, lookAt, stampOf } from './files.ts';
import type { Validator } from './schema.ts';
import { Submissions } from './submissions.ts';
import { type TreeState, readTree } from './work-tree.ts';

/** What a step has to show for itself. */
export interface Demand {
  cwd: string;
  /** Null: no value is asked for. */
  validator: Validator | null;
  /** As the plan names them. */
  files: readonly string[];
  /** Something in the work tree has to change; what lies at `apart` or below it does not count. */
  changes: { apart: readonly string[] } | null;
}

/** Takes what one attempt hands in, and looks at what it has written. Begun before the attempt is started. */
export class Check {
  readonly #demand: Demand;
  readonly #stamps: ReadonlyMap<string, Stamp>;
  readonly #before: TreeState | null;
  /** Null: no value is asked for. */
  readonly submissions: Submissions | null;

  private constructor(demand: Demand, stamps: ReadonlyMap<string, Stamp>, before: TreeState | null) {
    this.#demand = demand;
    this.#stamps = stamps;
    this.#before = before;
    this.submissions = demand.validator === null ? null : new Submissions(demand.validator);
  }

  static async begin(demand: Demand): Promise<Check> {
    const { cwd, files } = demand;
    const before = await treeOf(demand);
    return new Check(demand, new Map(files.map((file) => [file, stampOf(resolve(cwd, file))])), before);
  }

  /** For an attempt that goes on with the work: what it is held against is what was there when that was begun. */
  next(): Check {
    return new Check(this.#demand, this.#stamps, this.#before);
  }

  /** Why it could not see what it will have to compare with; null: it can. */
  get blind(): string | null {
    return this.#before?.type === 'unknown' ? this.#before.reason : null;
  }

  async look(now: () => Instant): Promise<{ findings: Findings; written: Written[] }> {
    const { cwd, files } = this.#demand;
    const written: Written[] = [];
    const missing: Findings['missing'] = [];
    for (const file of files) {
      const looked = await lookAt(file, cwd, this.#stamps.get(file) ?? null);
      if (looked.type === 'written') written.push(looked.written);
      else missing.push({ file, why: looked.why });
    }
    const changes = changesBetween(this.#before, await treeOf(this.#demand));
    const value = this.submissions?.finding() ?? null;
    return { findings: { at: now(), value, files: written.length, missing, changes }, written };
  }
}

/** The files that it has to write are no change of the work. */
async function treeOf({ cwd, files, changes }: Demand): Promise<TreeState | null> {
  if (changes === null) return null;
  return readTree(cwd, [...changes.apart, ...files.map((file) => resolve(cwd, file))]);
}

function changesBetween(before: TreeState | null, after: TreeState | null): Findings['changes'] {
  if (before === null || after === null) return null;
  if (before.type === 'unknown') return before;
  if (after.type === 'unknown') return after;
  return { type: before.digest === after.digest ? 'none' : 'some' };
}
