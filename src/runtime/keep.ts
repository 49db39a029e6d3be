import { writeFileSync } from 'node:fs';
import type { Proof, StepId } from '../../machines/protocol.ts';
import { troubleOf } from '../record/index.ts';
import type { Kit } from './kit.ts';

/**
 * Keeps the proof of an attempt as its proof.json. Not flushed to disk: the journal carries the verdict, and
 * run.settled is flushed after it. What cannot be written is journaled as degraded; the proof itself stands.
 */
export function keepProof(kit: Kit, { step, n, proof }: { step: StepId; n: number; proof: Proof }): void {
  kit.table.close(step, n, proof.verdict);
  try {
    writeFileSync(kit.dir.attempt(step, n).proof, `${JSON.stringify({ v: 1, ...proof })}\n`, { mode: 0o600 });
  } catch (error) {
    const { message } = troubleOf(error);
    kit.record({ type: 'persistence.degraded', at: kit.now(), line: `${step}#${n} proof.json`, message });
  }
}
