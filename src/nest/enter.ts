import { existsSync, lstatSync, realpathSync } from 'node:fs';
import { resolve } from 'node:path';
import { z } from 'zod';
import {
  type NestCapability,
  type NestSlot,
  type RunDir,
  lastEpoch,
  nestCapabilitySchema,
  ownerSchema,
  runDir,
  secureRoot,
} from '../record/index.ts';
import { type Nest, NEST_ENV, type NestLimits } from './nest.ts';
import { readJson } from './read.ts';
import { readSlots, takeSlot } from './slots.ts';

/** Of a capability, in characters: a path of 4096 may have six for each of its own in JSON. */
const CAPABILITY_CHARS = 32_768;
const OWNER_BYTES = 65_536;
const PLAN_BYTES = 256 * 1024 * 1024;

/** Why a run may not be started below another. Stable; the message beside it is for people. */
export type NestRefusal = 'unreadable' | 'not-valid' | 'ended' | 'root' | 'depth' | 'total' | 'trouble';

export interface NestRequest {
  env: Readonly<Record<string, string | undefined>>;
  /** The state root that was asked for in so many words. */
  root?: string | undefined;
  /** Id of the run that is to be started. */
  run: string;
}

export type Entered =
  /** It was not started by a child of a run: it is the top of a nest of its own. */
  | { type: 'top' }
  /** It has its place. `leave` gives it back, when the run does not come to be. */
  | { type: 'nested'; nest: Nest; leave: () => void }
  | Refused;

interface Refused {
  type: 'refused';
  reason: NestRefusal;
  message: string;
}

/**
 * Finds out whether a run that is to be started belongs below another, and takes its place there. Everything in the
 * capability is checked against the record of the nest: a value that was made up, is left over, or was changed is
 * refused, and so is one that cannot be read. Nothing but the slot is made. Throws nothing.
 */
export function enterNest({ env, root, run }: NestRequest): Entered {
  const found = admit(env);
  if (found.type !== 'admitted') return found;
  const { capability, top, limits } = found;
  if (root !== undefined && !isSame(root, capability.root)) {
    return refused(
      'root',
      `runs started here belong to run ${top.id} and live in ${capability.root}: leave --root out`,
    );
  }
  const depth = capability.depth + 1;
  if (limits.depth === 0) {
    return refused('depth', `run ${top.id} lets its steps start no runs (limits.nested.depth: 0 in its plan)`);
  }
  if (depth > limits.depth) {
    const message = `this run would be at depth ${depth} below run ${top.id}, whose limit is ${limits.depth}: do the work here, or raise limits.nested.depth in the plan of ${top.id}`;
    return refused('depth', message);
  }
  const { parent } = capability;
  const taken = takeSlot(top, limits.total, { v: 1, run, parent, depth, at: new Date().toISOString() });
  switch (taken.type) {
    case 'ok':
      return { type: 'nested', nest: nestFrom(capability, limits, run), leave: taken.giveBack };
    case 'full': {
      const message = `run ${top.id} has had all the nested runs it may have, ${limits.total}: do the work here, or raise limits.nested.total in the plan of ${top.id}`;
      return refused('total', message);
    }
    case 'trouble':
      return refused('trouble', `no place can be taken in the nest of run ${top.id}: ${taken.message}`);
  }
}

/**
 * The nest of a run whose starter has entered it, in the process that runs it; null for a top run.
 * @throws Error when the run has no place there: its starter had not been let in.
 */
export function nestOfEntered(env: NestRequest['env'], run: string): Nest | null {
  const found = admit(env);
  if (found.type === 'top') return null;
  if (found.type === 'refused') throw new Error(found.message);
  const { capability, top, limits } = found;
  const slot = readSlots(top).find((one) => one.run === run);
  if (slot === undefined) throw new Error(`run ${run} has no place in the nest of run ${top.id}`);
  return nestFrom(capability, limits, run);
}

const nestFrom = ({ root, top, token, depth, parent }: NestCapability, limits: NestLimits, run: string): Nest => ({
  root,
  run,
  top,
  token,
  depth: depth + 1,
  limits,
  parent,
});

type Admitted = { type: 'admitted'; capability: NestCapability; top: RunDir; limits: NestLimits };

/** Whether what the environment says is so, whatever is asked for. */
function admit(env: NestRequest['env']): Admitted | { type: 'top' } | Refused {
  const text = env[NEST_ENV];
  if (text === undefined || text === '') return { type: 'top' };
  const capability = parse(text);
  if (capability === null) {
    return refused('unreadable', `${NEST_ENV} cannot be read: it is set by coxswain for the children of a run`);
  }
  if (!isFolder(capability.root)) return notValid('there is no such state root');
  const secured = secureRoot(capability.root);
  if (secured.type === 'refused') return notValid(secured.message);
  const top = runDir(capability.root, capability.top);
  const parent = runDir(capability.root, capability.parent.run);
  if (!isFolder(top.path) || !isFolder(parent.path)) return notValid('there is no such run');
  if (!isOwner(top, capability.token)) return notValid(`run ${top.id} has another owner now`);
  if (!isAt(capability, top)) return notValid(`run ${parent.id} is not at depth ${capability.depth} of its nest`);
  for (const dir of [top, parent]) {
    if (existsSync(dir.closed)) return refused('ended', `run ${dir.id} has ended: nothing can be started below it`);
  }
  const limits = limitsOf(top);
  if (limits === null) return notValid(`the plan of run ${top.id} cannot be read`);
  return { type: 'admitted', capability, top, limits };
}

function parse(text: string): NestCapability | null {
  if (text.length > CAPABILITY_CHARS) return null;
  try {
    const parsed = nestCapabilitySchema.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}

/** Only the owner of the last epoch: children of an earlier one are left over. */
function isOwner(top: RunDir, token: string): boolean {
  const owner = ownerSchema.safeParse(readJson(top.owner(lastEpoch(top)), OWNER_BYTES));
  return owner.success && owner.data.instance === token;
}

/** The depth is what the record says of the run that gave the capability, whatever the capability says. */
function isAt({ depth, parent }: NestCapability, top: RunDir): boolean {
  if (parent.run === top.id) return depth === 0;
  return readSlots(top).some((slot: NestSlot) => slot.run === parent.run && slot.depth === depth);
}

const planSchema = z.object({
  limits: z.object({
    nested: z.object({ depth: z.int().min(0).max(100), total: z.int().min(0).max(1_000) }),
  }),
});

function limitsOf(top: RunDir): NestLimits | null {
  const plan = planSchema.safeParse(readJson(top.plan, PLAN_BYTES));
  return plan.success ? plan.data.limits.nested : null;
}

function isFolder(path: string): boolean {
  try {
    return lstatSync(path).isDirectory();
  } catch {
    return false;
  }
}

/** The same folder, also by another path. */
function isSame(one: string, other: string): boolean {
  const [a, b] = [resolve(one), resolve(other)];
  if (a === b) return true;
  try {
    return realpathSync(a) === realpathSync(b);
  } catch {
    return false;
  }
}

const notValid = (why: string): Refused =>
  refused('not-valid', `${NEST_ENV} is not valid (${why}): the run it names did not start this process, or has gone`);

const refused = (reason: NestRefusal, message: string): Refused => ({ type: 'refused', reason, message });
