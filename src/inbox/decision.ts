import type { Answer, Command, CommandType, RejectReason } from '../../machines/protocol.ts';
import { digest, isObject, type JsonObject, parseObject, safeId } from '../record/light.ts';
import { maxCommandBytes } from './bounds.ts';
import { meaningOf } from './meaning.ts';

/** What was found under a name in the control folder. */
export interface Entry {
  name: string;
  found: Found;
}
export type Found =
  /** `settled`: nobody writes to it any more, or nobody would wait for it if somebody did. */
  | { type: 'text'; text: string; settled: boolean }
  | { type: 'too-large' }
  | { type: 'not-a-file'; what: string }
  | { type: 'unreadable'; code: string };

/** What is known of a command of this id that came before. `sha256` is missing where it had no file. */
export interface Before {
  sha256?: string | undefined;
}

export interface World {
  /** When it was read, in milliseconds since 1970: deadlines count from there. */
  nowMs: number;
  /** Of a command that is under way or has its final answer. */
  before: (id: string) => Before | null;
}

/** A command as its file says it. The steps of an `append` are yet to be resolved. */
export type Incoming = Exclude<Command, { type: 'append' }> | Raw;
type Raw = Omit<Extract<Command, { type: 'append' }>, 'steps'> & { steps: unknown[] };

/** What is to be done about an entry. `sha256` is of its meaning: the same command written differently is the same. */
export type Decision =
  /** `text` is that of a message or an answer: for the runtime, past the machines. */
  | { type: 'deliver'; id: string; command: Incoming; text: string | null; sha256: string }
  | {
      type: 'reject';
      id: string;
      command: CommandType | 'unknown';
      reason: RejectReason;
      detail: string;
      sha256: string;
    }
  /** It was there before and says the same: the first answers for both. */
  | { type: 'repeat'; id: string }
  /** Its id was used before, for something else. */
  | { type: 'conflict'; id: string; command: CommandType | 'unknown'; sha256: string }
  /** Nothing that begins and ends like a command: it may still be being written. */
  | { type: 'unfinished' };

/** In which order the commands of a batch are acted on; within a kind by the names of their files. */
export const kinds = [
  'stop',
  'interrupt',
  'resume',
  'extend',
  'answer',
  'append',
  'steer',
] as const satisfies CommandType[];
const isKind = (type: unknown): type is CommandType => kinds.some((kind) => kind === type);

const tooLarge = `it has more than ${maxCommandBytes / 1024} KiB`;
/** A command needs two levels and a step ten. */
const mostDepth = 64;

/** What an object of a known type and version comes to. */
export type Made =
  { type: 'ok'; command: Incoming; text: string | null } | { type: 'bad'; reason: RejectReason; detail: string };
export type ReadCommand = (json: JsonObject, known: { type: CommandType; id: string; nowMs: number }) => Made;

export type Decide = (entry: Entry, world: World) => Decision;

/** Judges what was found in a control folder: the one place where a file becomes a command. Pure if `read` is. */
export function decideWith(read: ReadCommand): Decide {
  return (entry, world) => judge(entry, world, read);
}

function judge({ name, found }: Entry, world: World, read: ReadCommand): Decision {
  const unread = (reason: RejectReason, detail: string, sha256 = digest(detail).sha256): Decision =>
    judged({ type: 'reject', id: idOf({}, name), command: 'unknown', reason, detail, sha256 }, world);
  switch (found.type) {
    case 'too-large':
      return unread('too-large', tooLarge);
    case 'not-a-file':
      return unread('not-a-file', `it is ${found.what}`);
    case 'unreadable':
      return unread('invalid', `it cannot be read (${found.code})`);
    case 'text': {
      const json = isClosed(found.text) ? parseObject(found.text) : null;
      if (json !== null) return judgeJson(name, json, world, read);
      if (!found.settled) return { type: 'unfinished' };
      return unread('invalid', 'it is not a JSON object', digest(found.text).sha256);
    }
  }
}

/** Half a file is told by its end: to find it out by an error costs more than to read a good one. */
function isClosed(text: string): boolean {
  const whole = text.trim();
  return whole.startsWith('{') && whole.endsWith('}');
}

function judgeJson(name: string, json: JsonObject, world: World, read: ReadCommand): Decision {
  const id = idOf(json, name);
  const type = json['type'];
  const command = isKind(type) ? type : 'unknown';
  const deep = isDeep(json);
  const sha256 = deep ? digest(name).sha256 : meaningOf(json);
  const reject = (reason: RejectReason, detail: string): Decision =>
    judged({ type: 'reject', id, command, reason, detail, sha256 }, world);

  if (deep) return reject('invalid', `it is nested more than ${mostDepth} levels deep`);
  const version = json['v'];
  if (typeof version === 'number' && version > 1)
    return reject('newer-version', `version ${version} is not known here`);
  if (command === 'unknown') return reject('unknown-type', 'there is no command of this type');
  const made = read(json, { type: command, id, nowMs: world.nowMs });
  if (made.type === 'bad') return reject(made.reason, made.detail);
  return judged({ type: 'deliver', id, command: made.command, text: made.text, sha256 }, world);
}

/** Each id once: whatever comes again under it is a repeat, or says something else. */
function judged(decision: Extract<Decision, { type: 'deliver' | 'reject' }>, { before }: World): Decision {
  const { id, sha256 } = decision;
  const first = before(id);
  if (first === null) return decision;
  if (first.sha256 === undefined || first.sha256 === sha256) return { type: 'repeat', id };
  const command = decision.type === 'reject' ? decision.command : decision.command.type;
  return { type: 'conflict', id, command, sha256 };
}

/** What `control/rejected/` keeps of a command file: enough to find it again, nothing that may be secret. */
export function noteOf(decision: Decision & { type: 'reject' }, name: string, bytes: number, at: string): object {
  const { id, command, reason, detail, sha256 } = decision;
  return { v: 1, name: name.slice(0, 256), id, type: command, reason, detail, bytes, sha256, at };
}

/** The answer to what is refused without being delivered. */
export function refusalOf(decision: Extract<Decision, { type: 'reject' | 'conflict' }>, at: string): Answer {
  const { id, command } = decision;
  if (decision.type === 'reject') {
    return { id, command, verdict: 'rejected', reason: decision.reason, at, detail: decision.detail };
  }
  const detail = 'this id was used before, for something else';
  return { id, command, verdict: 'conflict', reason: 'id-reused', at, detail };
}

function idOf(json: Record<string, unknown>, name: string): string {
  const given = json['id'];
  if (typeof given === 'string' && given !== '') return safeId(given);
  const stem = name.replace(/\.json$/i, '');
  // A name that had to be made safe when it was claimed is so already.
  return /^[\w-]{0,40}~[0-9a-f]{32}$/.test(stem) ? stem : safeId(stem);
}

/** Level by level: what is nested deeply would end a recursion. */
function isDeep(json: object): boolean {
  let level: object[] = [json];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > mostDepth) return true;
    level = level.flatMap((value) => Object.values(value).filter((inner) => isObject(inner) || Array.isArray(inner)));
  }
  return false;
}
