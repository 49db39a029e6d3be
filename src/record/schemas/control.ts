import { z } from 'zod';
import type { ClosedInbox, CommandFile, Receipt } from '../receipts.ts';
import { answerReason, instant, sha256, targetSchema, v1 } from './shared.ts';

const commandBase = {
  v: v1,
  id: z.string().min(1).exactOptional().describe("given by the file's name where it is missing"),
  source: z.string().exactOptional(),
  reason: z.string().exactOptional(),
};
const ofStep = { step: z.string().exactOptional() };

/** What may lie in `control/`. */
export const commandFileSchema = z.discriminatedUnion('type', [
  z.object({ ...commandBase, type: z.literal('stop'), ...ofStep }),
  z.object({ ...commandBase, type: z.literal('interrupt'), ...ofStep }),
  z.object({ ...commandBase, type: z.literal('resume'), ...ofStep }),
  z.object({
    ...commandBase,
    type: z.literal('steer'),
    ...ofStep,
    text: z.string(),
    mode: z.enum(['now', 'next', 'auto']).exactOptional(),
  }),
  z.object({ ...commandBase, type: z.literal('append'), steps: z.array(z.unknown()) }),
  z.object({ ...commandBase, type: z.literal('extend'), ...ofStep, deadline: z.string() }),
  z.object({ ...commandBase, type: z.literal('answer'), ask: z.string(), text: z.string() }),
]) satisfies z.ZodType<CommandFile>;

/** `control/receipts/<id>.json`. */
export const receiptSchema = z.object({
  v: v1,
  id: z.string(),
  type: z.string(),
  verdict: z.enum(['accepted', 'queued', 'delivered', 'undelivered', 'applied', 'rejected', 'conflict']),
  reason: answerReason.exactOptional(),
  at: instant,
  final: z.boolean(),
  targets: z.array(targetSchema).exactOptional(),
  partial: z.boolean().exactOptional(),
  detail: z.string().exactOptional(),
  sha256: sha256.exactOptional(),
}) satisfies z.ZodType<Receipt>;

/** `control/closed.json`. */
export const closedInboxSchema = z.object({
  v: v1,
  state: z.string(),
  at: instant,
}) satisfies z.ZodType<ClosedInbox>;
