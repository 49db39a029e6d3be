import type { StepId } from '../../machines/protocol.ts';
import type { OutputFile, StepOutputRef } from '../record/index.ts';

/** What came out of a step's last attempt: data, not state. Texts over 200 KiB are kept as a reference to their file. */
export interface Output {
  output: StepOutputRef | null;
  state: 'present' | 'absent' | 'unknown';
  truncated: boolean;
  files?: OutputFile[];
}

export const INLINE_OUTPUT_BYTES = 200 * 1024;

export const NO_OUTPUT: Output = { output: null, state: 'absent', truncated: false };

export class Outputs {
  readonly #byStep = new Map<StepId, Output>();

  set(step: StepId, output: Output): void {
    this.#byStep.set(step, output);
  }

  get(step: StepId): Output {
    return this.#byStep.get(step) ?? NO_OUTPUT;
  }
}
