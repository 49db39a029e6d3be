import { type ClientFacts, namesIn, serversIn } from '../client-facts.ts';
import { type Fields, count, fields, isFields, list, name as nameOf, number, string } from '../json.ts';
import type { Wanted } from '../permissions.ts';
import { bounded } from '../text.ts';

/** Longest tool output that is passed on, in UTF-16 units. */
const TOOL_OUTPUT_LIMIT = 32 * 1024;

/** What a record of Claude Code says, as far as anybody here asks. */
export type ClaudeRecord =
  /** Known and of no interest. `progress`: it shows that work goes on. */
  | { type: 'passing'; progress: boolean }
  /** A turn begins; there is one for each message that finds the agent at rest. */
  | { type: 'begun'; model: string; client: ClientFacts }
  | ({ type: 'assistant' } & AssistantBlock)
  /** A message of ours has become part of the conversation. */
  | { type: 'replayed'; uuid: string; text: string }
  | { type: 'tools-ended'; results: ToolResult[] }
  | { type: 'retry'; attempt: number; max: number | null; delayMs: number | null; status: number | null; error: string }
  | ({ type: 'result' } & TurnResult)
  /** It asks us something, and waits. */
  | { type: 'asked'; id: string; subtype: string; wanted: Wanted }
  /** And does not any more. */
  | { type: 'withdrawn'; id: string }
  | { type: 'unknown'; name: string; error: string | null };

/** One block of an answer: of one answer there are several such records, with the same `id`. */
export interface AssistantBlock {
  id: string;
  text: string;
  tools: { id: string; name: string; input: unknown }[];
  /** Of a helper that the agent has started, not of the agent itself. */
  ofHelper: boolean;
  /** Written by the client in place of a model. */
  synthetic: boolean;
  /** What the client calls the error this text tells of: `rate_limit`, `authentication_failed`. */
  error: string | null;
  usage: Tokens;
}

export interface ToolResult {
  id: string;
  ok: boolean;
  output: string;
  truncated: boolean;
}

/** Without what came from the cache, as the client itself counts. */
export interface Tokens {
  input: number;
  output: number;
  cacheRead: number;
  cacheWrite: number;
}

/** How one turn of the agent has ended. */
export interface TurnResult {
  /** The value that it has handed in; null: none. */
  handedIn: { value: unknown } | null;
  /** `success` also for an answer that is the text of an error: see `isError`. */
  subtype: string;
  isError: boolean;
  status: number | null;
  text: string;
  errors: string[];
  stop: string;
  /** `completed`, `aborted_tools`, `aborted_streaming`, ... */
  terminal: string;
  /** Of this turn. */
  usage: Tokens;
  /** Of the process so far. */
  totalCost: number | null;
  /** Names of tools that were refused for want of a permission. */
  denied: string[];
}

const PASSING: ClaudeRecord = { type: 'passing', progress: true };
const QUIET: ClaudeRecord = { type: 'passing', progress: false };

export function readRecord(record: Fields): ClaudeRecord {
  const name = string(record['type']);
  switch (name) {
    case 'system':
      return readSystem(record);
    case 'assistant':
      return readAssistant(record);
    case 'user':
      return readUser(record);
    case 'result':
      return readResult(record);
    case 'control_request':
      return {
        type: 'asked',
        id: nameOf(record['request_id']),
        subtype: nameOf(fields(record['request'])['subtype']),
        wanted: readWanted(fields(record['request'])),
      };
    case 'control_cancel_request':
      return { type: 'withdrawn', id: nameOf(record['request_id']) };
    case 'stream_event':
    case 'tool_progress':
      return PASSING;
    case 'control_response':
    case 'keep_alive':
    case 'rate_limit_event':
    case 'auth_status':
      return QUIET;
    default:
      return { type: 'unknown', name, error: errorIn(record['error']) };
  }
}

function readWanted(request: Fields): Wanted {
  return { id: nameOf(request['tool_use_id']), tool: nameOf(request['tool_name']), input: request['input'] ?? null };
}

function readClient(record: Fields): ClientFacts {
  const version = nameOf(record['claude_code_version']);
  return {
    ...(version === '' ? {} : { version }),
    ...(Array.isArray(record['tools']) ? { tools: namesIn(record['tools']) } : {}),
    ...(Array.isArray(record['skills']) ? { skills: namesIn(record['skills']) } : {}),
    ...(Array.isArray(record['plugins']) ? { extensions: namesIn(record['plugins']) } : {}),
    ...(Array.isArray(record['mcp_servers']) ? { mcp: serversIn(record['mcp_servers']) } : {}),
  };
}

function readSystem(record: Fields): ClaudeRecord {
  switch (record['subtype']) {
    case 'init':
      return { type: 'begun', model: nameOf(record['model']), client: readClient(record) };
    case 'api_retry':
      return {
        type: 'retry',
        attempt: count(record['attempt']),
        max: number(record['max_retries']),
        delayMs: number(record['retry_delay_ms']),
        status: number(record['error_status']),
        error: nameOf(record['error']),
      };
    default:
      // Tasks, hooks, compaction, thinking: more kinds with every version, and all of them are work.
      return PASSING;
  }
}

function readAssistant(record: Fields): ClaudeRecord {
  const message = fields(record['message']);
  const blocks = list(message['content']).map(fields);
  return {
    type: 'assistant',
    id: nameOf(message['id']),
    text: textOf(blocks),
    tools: blocks
      .filter((block) => block['type'] === 'tool_use')
      .map((block) => ({ id: nameOf(block['id']), name: nameOf(block['name']), input: block['input'] ?? null })),
    ofHelper: isOfHelper(record),
    synthetic: message['model'] === '<synthetic>',
    error: errorIn(record['error']),
    usage: readTokens(message['usage']),
  };
}

function readUser(record: Fields): ClaudeRecord {
  const { content } = fields(record['message']);
  const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : list(content).map(fields);
  if (record['isReplay'] === true) return { type: 'replayed', uuid: nameOf(record['uuid']), text: textOf(blocks) };
  const results = blocks.filter((block) => block['type'] === 'tool_result').map(readToolResult);
  // What else comes as a user's is the client's own: "[Request interrupted by user]", a helper's task.
  return results.length > 0 ? { type: 'tools-ended', results } : PASSING;
}

function readToolResult(block: Fields): ToolResult {
  const { content } = block;
  const output = typeof content === 'string' ? content : textOf(list(content).map(fields));
  return {
    id: nameOf(block['tool_use_id']),
    ok: block['is_error'] !== true,
    output: bounded(output, TOOL_OUTPUT_LIMIT),
    truncated: output.length > TOOL_OUTPUT_LIMIT,
  };
}

function readResult(record: Fields): ClaudeRecord {
  const denied = list(record['permission_denials']).map((denial) => nameOf(fields(denial)['tool_name']));
  return {
    type: 'result',
    handedIn: Object.hasOwn(record, 'structured_output') ? { value: record['structured_output'] } : null,
    subtype: nameOf(record['subtype']),
    isError: record['is_error'] !== false,
    status: number(record['api_error_status']),
    text: string(record['result']),
    errors: list(record['errors']).map(string),
    stop: string(record['stop_reason']),
    terminal: string(record['terminal_reason']),
    usage: readTokens(record['usage']),
    totalCost: number(record['total_cost_usd']),
    denied: [...new Set(denied)],
  };
}

function readTokens(value: unknown): Tokens {
  const usage = fields(value);
  return {
    input: count(usage['input_tokens']),
    output: count(usage['output_tokens']),
    cacheRead: count(usage['cache_read_input_tokens']),
    cacheWrite: count(usage['cache_creation_input_tokens']),
  };
}

const isOfHelper = (record: Fields): boolean => typeof record['parent_tool_use_id'] === 'string';

function textOf(blocks: readonly Fields[]): string {
  return blocks
    .filter((block) => block['type'] === 'text')
    .map((block) => string(block['text']))
    .join('');
}

function errorIn(error: unknown): string | null {
  const text = isFields(error) ? error['message'] : error;
  return typeof text === 'string' && text !== '' ? text : null;
}
