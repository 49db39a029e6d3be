import { existsSync } from 'node:fs';
import type { Answer, Progress } from '../../machines/protocol.ts';
import { type ControlPaths, faultIn, readRecord, type Receipt } from '../record/light.ts';

/**
 * Under which name a receipt lies in `receipts/`: the id; a conflict has its own, because the receipt of the command
 * that came first under this id stays what it is.
 */
export function keyOf({ id, verdict, sha256 }: Pick<Receipt, 'id' | 'verdict' | 'sha256'>): string {
  return verdict === 'conflict' ? `${id}.conflict-${sha256 ?? ''}` : id;
}

export function receiptOf(answer: Answer, sha256: string): Receipt {
  const { command, ...rest } = answer;
  return { v: 1, ...rest, type: command, final: true, ...(sha256 === '' ? {} : { sha256 }) };
}

export function progressOf({ id, command, verdict, at }: Progress, sha256: string): Receipt {
  return { v: 1, id, type: command, verdict, at, final: false, ...(sha256 === '' ? {} : { sha256 }) };
}

/** The receipt of a command, or null: none yet, or none that can be read. */
export function readReceipt(dir: ControlPaths, key: string): Receipt | null {
  const path = dir.receipt(key);
  // Most have none yet, and to find that out by an error costs ten times as much.
  if (!existsSync(path)) return null;
  const reading = readRecord<Receipt>(path, (json) =>
    faultIn(json, { id: 'string', type: 'string', verdict: 'string', at: 'string', final: 'boolean' }),
  );
  return reading.type === 'ok' ? reading.value : null;
}

/** The receipt for this command, where another may have used its id before. */
export function readReceiptFor(
  dir: ControlPaths,
  command: { id: string; sha256?: string | undefined },
): Receipt | null {
  const { id, sha256 } = command;
  const receipt = readReceipt(dir, id);
  const another = sha256 !== undefined && receipt?.sha256 !== undefined && receipt.sha256 !== sha256;
  return another ? readReceipt(dir, keyOf({ id, verdict: 'conflict', sha256 })) : receipt;
}
