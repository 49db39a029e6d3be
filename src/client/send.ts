import type { SteerMode } from '../../machines/protocol.ts';
import type { Outgoing, Sent } from '../inbox/light.ts';
import type { Receipt, RunDir } from '../record/light.ts';
import { holdersOf } from './asks.ts';
import { type NotFound, type Place, find } from './place.ts';
import { lookAt } from './wait.ts';

export interface SendOptions extends Place {
  /** How long to wait for the receipt, in milliseconds; 0 does not wait, `Infinity` as long as it takes. @default 10_000 */
  waitMs?: number | undefined;
  /** What to wait for: the final verdict, or the first word, which may be `accepted`. @default 'final' */
  until?: 'final' | 'first' | undefined;
  /** Aborting it ends the waiting; a command that was sent stays sent. */
  signal?: AbortSignal | undefined;
}

export type Answer =
  /** The verdict is in the receipt: `applied`, `rejected`, ... */
  | { type: 'receipt'; id: string; receipt: Receipt }
  /** It was sent and there is no such verdict yet. `last` is what there is so far. */
  | { type: 'no-verdict'; id: string; last: Receipt | null; why: 'time' | 'aborted' | 'owner-lost' }
  /** It was not sent. `ended`: the run has ended. `ambiguous-ask`: more than one run below has an ask of this name. */
  | { type: 'refused'; reason: 'ended' | 'owner-lost' | 'ambiguous-ask' | Refusal; message: string }
  | NotFound;
type Refusal = Extract<Sent, { type: 'refused' }>['reason'];

/** How often it is looked whether somebody is there to answer. */
const OWNER_LOOK_MS = 1_000;

/**
 * Sends a command to a run and waits for its receipt. The run may be another process's; nothing but its directory is
 * needed. A command to a run whose owner is dead is refused here: nobody would read it.
 *
 * @throws CoxswainError `root-refused`
 */
export async function send(idOrPrefix: string, command: Outgoing, options: SendOptions = {}): Promise<Answer> {
  const found = find(idOrPrefix, options);
  if (found.type !== 'found') return found;
  const { dir } = found;
  const seen = lookAt(dir);
  if (seen.type === 'ended') {
    return { type: 'refused', reason: 'ended', message: `the run has ended already: ${seen.status.state}` };
  }
  if (seen.type === 'owner-lost') {
    const message = `the process that ran it is gone${seen.owner === null ? '' : ` (pid ${seen.owner.pid})`}: nobody reads its commands`;
    return { type: 'refused', reason: 'owner-lost', message };
  }
  const { sendCommand } = await import('../inbox/light.ts');
  const sent = await sendCommand(dir, command);
  return sent.type === 'refused' ? sent : receiptFor(dir, sent, options);
}

async function receiptFor(
  dir: RunDir,
  { id, sha256 }: Extract<Sent, { type: 'sent' }>,
  options: SendOptions,
): Promise<Answer> {
  const { waitMs = 10_000, until = 'final', signal } = options;
  const { waitReceipt } = await import('../inbox/light.ts');
  const end = performance.now() + waitMs;
  for (let ownerLost = false; ;) {
    const timeoutMs = Math.max(0, Math.min(end - performance.now(), ownerLost ? 0 : OWNER_LOOK_MS));
    const wanted = until === 'first' ? 'any' : 'final';
    const waited = await waitReceipt(dir, id, { timeoutMs, sha256, until: wanted, ...(signal && { signal }) });
    switch (waited.type) {
      case 'receipt':
        return { ...waited, id };
      case 'aborted':
        return { type: 'no-verdict', id, last: waited.last, why: 'aborted' };
      case 'timed-out': {
        const { last } = waited;
        if (performance.now() >= end) return { type: 'no-verdict', id, last, why: 'time' };
        if (ownerLost) return { type: 'no-verdict', id, last, why: 'owner-lost' };
        // It may have answered before it went: one more look.
        ownerLost = lookAt(dir).type === 'owner-lost';
      }
    }
  }
}

export interface CommandOptions extends SendOptions {
  /** Who asks; goes on record. @default 'client' */
  source?: string | undefined;
  /** An id of your own: the same command under the same id is done once. Default: a new one. */
  id?: string | undefined;
}

export interface StepOptions extends CommandOptions {
  /** Id of a step. Default: the whole run. */
  step?: string | undefined;
}

export interface StopOptions extends StepOptions {
  /** For people. */
  reason?: string | undefined;
}

/** Asks a run, or one step, to stop in good order. The verdict says that it stops; `wait` says when everything is gone. */
export function stop(idOrPrefix: string, options: StopOptions = {}): Promise<Answer> {
  return send(
    idOrPrefix,
    { type: 'stop', ...from(options), ...given({ step: options.step, reason: options.reason }) },
    options,
  );
}

/** Asks a run, or one step, to pause so that it can be resumed: work that was begun is broken off. */
export function interrupt(idOrPrefix: string, options: StopOptions = {}): Promise<Answer> {
  const fields = given({ step: options.step, reason: options.reason });
  return send(idOrPrefix, { type: 'interrupt', ...from(options), ...fields }, options);
}

/** Lets the paused steps of a run that goes on, or one of them, go on. */
export function resume(idOrPrefix: string, options: StepOptions = {}): Promise<Answer> {
  return send(idOrPrefix, { type: 'resume', ...from(options), ...given({ step: options.step }) }, options);
}

export interface SteerOptions extends StepOptions {
  /** `now`: at the next tool boundary. `next`: after the answer. @default 'auto', as the agent finds right */
  mode?: SteerMode | undefined;
  /** A length of time like `10m`: not to be delivered later than this. */
  expires?: string | undefined;
}

/** Sends a message to an agent that works. Its final verdict may take as long as a tool runs: see `until`. */
export function steer(idOrPrefix: string, text: string, options: SteerOptions = {}): Promise<Answer> {
  const { step, mode, expires } = options;
  return send(idOrPrefix, { type: 'steer', text, ...from(options), ...given({ step, mode, expires }) }, options);
}

/** Adds steps to a run that goes on, as a plan has them. */
export function append(idOrPrefix: string, steps: unknown[], options: CommandOptions = {}): Promise<Answer> {
  return send(idOrPrefix, { type: 'append', steps, ...from(options) }, options);
}

/** Moves the deadline of a run, or the limit of a step that runs: a length of time from now, an instant, or `now`. */
export function extend(idOrPrefix: string, deadline: string, options: StepOptions = {}): Promise<Answer> {
  return send(idOrPrefix, { type: 'extend', deadline, ...from(options), ...given({ step: options.step }) }, options);
}

/** Answers what a child has asked, also a child of a run below: the command goes to the run that holds the ask. */
export async function answer(
  idOrPrefix: string,
  ask: string,
  text: string,
  options: CommandOptions = {},
): Promise<Answer> {
  const [holder = idOrPrefix, ...others] = holdersOf(idOrPrefix, ask, options);
  if (others.length > 0) {
    const message = `more than one run below has an ask ${ask}: name one of ${[holder, ...others].join(', ')}`;
    return { type: 'refused', reason: 'ambiguous-ask', message };
  }
  return send(holder, { type: 'answer', ask, text, ...from(options) }, options);
}

function from({ source = 'client', id }: CommandOptions): { source: string; id?: string } {
  return { source, ...(id === undefined ? {} : { id }) };
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };

/** The fields that are there. */
function given<T extends object>(fields: T): Given<T> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Given<T>;
}
