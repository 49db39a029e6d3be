import type { RejectReason, StopCommand } from '../../machines/protocol.ts';
import { commandFileSchema, digest, parseObject, safeId } from '../record/index.ts';
import { meaningOf } from './meaning.ts';

/** What a command file says. `sha256` is of its meaning: the same command written differently is the same. */
export type Decision =
  | { type: 'command'; command: StopCommand; sha256: string }
  | { type: 'reject'; id: string; command: string; reason: RejectReason; detail: string; sha256: string }
  /** Nothing that begins or ends like a command: it may still be being written. */
  | { type: 'unfinished' };

const known = new Set(['stop', 'interrupt', 'resume', 'steer', 'append', 'extend', 'answer']);

/**
 * Reads a command file's text. Pure.
 *
 * @param name Its file name: gives the id where the file has none.
 */
export function decide(name: string, text: string): Decision {
  const json = parseObject(text);
  if (json === null) return { type: 'unfinished' };
  const id = idOf(json, name);
  const sha256 = meaningOf(json);
  const command = typeof json['type'] === 'string' && known.has(json['type']) ? json['type'] : 'unknown';
  const reject = (reason: RejectReason, detail: string): Decision => ({
    type: 'reject',
    id,
    command,
    reason,
    detail,
    sha256,
  });

  const version = json['v'];
  if (typeof version === 'number' && version > 1)
    return reject('newer-version', `version ${version} is not known here`);
  if (command === 'unknown') return reject('unknown-type', 'there is no command of this type');
  const parsed = commandFileSchema.safeParse(json);
  if (!parsed.success) return reject('invalid', faultsOf(parsed.error.issues));
  if (parsed.data.type !== 'stop') return reject('unsupported', `${command} is not supported by this version`);
  // Stopping everything is not what was asked for.
  if (parsed.data.step !== undefined)
    return reject('unsupported', 'stopping one step is not supported by this version');
  const { source = 'file', reason } = parsed.data;
  return {
    type: 'command',
    sha256,
    command: { id, type: 'stop', source, ...(reason === undefined ? {} : { reason }) },
  };
}

/** A file that is no JSON object and will not become one. */
export function rejectUnread(name: string, reason: RejectReason, detail: string): Decision & { type: 'reject' } {
  return { type: 'reject', id: idOf({}, name), command: 'unknown', reason, detail, sha256: digest(detail).sha256 };
}

/** What `control/rejected/` keeps of a command file: enough to find it again, nothing that may be secret. */
export function noteOf(decision: Decision & { type: 'reject' }, name: string, bytes: number, at: string): object {
  const { id, command, reason, detail, sha256 } = decision;
  return { v: 1, name, id, type: command, reason, detail, bytes, sha256, at };
}

function idOf(json: Record<string, unknown>, name: string): string {
  const given = json['id'];
  return safeId(typeof given === 'string' && given !== '' ? given : name.replace(/\.json$/i, ''));
}

/** Names of fields and what they should be; never their values. */
function faultsOf(issues: readonly { path: PropertyKey[]; message: string }[]): string {
  return issues
    .slice(0, 3)
    .map(({ path, message }) => (path.length === 0 ? message : `${path.join('.')}: ${message}`))
    .join('; ');
}
