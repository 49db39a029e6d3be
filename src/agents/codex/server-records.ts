import { type Fields, fields, isFields, name as nameOf, string } from '../json.ts';
import type { Wanted } from '../permissions.ts';
import { type Item, readItem } from './items.ts';
import { type Tokens, readServerTokens } from './tokens.ts';
import { type TurnError, readTurnError } from './verdict.ts';

/** What a message of the app server says, as far as anybody here asks. `thread` is '' where it names none. */
export type ServerRecord =
  /** The answer to a request of ours. */
  | { type: 'answer'; id: string; result: Fields; error: string | null }
  /** A request to us, which waits for an answer. */
  | { type: 'asked'; id: string | number; method: string; wanted: Wanted | null }
  | { type: 'turn-started'; thread: string; turn: string }
  | { type: 'turn-ended'; thread: string; status: string; error: TurnError }
  | { type: 'item-started'; thread: string; item: Item }
  | { type: 'item-ended'; thread: string; item: Item }
  /** A piece of an answer. */
  | { type: 'answering'; thread: string }
  | { type: 'used'; thread: string; tokens: Tokens }
  | { type: 'trouble'; thread: string; error: TurnError; willRetry: boolean }
  | { type: 'warning'; text: string }
  /** Known, or new; of no interest. `progress`: it shows that work goes on. */
  | { type: 'passing'; progress: boolean }
  | { type: 'unknown'; name: string };

export function readServerRecord(record: Fields): ServerRecord {
  const { id, method } = record;
  const hasId = typeof id === 'string' || typeof id === 'number';
  if (typeof method !== 'string') return hasId ? readAnswer(String(id), record) : { type: 'unknown', name: '' };
  if (hasId) return { type: 'asked', id, method, wanted: readWanted(method, fields(record['params'])) };
  return readNotification(method, fields(record['params']));
}

function readAnswer(id: string, record: Fields): ServerRecord {
  const { error } = record;
  const message = isFields(error) ? string(error['message']) || 'refused without a reason' : null;
  return { type: 'answer', id, result: fields(record['result']), error: message };
}

/** A tool that it asks about, by the name it goes by among the items; null: it asks for something else. */
function readWanted(method: string, params: Fields): Wanted | null {
  const id = nameOf(params['itemId']);
  switch (method) {
    case 'item/commandExecution/requestApproval':
      return { id, tool: 'command_execution', kind: 'execute', input: { command: params['command'] ?? null } };
    case 'item/fileChange/requestApproval':
      return { id, tool: 'file_change', kind: 'edit', input: { reason: params['reason'] ?? null } };
    default:
      return null;
  }
}

const QUIET: ServerRecord = { type: 'passing', progress: false };
const WORK: ServerRecord = { type: 'passing', progress: true };

function readNotification(method: string, params: Fields): ServerRecord {
  const thread = nameOf(params['threadId']);
  switch (method) {
    case 'turn/started':
      return { type: 'turn-started', thread, turn: nameOf(fields(params['turn'])['id']) };
    case 'turn/completed': {
      const turn = fields(params['turn']);
      return { type: 'turn-ended', thread, status: string(turn['status']), error: readTurnError(turn['error']) };
    }
    case 'item/started':
      return { type: 'item-started', thread, item: readItem(params['item']) };
    case 'item/completed':
      return { type: 'item-ended', thread, item: readItem(params['item']) };
    case 'item/agentMessage/delta':
      return { type: 'answering', thread };
    case 'thread/tokenUsage/updated':
      return { type: 'used', thread, tokens: readServerTokens(fields(fields(params['tokenUsage'])['total'])) };
    case 'error':
      return {
        type: 'trouble',
        thread,
        error: readTurnError(params['error']),
        willRetry: params['willRetry'] === true,
      };
    case 'warning':
    case 'guardianWarning':
    case 'deprecationNotice':
    case 'configWarning':
      return { type: 'warning', text: string(params['message']) || string(params['summary']) };
    default:
      if (/^(?:item|turn|hook)\//.test(method)) return WORK;
      // Of the account, other threads, files, windows: more with every version.
      return method.includes('/') ? QUIET : { type: 'unknown', name: method };
  }
}
