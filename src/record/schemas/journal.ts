import { z } from 'zod';
import type { AskExpiry, JournalRecord, JournalType } from '../../../machines/protocol.ts';
import {
  causeSchema,
  failureClass,
  failureSchema,
  instant,
  limitsSchema,
  ownerSchema,
  proofSummarySchema,
  steerMode,
  stepPlanSchema,
  textDigestSchema,
  undeliveredReason,
  usageSchema,
  v1,
  runOutcomeState,
  stepOutcome,
  answerReason,
  verdicts,
} from './shared.ts';

function journalLine<const T extends JournalType, const S extends z.ZodRawShape>(type: T, shape: S) {
  return z.object({ v: v1, seq: z.int(), epoch: z.int(), ts: instant, type: z.literal(type), ...shape });
}

const message = { source: z.string(), mode: steerMode, text: textDigestSchema };
const ofTarget = { id: z.string(), step: z.string() };
const ofAttempt = { step: z.string(), attempt: z.int() };

/** A line of `events.jsonl`. */
export const journalRecordSchema = z.discriminatedUnion('type', [
  journalLine('run.started', {
    run: z.string(),
    name: z.string(),
    steps: z.array(stepPlanSchema),
    limits: limitsSchema,
    labels: z.record(z.string(), z.string()),
    owner: ownerSchema,
    deadlineAt: instant.nullable(),
  }),
  journalLine('run.stopping', { cause: causeSchema }),
  journalLine('run.deadline-moved', { from: instant.nullable(), to: instant }),
  journalLine('clock.jumped', { byMs: z.number() }),
  journalLine('run.appended', { command: z.string(), steps: z.array(stepPlanSchema) }),
  journalLine('run.finalizing', {}),
  journalLine('run.settled', { state: runOutcomeState, cause: causeSchema, partial: z.boolean() }),
  journalLine('run.completed', {}),
  journalLine('step.started', { step: z.string() }),
  journalLine('step.resumed', { step: z.string(), command: z.string() }),
  journalLine('step.settled', {
    step: z.string(),
    state: stepOutcome,
    cause: causeSchema,
    error: failureSchema.exactOptional(),
    note: z.string().exactOptional(),
  }),
  journalLine('step.extended', { step: z.string(), limitMs: z.number() }),
  journalLine('step.backing-off', {
    ...ofAttempt,
    class: failureClass,
    delayMs: z.number(),
    model: z.string().nullable(),
    note: z.string(),
  }),
  journalLine('activity.changed', { ...ofAttempt, state: z.enum(['fresh', 'quiet', 'stalled']) }),
  journalLine('attempt.launching', { ...ofAttempt, token: z.string(), agent: z.string() }),
  journalLine('attempt.started', { ...ofAttempt, pid: z.int(), startTime: z.number().nullable() }),
  journalLine('attempt.exited', { ...ofAttempt, code: z.int().nullable(), signal: z.string().nullable() }),
  journalLine('attempt.closed', {
    ...ofAttempt,
    outcome: runOutcomeState,
    cause: causeSchema,
    error: failureSchema.exactOptional(),
    forcedExit: z.boolean(),
    model: z.string().nullable(),
    session: z.string().nullable(),
    usage: usageSchema,
    proof: proofSummarySchema.nullable(),
  }),
  journalLine('cause.late', {
    step: z.string().exactOptional(),
    attempt: z.int().exactOptional(),
    cause: causeSchema,
    won: causeSchema,
  }),
  journalLine('command.accepted', { id: z.string(), command: z.string(), source: z.string() }),
  journalLine('command.answered', {
    id: z.string(),
    command: z.string(),
    verdict: verdicts,
    reason: answerReason.exactOptional(),
    partial: z.boolean().exactOptional(),
  }),
  journalLine('steer.scheduled', {
    id: z.string(),
    ...message,
    targets: z.array(z.string()),
    expiresAt: instant.nullable(),
  }),
  journalLine('steer.routed', { id: z.string(), ...ofAttempt }),
  journalLine('steer.queued', ofTarget),
  journalLine('steer.delivered', ofTarget),
  journalLine('steer.undelivered', { ...ofTarget, reason: undeliveredReason }),
  journalLine('steer.refused', { id: z.string(), ...message, reason: undeliveredReason }),
  journalLine('steer.late', ofTarget),
  journalLine('ask.asked', { id: z.string(), ...ofAttempt, text: textDigestSchema, expiresAt: instant.nullable() }),
  journalLine('ask.answered', { ...ofTarget, command: z.string(), text: textDigestSchema }),
  journalLine('ask.declined', ofTarget),
  journalLine('ask.expired', { ...ofTarget, reason: z.enum(['time', 'gone']) satisfies z.ZodType<AskExpiry> }),
  journalLine('ask.run-ended', ofTarget),
  journalLine('notice', {
    about: z.literal('steering'),
    id: z.string(),
    state: z.enum(['undelivered', 'partial']),
    reason: undeliveredReason,
  }),
  journalLine('persistence.degraded', { line: z.string(), message: z.string() }),
  journalLine('persistence.restored', {}),
]) satisfies z.ZodType<JournalRecord>;
