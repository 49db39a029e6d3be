import type { Receipt } from '../record/light.ts';
import type { Outgoing, Sent } from '../inbox/light.ts';
import { type NotFound, type Place, find } from './place.ts';
import { lookAt } from './wait.ts';

export interface SendOptions extends Place {
  /** How long to wait for the verdict, in milliseconds; 0 does not wait. @default 10_000 */
  waitMs?: number | undefined;
  signal?: AbortSignal | undefined;
}

export type Answer =
  /** The verdict is in the receipt: `applied`, `rejected`, ... */
  | { type: 'receipt'; id: string; receipt: Receipt }
  /** It was sent and there is no final verdict yet. `last` is what there is so far. */
  | { type: 'no-verdict'; id: string; last: Receipt | null }
  /** It was not sent. `ended`: the run has ended. */
  | { type: 'refused'; reason: 'ended' | 'owner-lost' | Refusal; message: string }
  | NotFound;
type Refusal = Extract<Sent, { type: 'refused' }>['reason'];

/**
 * Sends a command to a run and waits for the verdict. The run may be another process's; nothing but its directory is
 * needed. A command to a run whose owner is dead is refused here: nobody would read it.
 *
 * @throws CoxswainError `root-refused`
 */
export async function send(idOrPrefix: string, command: Outgoing, options: SendOptions = {}): Promise<Answer> {
  const { waitMs = 10_000, signal } = options;
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
  const { sendCommand, waitReceipt } = await import('../inbox/light.ts');
  const sent = await sendCommand(dir, command);
  if (sent.type === 'refused') return sent;
  const { id, sha256 } = sent;
  const waited = await waitReceipt(dir, id, { timeoutMs: waitMs, sha256, ...(signal === undefined ? {} : { signal }) });
  return waited.type === 'receipt' ? { ...waited, id } : { type: 'no-verdict', id, last: waited.last };
}

export interface StopOptions extends SendOptions {
  /** Who asks; shown as the cause. @default 'client' */
  source?: string | undefined;
  /** For people. */
  reason?: string | undefined;
}

/** Asks a run to stop in good order. The verdict says that it stops; `wait` says when everything is gone. */
export async function stop(idOrPrefix: string, options: StopOptions = {}): Promise<Answer> {
  const { source = 'client', reason, ...rest } = options;
  return send(idOrPrefix, { type: 'stop', source, ...(reason === undefined ? {} : { reason }) }, rest);
}
