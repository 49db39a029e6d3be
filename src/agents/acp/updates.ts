import type { SessionUpdate, StopReason, ToolCallStatus } from '@agentclientprotocol/sdk';
import { type Fields, count, fields, list, name, number, string } from '../json.ts';
import { bounded } from '../text.ts';

/** Longest tool output that is passed on, in UTF-16 units. */
const TOOL_OUTPUT_LIMIT = 32 * 1024;
const TITLE_LIMIT = 80;

/** What a `session/update` says, as far as anybody here asks. */
export type Update =
  /** `message` is '' where the agent does not tell messages apart. */
  | { type: 'piece'; message: string; text: string }
  | { type: 'thought' }
  /** A piece of a message of the user: an agent repeats the conversation of a session it loads. */
  | { type: 'user' }
  | { type: 'tool'; tool: ToolNews }
  | { type: 'cost'; amount: number | null; currency: string }
  /** Known and of no interest. */
  | { type: 'passing' }
  | { type: 'unknown'; name: string };

/** A tool call, or what has changed about it. */
export interface ToolNews {
  id: string;
  /** '' where this does not say. */
  name: string;
  kind: string;
  input: unknown;
  status: ToolCallStatus | null;
  output: string;
  truncated: boolean;
}

export function readUpdate(update: Fields): Update {
  const kind = string(update['sessionUpdate']) as SessionUpdate['sessionUpdate'];
  const content = fields(update['content']);
  switch (kind) {
    case 'agent_message_chunk':
      return { type: 'piece', message: name(update['messageId']), text: string(content['text']) };
    case 'agent_thought_chunk':
      return { type: 'thought' };
    case 'user_message_chunk':
      return { type: 'user' };
    case 'tool_call':
    case 'tool_call_update':
      return { type: 'tool', tool: readTool(update) };
    case 'usage_update': {
      const cost = fields(update['cost']);
      return { type: 'cost', amount: number(cost['amount']), currency: string(cost['currency']) };
    }
    case 'plan':
    case 'available_commands_update':
    case 'current_mode_update':
    case 'config_option_update':
    case 'session_info_update':
    case 'notice':
    case 'compaction_update':
    case 'compaction_summary_chunk':
      return { type: 'passing' };
    default:
      // Of a later protocol.
      return { type: 'unknown', name: kind };
  }
}

export function readTool(call: Fields): ToolNews {
  const output = outputOf(call);
  return {
    id: name(call['toolCallId']),
    name: nameOf(call),
    kind: name(call['kind']),
    input: call['rawInput'] ?? titleIn(call),
    status: statusOf(call['status']),
    output: bounded(output, TOOL_OUTPUT_LIMIT),
    truncated: output.length > TOOL_OUTPUT_LIMIT,
  };
}

/** Its kind says more than a title, which is often the whole command. */
function nameOf(call: Fields): string {
  const kind = name(call['kind']);
  return name(call['name']) || (kind === 'other' ? '' : kind) || bounded(string(call['title']), TITLE_LIMIT);
}

/** Some agents say what a tool is given only in words. */
function titleIn(call: Fields): unknown {
  const title = string(call['title']);
  return title === '' ? null : { title: bounded(title, TOOL_OUTPUT_LIMIT) };
}

const STATUSES: readonly unknown[] = ['pending', 'in_progress', 'completed', 'failed'] satisfies ToolCallStatus[];
const statusOf = (value: unknown): ToolCallStatus | null =>
  STATUSES.includes(value) ? (value as ToolCallStatus) : null;

function outputOf(call: Fields): string {
  const parts = list(call['content']).map((item) => {
    const part = fields(item);
    return part['type'] === 'diff' ? string(part['path']) : string(fields(part['content'])['text']);
  });
  return parts.filter((part) => part !== '').join('\n');
}

/** The answer to a prompt. */
export interface Ended {
  reason: StopReason | null;
  tokens: { input: number; output: number; cacheRead: number; cacheWrite: number } | null;
}

const REASONS: readonly unknown[] = [
  'end_turn',
  'max_tokens',
  'max_turn_requests',
  'refusal',
  'cancelled',
] satisfies StopReason[];

export function readEnd(result: Fields): Ended {
  const reason = result['stopReason'];
  return { reason: REASONS.includes(reason) ? (reason as StopReason) : null, tokens: tokensIn(result) };
}

/** In `usage`, where what came from the cache is beside the input; or in a quota of Gemini CLI, where it is within. */
function tokensIn(result: Fields): Ended['tokens'] {
  const usage = fields(result['usage']);
  if (number(usage['inputTokens']) !== null) {
    return {
      input: count(usage['inputTokens']),
      output: count(usage['outputTokens']) + count(usage['thoughtTokens']),
      cacheRead: count(usage['cachedReadTokens']),
      cacheWrite: count(usage['cachedWriteTokens']),
    };
  }
  const quota = fields(fields(fields(result['_meta'])['quota'])['token_count']);
  if (number(quota['input_tokens']) === null) return null;
  return { input: count(quota['input_tokens']), output: count(quota['output_tokens']), cacheRead: 0, cacheWrite: 0 };
}
