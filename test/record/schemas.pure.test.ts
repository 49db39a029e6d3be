import { describe, expect, expectTypeOf, test } from 'vitest';
import type { z } from 'zod';
import type {
  Cause,
  Failure,
  JournalRecord,
  Owner,
  Proof,
  ProofSummary,
  Status,
  Usage,
} from '../../machines/protocol.ts';
import {
  type causeSchema,
  type closedInboxSchema,
  type ClosedInbox,
  type CommandFile,
  commandFileSchema,
  type failureSchema,
  journalRecordSchema,
  jsonSchemas,
  type launchSchema,
  type LaunchRecord,
  type NestCapability,
  type nestCapabilitySchema,
  type NestSlot,
  type nestSlotSchema,
  type ownerSchema,
  type proofSchema,
  type proofSummarySchema,
  type Receipt,
  type receiptSchema,
  type resultSchema,
  type RunProof,
  type RunResult,
  type runProofSchema,
  statusSchema,
  type usageSchema,
} from '../../src/record/index.ts';
import { at, statusOf } from './support.ts';

/** Intersections as the objects they are. */
type Flat<T> = T extends unknown ? { [K in keyof T]: T[K] } : never;

describe('schemas', () => {
  test('are the types of the protocol', () => {
    expectTypeOf<z.infer<typeof statusSchema>>().toEqualTypeOf<Status>();
    expectTypeOf<z.infer<typeof journalRecordSchema>>().toEqualTypeOf<Flat<JournalRecord>>();
    expectTypeOf<z.infer<typeof causeSchema>>().toEqualTypeOf<Cause>();
    expectTypeOf<z.infer<typeof failureSchema>>().toEqualTypeOf<Failure>();
    expectTypeOf<z.infer<typeof usageSchema>>().toEqualTypeOf<Usage>();
    expectTypeOf<z.infer<typeof ownerSchema>>().toEqualTypeOf<Owner>();
    expectTypeOf<Omit<z.infer<typeof proofSchema>, 'v'>>().toEqualTypeOf<Flat<Proof>>();
    expectTypeOf<z.infer<typeof proofSummarySchema>>().toEqualTypeOf<ProofSummary>();
  });

  test('are the types of the record', () => {
    expectTypeOf<z.infer<typeof resultSchema>>().toEqualTypeOf<RunResult>();
    expectTypeOf<z.infer<typeof runProofSchema>>().toEqualTypeOf<RunProof>();
    expectTypeOf<z.infer<typeof launchSchema>>().toEqualTypeOf<LaunchRecord>();
    expectTypeOf<z.infer<typeof nestCapabilitySchema>>().toEqualTypeOf<NestCapability>();
    expectTypeOf<z.infer<typeof nestSlotSchema>>().toEqualTypeOf<NestSlot>();
    expectTypeOf<z.infer<typeof receiptSchema>>().toEqualTypeOf<Receipt>();
    expectTypeOf<z.infer<typeof closedInboxSchema>>().toEqualTypeOf<ClosedInbox>();
    expectTypeOf<z.infer<typeof commandFileSchema>>().toEqualTypeOf<Flat<CommandFile>>();
  });

  test('accept what the protocol allows, and fields of a later minor version', () => {
    expect(statusSchema.parse({ ...statusOf('r'), later: true })).toEqual(statusOf('r'));
    expect(statusSchema.safeParse({ ...statusOf('r'), state: 'asleep' }).success).toBe(false);
    expect(statusSchema.safeParse({ ...statusOf('r'), v: 2 }).success).toBe(false);
    const record = { v: 1, seq: 3, epoch: 1, ts: at, type: 'run.stopping', cause: { type: 'stop', at, source: 'cli' } };
    expect(journalRecordSchema.parse(record)).toEqual(record);
    expect(journalRecordSchema.safeParse({ ...record, cause: { type: 'stop', at } }).success).toBe(false);
  });

  test('commands', () => {
    expect(commandFileSchema.safeParse({ v: 1, type: 'stop' }).success).toBe(true);
    expect(commandFileSchema.safeParse({ v: 1, type: 'steer' }).success).toBe(false);
    expect(commandFileSchema.safeParse({ v: 1, type: 'stop', step: 3 }).success).toBe(false);
  });

  test('come as JSON Schema', () => {
    const schemas = jsonSchemas();
    expect(Object.keys(schemas)).toEqual([
      'status',
      'event',
      'command',
      'receipt',
      'closed',
      'result',
      'proof',
      'run-proof',
      'owner',
      'launch',
      'nest',
      'nest-slot',
    ]);
    for (const [name, schema] of Object.entries(schemas)) {
      expect(schema).toHaveProperty('title', `coxswain ${name} v1`);
      expect(JSON.stringify(schema)).not.toContain('"additionalProperties":false');
    }
  });
});
