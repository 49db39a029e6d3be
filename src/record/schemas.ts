import { z } from 'zod';
import { closedInboxSchema, commandFileSchema, receiptSchema } from './schemas/control.ts';
import { journalRecordSchema } from './schemas/journal.ts';
import { nestCapabilitySchema, nestSlotSchema } from './schemas/nest.ts';
import { launchSchema, resultSchema } from './schemas/result.ts';
import { ownerSchema, proofSchema, runProofSchema } from './schemas/shared.ts';
import { statusSchema } from './schemas/status.ts';

/**
 * The schemas of everything in a run directory (v1). Unknown fields are accepted and dropped: a later minor version
 * may add some. A type test holds them equal to the types of the protocol.
 */

export { closedInboxSchema, commandFileSchema, receiptSchema } from './schemas/control.ts';
export { journalRecordSchema } from './schemas/journal.ts';
export { nestCapabilitySchema, nestSlotSchema } from './schemas/nest.ts';
export { launchSchema, resultSchema } from './schemas/result.ts';
export {
  causeSchema,
  failureSchema,
  ownerSchema,
  proofSchema,
  proofSummarySchema,
  runProofSchema,
  usageSchema,
} from './schemas/shared.ts';
export { statusSchema } from './schemas/status.ts';

/** Every record as JSON Schema (draft 2020-12), by the name of its file in `schema/`. */
export function jsonSchemas(): Record<string, object> {
  const schemas = {
    status: statusSchema,
    event: journalRecordSchema,
    command: commandFileSchema,
    receipt: receiptSchema,
    closed: closedInboxSchema,
    result: resultSchema,
    proof: proofSchema,
    'run-proof': runProofSchema,
    owner: ownerSchema,
    launch: launchSchema,
    nest: nestCapabilitySchema,
    'nest-slot': nestSlotSchema,
  };
  const entries = Object.entries(schemas).map(([name, schema]) => [
    name,
    { title: `coxswain ${name} v1`, ...z.toJSONSchema(schema, { io: 'input' }) },
  ]);
  return Object.fromEntries(entries) as Record<string, object>;
}
