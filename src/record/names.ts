import { createHash } from 'node:crypto';

const safeName = /^[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9_-])?$/;
/** Windows opens a device for these, whatever the extension. */
const deviceName = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i;
const maxName = 64;

/** True for what may be a file name on every platform: 1 to 64 of `A-Z a-z 0-9 . _ -`, no dot at either end, no device name. */
export function isSafeId(id: string): boolean {
  return id.length <= maxName && safeName.test(id) && !deviceName.test(id);
}

/**
 * The name a thing with this id has on disk: the id itself when it is safe, else a readable remainder and a hash.
 * Different ids get different names (the `~` cannot be in a safe id). Ids that differ only in case stay so:
 * they are one name on file systems that fold case.
 */
export function safeId(id: string): string {
  if (isSafeId(id)) return id;
  const readable = id
    .slice(0, 200)
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .slice(0, 40);
  return `${readable}~${sha256(id).slice(0, 12)}`;
}

export type RunIdCheck = { type: 'ok' } | { type: 'refused'; reason: 'unsafe-id'; message: string };

/** Whether an id that was asked for may name a run. Ids we make ourselves (ulids) always may. */
export function checkRunId(id: string): RunIdCheck {
  if (isSafeId(id)) return { type: 'ok' };
  const message =
    id.length > maxName
      ? `a run id has at most ${maxName} characters, this one has ${id.length}`
      : `'${printable(id)}' cannot be a run id: use letters, digits, '.', '_' and '-', begin with a letter or digit, do not end with '.'`;
  return { type: 'refused', reason: 'unsafe-id', message };
}

/** Control characters shown as escapes, so that a message stays on its line. */
function printable(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

export interface TextDigest {
  /** UTF-16 code units, as `length` counts them. */
  chars: number;
  /** First 12 hex digits: enough to tell texts apart, too little to look them up. */
  sha256: string;
}

/** What may be kept of a text that must not be kept. */
export function digest(text: string): TextDigest {
  return { chars: text.length, sha256: sha256(text).slice(0, 12) };
}

export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}
