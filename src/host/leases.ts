import type { Instant, Owner, StepId } from '../../machines/protocol.ts';
import type { LeaseRecord } from './lease-record.ts';
import { type Lease, type TakeOptions, type Taken, takeLease } from './lease.ts';

export interface LeaseRequest {
  step: StepId;
  attempt: number;
  token: string;
  session: string;
  at: Instant;
}

/** The leases that one run has: handles only, whether one is held is the step machine's to say. */
export class Leases {
  readonly #open = new Map<string, Lease>();
  readonly #of: { root: string; run: string; owner: Owner };

  constructor(of: { root: string; run: string; owner: Owner }) {
    this.#of = of;
  }

  async take({ step, attempt, ...request }: LeaseRequest, isGone: TakeOptions['isGone']): Promise<Taken> {
    const { root, run, owner } = this.#of;
    const taken = await takeLease({ root, record: { v: 1, run, owner, step, attempt, ...request }, isGone });
    if (taken.type === 'ok') this.#open.set(keyOf(step, attempt), taken.lease);
    return taken;
  }

  /** Once nothing is left of that attempt, or nothing was started. */
  release(step: StepId, attempt: number): void {
    this.#open.get(keyOf(step, attempt))?.release();
    this.#open.delete(keyOf(step, attempt));
  }

  /** Those that are still held. */
  held(): LeaseRecord[] {
    return [...this.#open.values()].map(({ record }) => record);
  }
}

const keyOf = (step: StepId, attempt: number): string => `${step}/${attempt}`;
