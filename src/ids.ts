import { createHash } from 'node:crypto';

/** Longest id in characters; with suffixes it stays far below the 255 bytes of a path component. */
const MAX_ID_LENGTH = 100;

/** The letters of an id. `checkId` knows the exceptions. */
export const ID_PATTERN = /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/;

// Windows opens these as devices, in any folder, in any case, with any extension.
const DEVICE = /^(?:con|prn|aux|nul|com[0-9]|lpt[0-9])(?:\..*)?$/i;

const PREFIX_LENGTH = 40;

export type IdCheck = { type: 'ok' } | { type: 'bad'; reason: string };

/**
 * Whether a text may be the id of a step or a run, and so the name of a directory on any platform.
 * That two ids differ by more than their case is the caller's to check: some file systems fold it.
 * `reason` continues a sentence that starts with the id.
 */
export function checkId(text: string): IdCheck {
  if (text === '') return bad('is empty');
  if (text.length > MAX_ID_LENGTH) return bad(`is longer than ${MAX_ID_LENGTH} characters`);
  if (!/^[A-Za-z0-9]/.test(text)) return bad('does not start with a letter or a digit');
  if (!ID_PATTERN.test(text)) return bad('has other characters than letters, digits, ".", "_" and "-"');
  if (text.endsWith('.')) return bad('ends with a dot');
  if (DEVICE.test(text)) return bad('is a device name on Windows');
  return { type: 'ok' };
}

export const isSafeId = (id: string): boolean => checkId(id).type === 'ok';

/**
 * The name a thing with this key has on disk: the key itself when it is a valid id, else a readable remainder and 128
 * bits of its hash. Different keys get different names (a `~` cannot be in an id), and no name leaves its folder.
 * There is no way back: keep the key beside it.
 */
export function safeId(key: string): string {
  if (isSafeId(key)) return key;
  // UTF-16, because UTF-8 would make all lone surrogates equal.
  const hash = createHash('sha256').update(Buffer.from(key, 'utf16le')).digest('hex').slice(0, 32);
  const readable = key
    .slice(0, PREFIX_LENGTH * 4)
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .slice(0, PREFIX_LENGTH);
  return `${readable}~${hash}`;
}

function bad(reason: string): IdCheck {
  return { type: 'bad', reason };
}

/**
 * The id of an ask within its run. Children choose the names of their asks themselves, and two may choose the same, or
 * one that of another: the step and the number of the attempt stand before it.
 */
export const askId = (step: string, attempt: number, name: string): string => `${step}.${attempt}.${name}`;

/** What its child calls an ask: the name of its file. */
export function askName({ id, step, attempt }: { id: string; step: string; attempt: number }): string {
  const before = askId(step, attempt, '');
  return id.startsWith(before) ? id.slice(before.length) : id;
}
