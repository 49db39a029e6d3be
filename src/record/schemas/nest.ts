import { isAbsolute } from 'node:path';
import { z } from 'zod';
import { isSafeId } from '../../ids.ts';
import type { NestCapability, NestPlace, NestSlot } from '../nest.ts';
import { instant, v1, whole } from './shared.ts';

/** These become names of folders: nothing that leaves its folder is one. */
const safe = z.string().refine(isSafeId, { error: 'is no safe id' });

const placeSchema = z.object({
  run: safe,
  step: safe,
  attempt: z.int().positive(),
}) satisfies z.ZodType<NestPlace>;

/** The value of `COXSWAIN_NEST`. */
export const nestCapabilitySchema = z.object({
  v: v1,
  root: z
    .string()
    .max(4096)
    .refine((path) => isAbsolute(path) && !path.includes('\0'), { error: 'is no absolute path' }),
  top: safe,
  token: z.string().min(1).max(200),
  depth: whole.max(100),
  parent: placeSchema,
}) satisfies z.ZodType<NestCapability>;

/** `nest/<n>.json`. */
export const nestSlotSchema = z.object({
  v: v1,
  run: safe,
  parent: placeSchema,
  depth: z.int().positive(),
  at: instant,
}) satisfies z.ZodType<NestSlot>;
