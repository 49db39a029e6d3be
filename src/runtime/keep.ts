import { writeFile } from 'node:fs';
import type { Proof, StepId } from '../../machines/protocol.ts';
import { troubleOf } from '../record/index.ts';
import type { Kit } from './kit.ts';

/**
 * Proofs on their way to their files, off the thread of the event loop: the next process to start does not wait for
 * them. The end of the run does.
 */
export class ProofFiles {
  #writing = 0;
  #waiting: (() => void)[] = [];

  write(path: string, text: string, failed: (error: Error) => void): void {
    this.#writing += 1;
    writeFile(path, text, { mode: 0o600 }, (error) => {
      this.#writing -= 1;
      if (error !== null) failed(error);
      if (this.#writing > 0) return;
      for (const resolve of this.#waiting.splice(0)) resolve();
    });
  }

  /** Settles when none is on its way. */
  async settled(): Promise<void> {
    if (this.#writing > 0) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

/**
 * Keeps the proof of an attempt as its proof.json, soon. Not flushed to disk: the journal carries the verdict, and
 * run.settled is flushed after it. What cannot be written is journaled as degraded; the proof itself stands.
 */
export function keepProof(kit: Kit, { step, n, proof }: { step: StepId; n: number; proof: Proof }): void {
  kit.table.close(step, n, proof.verdict);
  const failed = kit.guard((error: Error) => {
    const { message } = troubleOf(error);
    kit.record({ type: 'persistence.degraded', at: kit.now(), line: `${step}#${n} proof.json`, message });
  });
  kit.proofs.write(kit.dir.attempt(step, n).proof, `${JSON.stringify({ v: 1, ...proof })}\n`, failed);
}
