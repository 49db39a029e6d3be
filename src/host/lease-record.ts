import { z } from 'zod';
import type { Instant, Owner, StepId } from '../../machines/protocol.ts';
import { ownerSchema } from '../record/index.ts';

/** `leases/<key>/<n>.json` of the state root: who has an agent's session, from before its launch until its tree is proven gone. */
export interface LeaseRecord {
  v: 1;
  /** Its real path. */
  session: string;
  /** The runner. */
  owner: Owner;
  run: string;
  step: StepId;
  attempt: number;
  /** Of the attempt's processes: what they are known by. No two leases have the same. */
  token: string;
  at: Instant;
}

export const leaseSchema = z.object({
  v: z.literal(1),
  session: z.string(),
  owner: ownerSchema,
  run: z.string(),
  step: z.string(),
  attempt: z.int().positive(),
  token: z.string().min(1),
  at: z.string(),
}) satisfies z.ZodType<LeaseRecord>;

/** The records of this room as JSON Schema (draft 2020-12), by the name of their file in `schema/`. */
export function hostJsonSchemas(): Record<string, object> {
  return { lease: { title: 'coxswain lease v1', ...z.toJSONSchema(leaseSchema, { io: 'input' }) } };
}
