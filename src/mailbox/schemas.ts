import { z } from 'zod';
import type { SteerMode, UndeliveredReason } from '../../machines/protocol.ts';

/** Longest text of an ask, in UTF-16 units. */
export const MAX_ASK_CHARS = 16 * 1024;
/** Largest file of a child that is read: an ask in JSON escapes, and then some. */
export const MAX_ASK_BYTES = 128 * 1024;
export const MAX_ACK_BYTES = 4 * 1024;
const WEEK_MS = 7 * 24 * 60 * 60 * 1000;

const v = z.literal(1);
const id = z.string().min(1).max(256);
const mode = z
  .enum(['now', 'next', 'auto'])
  .describe('now: at the next tool boundary; next: after the answer') satisfies z.ZodType<SteerMode>;

/** `steer/requests/<id>.json`, written by the runner. */
export const steerRequestSchema = z.object({ v, id, mode, text: z.string() });
export type SteerRequest = z.infer<typeof steerRequestSchema>;

/** `steer/acks/<id>.json`, written by the child, and replaced as the message gets on. */
export const ackSchema = z.discriminatedUnion('state', [
  z.object({ v, id, state: z.enum(['queued', 'taken', 'delivered']) }),
  z.object({
    v,
    id,
    state: z.literal('undelivered'),
    reason: z.enum(['aborted', 'failed', 'step-ended', 'unsupported']),
  }),
]);

/** How far a message has got. The last two are final, and come once. */
export type Ack =
  | { id: string; state: 'queued' | 'taken' | 'delivered' }
  | { id: string; state: 'undelivered'; reason: UndeliveredReason };

/** `steer/capability.json`, written by the child once it listens. */
export const capabilitySchema = z.object({ v, modes: z.array(mode).min(1).max(3) });
export type Capability = z.infer<typeof capabilitySchema>;

/** `ask/requests/<id>.json`, written by the child. */
export const askSchema = z.object({
  v,
  id,
  text: z.string().min(1).max(MAX_ASK_CHARS),
  expiresMs: z.int().min(1).max(WEEK_MS).exactOptional().describe('after so many milliseconds nobody waits any more'),
});
export type AskRequest = z.infer<typeof askSchema>;

/** `ask/answers/<id>.json`, written by the runner. */
export const answerSchema = z.discriminatedUnion('state', [
  z.object({ v, id, state: z.literal('answered'), text: z.string() }),
  z.object({
    v,
    id,
    state: z.literal('declined'),
    reason: z.enum(['declined', 'expired', 'run-ended', 'invalid', 'too-many']),
  }),
]);
export type AnswerFile = z.infer<typeof answerSchema>;
export type DeclineReason = Extract<AnswerFile, { state: 'declined' }>['reason'];

/** `ask/review.json`, written by the child: what watches over its work in the background, and goes on after its end. */
export const reviewSchema = z.object({
  v,
  seq: z.int().nonnegative().describe('greater in each report than in the one before'),
  active: z.boolean(),
});
export type Review = Omit<z.infer<typeof reviewSchema>, 'v'>;

/** The files of a mailbox as JSON Schema (draft 2020-12), by the name of their file in `schema/`. */
export function mailboxJsonSchemas(): Record<string, object> {
  const schemas = {
    'steer-request': steerRequestSchema,
    'steer-ack': ackSchema,
    'steer-capability': capabilitySchema,
    'ask-request': askSchema,
    'ask-answer': answerSchema,
    review: reviewSchema,
  };
  const entries = Object.entries(schemas).map(([name, schema]) => [
    name,
    { title: `coxswain ${name} v1`, ...z.toJSONSchema(schema, { io: 'input' }) },
  ]);
  return Object.fromEntries(entries) as Record<string, object>;
}
