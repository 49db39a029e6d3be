import { createHash } from 'node:crypto';
import { checkId } from '../ids.ts';

export type RunIdCheck = { type: 'ok' } | { type: 'refused'; reason: 'unsafe-id'; message: string };

/** Whether an id that was asked for may name a run. Ids we make ourselves (ulids) always may. */
export function checkRunId(id: string): RunIdCheck {
  const check = checkId(id);
  if (check.type === 'ok') return check;
  const message = `'${printable(id.slice(0, 60))}' cannot be a run id: it ${check.reason}; use letters, digits, '.', '_' and '-'`;
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
