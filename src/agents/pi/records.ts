import { type Fields, count, fields, isFields, list, number, string } from '../json.ts';
import { bounded } from '../text.ts';

/** Longest tool output that is passed on, in UTF-16 units. */
const TOOL_OUTPUT_LIMIT = 32 * 1024;

/** An assistant message at its end. */
export interface AssistantMessage {
  text: string;
  /** `stop`, `length`, `toolUse`, `error`, `aborted`, or what a later pi invents. */
  stop: string;
  error: string | null;
  /** `provider/id`. */
  model: string | null;
  usage: MessageUsage | null;
}

export interface MessageUsage {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
  cost: number | null;
}

/** What a line of pi's stdout says, as far as anybody here asks. */
export type PiRecord =
  /** Known and of no interest. `progress`: it shows that work goes on. */
  | { type: 'passing'; progress: boolean }
  /** A piece of an answer: the model has read what it was sent. */
  | { type: 'answering' }
  /** The texts in pi's queues, all of them. */
  | { type: 'queue'; steering: string[]; followUp: string[] }
  | { type: 'run-started' }
  | { type: 'assistant'; message: AssistantMessage }
  | { type: 'user'; text: string }
  | { type: 'tool-started'; id: string; name: string; input: unknown }
  | {
      type: 'tool-ended';
      id: string;
      name: string;
      ok: boolean;
      output: string;
      truncated: boolean;
      /** What the tool says of itself to programs. */
      details: unknown;
    }
  /** `willRetry` is null before pi 1: then this is not yet known to be the end. */
  | { type: 'run-ended'; willRetry: boolean | null; last: AssistantMessage | null }
  | { type: 'settled' }
  | { type: 'retry-started'; attempt: number; max: number | null; delayMs: number | null; reason: string }
  | { type: 'retry-ended'; success: boolean }
  | { type: 'compaction-started' }
  | { type: 'compaction-ended'; willRetry: boolean }
  | { type: 'response'; id: string; success: boolean; error: string; state: PiState | null }
  /** An extension asks the person at the terminal, and waits. */
  | { type: 'dialog'; id: string; method: string }
  | { type: 'unknown'; name: string; error: string | null };

/** The parts of `get_state` that tell whether pi is at rest. */
export interface PiState {
  busy: boolean;
  pending: number;
  messages: number;
  model: string | null;
}

/** Every record of pi begins like this, so the type can be read without parsing the line. */
const HEAD = '{"type":"';
const HEAD_BYTES = 48;

// Records that are dropped unread. A message_update carries the whole message so far, twice, before pi 1;
// the others repeat what message_end and tool_execution_end say.
const PASSING: PiRecord = { type: 'passing', progress: true };
const QUIET: PiRecord = { type: 'passing', progress: false };
const UNREAD: ReadonlyMap<string, PiRecord> = new Map<string, PiRecord>([
  ['message_update', { type: 'answering' }],
  ['message_start', PASSING],
  ['turn_start', PASSING],
  ['turn_end', PASSING],
  ['tool_execution_update', PASSING],
]);

/** What a line says that is dropped unread; null: it has to be read. */
export function readUnread(line: Buffer): PiRecord | null {
  const head = line.toString('latin1', 0, HEAD_BYTES);
  if (!head.startsWith(HEAD)) return null;
  return UNREAD.get(head.slice(HEAD.length, head.indexOf('"', HEAD.length))) ?? null;
}

/** So that nothing is gathered of a line of a megabyte that is dropped. */
export const unreadHead = { bytes: HEAD_BYTES, suffices: (head: Buffer): boolean => readUnread(head) !== null };

/** Throws nothing, whatever the fields hold. */
export function readRecord(record: Fields): PiRecord {
  const name = string(record['type']);
  switch (name) {
    case 'queue_update':
      return { type: 'queue', steering: strings(record['steering']), followUp: strings(record['followUp']) };
    case 'agent_start':
      return { type: 'run-started' };
    case 'message_end':
      return readMessage(fields(record['message']));
    case 'tool_execution_start':
      return {
        type: 'tool-started',
        id: string(record['toolCallId']),
        name: string(record['toolName']),
        input: record['args'] ?? null,
      };
    case 'tool_execution_end':
      return readToolEnd(record);
    case 'agent_end':
      return readRunEnd(record);
    case 'agent_settled':
      return { type: 'settled' };
    case 'auto_retry_start':
      return {
        type: 'retry-started',
        attempt: number(record['attempt']) ?? 0,
        max: number(record['maxAttempts']),
        delayMs: number(record['delayMs']),
        reason: string(record['errorMessage']),
      };
    case 'auto_retry_end':
      return { type: 'retry-ended', success: record['success'] === true };
    case 'compaction_start':
      return { type: 'compaction-started' };
    case 'compaction_end':
      return { type: 'compaction-ended', willRetry: record['willRetry'] === true };
    case 'response':
      return readResponse(record);
    case 'extension_ui_request':
      return readUiRequest(record);
    default:
      return readOther(name, record);
  }
}

function readMessage(message: Fields): PiRecord {
  switch (message['role']) {
    case 'assistant':
      return { type: 'assistant', message: readAssistant(message) };
    case 'user':
      return { type: 'user', text: textOf(message['content']) };
    default:
      return PASSING;
  }
}

function readAssistant(message: Fields): AssistantMessage {
  const error = message['errorMessage'];
  return {
    text: textOf(message['content']),
    stop: string(message['stopReason']),
    error: typeof error === 'string' ? error : null,
    model: modelName(message['provider'], message['model']),
    usage: readUsage(message['usage']),
  };
}

function readUsage(value: unknown): MessageUsage | null {
  if (!isFields(value)) return null;
  return {
    input: count(value['input']),
    output: count(value['output']),
    cacheRead: count(value['cacheRead']),
    cacheWrite: count(value['cacheWrite']),
    cost: number(fields(value['cost'])['total']),
  };
}

function readToolEnd(record: Fields): PiRecord {
  const output = textOf(fields(record['result'])['content']);
  return {
    type: 'tool-ended',
    id: string(record['toolCallId']),
    name: string(record['toolName']),
    ok: record['isError'] !== true,
    output: bounded(output, TOOL_OUTPUT_LIMIT),
    truncated: output.length > TOOL_OUTPUT_LIMIT,
    details: fields(record['result'])['details'] ?? null,
  };
}

function readRunEnd(record: Fields): PiRecord {
  const willRetry = record['willRetry'];
  const last = list(record['messages']).findLast((message) => fields(message)['role'] === 'assistant');
  return {
    type: 'run-ended',
    willRetry: typeof willRetry === 'boolean' ? willRetry : null,
    last: isFields(last) ? readAssistant(last) : null,
  };
}

function readResponse(record: Fields): PiRecord {
  const data = record['data'];
  const isState = record['command'] === 'get_state' && isFields(data);
  return {
    type: 'response',
    id: string(record['id']),
    success: record['success'] === true,
    error: string(record['error']),
    state: isState ? readState(data) : null,
  };
}

function readState(data: Fields): PiState {
  const model = fields(data['model']);
  return {
    busy: data['isStreaming'] !== false || data['isCompacting'] === true,
    pending: count(data['pendingMessageCount']),
    messages: count(data['messageCount']),
    model: modelName(model['provider'], model['id']),
  };
}

const DIALOGS = new Set(['select', 'confirm', 'input', 'editor']);

function readUiRequest(record: Fields): PiRecord {
  const method = string(record['method']);
  return DIALOGS.has(method) ? { type: 'dialog', id: string(record['id']), method } : QUIET;
}

const KNOWN = new Set(['session', 'entry_appended', 'session_info_changed', 'thinking_level_changed']);

function readOther(name: string, record: Fields): PiRecord {
  if (KNOWN.has(name)) return QUIET;
  // The prefix test misses these when something stands before the record on its line, a BOM for one.
  const unread = UNREAD.get(name);
  if (unread !== undefined) return unread;
  const error = record['error'];
  const message = isFields(error) ? error['message'] : error;
  return { type: 'unknown', name, error: typeof message === 'string' ? message : null };
}

const strings = (value: unknown): string[] => list(value).map(string);

function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  const parts = list(content)
    .map(fields)
    .filter((part) => part['type'] === 'text');
  return parts.map((part) => string(part['text'])).join('');
}

function modelName(provider: unknown, id: unknown): string | null {
  if (typeof id !== 'string' || id === '') return null;
  return typeof provider === 'string' && provider !== '' ? `${provider}/${id}` : id;
}
