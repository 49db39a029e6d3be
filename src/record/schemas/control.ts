import { z } from 'zod';
import type { ClosedInbox, CommandFile, Receipt } from '../receipts.ts';
import { answerReason, instant, sha256, targetSchema, v1 } from './shared.ts';

/** Bounds of what a command carries, in characters; the whole file has at most 256 KiB. */
export const commandBounds = {
  id: 256,
  source: 256,
  reason: 4_000,
  step: 100,
  ask: 256,
  time: 64,
  steps: 1_000,
} as const;
/** Of the text of a message or an answer, in bytes of UTF-8. */
export const mostTextBytes = 128 * 1024;

const name = (most: number) => z.string().min(1).max(most);

const commandBase = {
  v: v1,
  id: name(commandBounds.id).exactOptional().describe("given by the file's name where it is missing"),
  source: z.string().max(commandBounds.source).exactOptional().describe('who sends it, for people'),
};
const withReason = { reason: z.string().max(commandBounds.reason).exactOptional().describe('why, for people') };
const ofStep = { step: name(commandBounds.step).exactOptional().describe('id of a step; without it, the whole run') };
const text = z
  .string()
  .max(mostTextBytes)
  .regex(/\S/, { error: 'it is empty' })
  .refine((value) => Buffer.byteLength(value) <= mostTextBytes, { error: 'it is longer than 128 KiB' })
  .describe('at most 128 KiB of UTF-8');
const time = name(commandBounds.time);

/** What may lie in `control/`. */
export const commandFileSchema = z.discriminatedUnion('type', [
  z.object({ ...commandBase, type: z.literal('stop'), ...ofStep, ...withReason }),
  z.object({ ...commandBase, type: z.literal('interrupt'), ...ofStep, ...withReason }),
  z.object({ ...commandBase, type: z.literal('resume'), ...ofStep }),
  z.object({
    ...commandBase,
    type: z.literal('steer'),
    ...ofStep,
    text,
    mode: z.enum(['now', 'next', 'auto']).exactOptional().describe('default auto'),
    expires: time.exactOptional().describe('a length of time like 10m: not to be delivered later than this'),
  }),
  z.object({ ...commandBase, type: z.literal('append'), steps: z.array(z.unknown()).min(1).max(commandBounds.steps) }),
  z.object({
    ...commandBase,
    type: z.literal('extend'),
    ...ofStep,
    deadline: time.describe('a length of time from now, like 10m, an ISO 8601 instant, or now'),
  }),
  z.object({ ...commandBase, type: z.literal('answer'), ask: name(commandBounds.ask), text }),
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
