import { type Fields, fields, list, name as nameOf, number, string } from '../json.ts';
import { bounded } from '../text.ts';

/** Longest tool output that is passed on, in UTF-16 units. */
const TOOL_OUTPUT_LIMIT = 32 * 1024;

/** A thing in the conversation, as far as anybody here asks. */
export type Item =
  | { type: 'message'; text: string }
  /** `key` is what we named it when we sent it. */
  | { type: 'user'; key: string; text: string }
  | ({ type: 'tool' } & Tool)
  /** The client calls it an error, and goes on: an unknown model's name, a setting it does not like. */
  | { type: 'warning'; text: string }
  | { type: 'other' };

export interface Tool {
  id: string;
  name: string;
  input: unknown;
  ok: boolean;
  output: string;
  truncated: boolean;
}

/** `exec` writes `command_execution` and `exit_code`, the app server `commandExecution` and `exitCode`. */
export function readItem(value: unknown): Item {
  const raw = fields(value);
  const item: Fields = Object.fromEntries(Object.entries(raw).map(([key, field]) => [snake(key), field]));
  const kind = snake(string(item['type']));
  switch (kind) {
    case 'agent_message':
      return { type: 'message', text: string(item['text']) };
    case 'user_message':
      return { type: 'user', key: nameOf(item['client_id']), text: textOf(item['content']) };
    case 'error':
      return { type: 'warning', text: string(item['message']) };
    case 'command_execution':
      return toolOf(kind, item, { command: item['command'] ?? null }, string(item['aggregated_output']));
    case 'file_change':
      return toolOf(kind, item, { changes: item['changes'] ?? null }, '');
    case 'web_search':
      return toolOf(kind, item, { query: item['query'] ?? null }, '');
    case 'mcp_tool_call':
      return toolOf(
        `${nameOf(item['server'])}/${nameOf(item['tool'])}`,
        item,
        item['arguments'] ?? null,
        textOf(fields(item['result'])['content']) || string(fields(item['error'])['message']),
      );
    case 'dynamic_tool_call':
      return toolOf(nameOf(item['tool']), item, item['arguments'] ?? null, textOf(item['content_items']));
    case 'collab_tool_call':
    case 'collab_agent_tool_call':
      return toolOf(nameOf(item['tool']) || kind, item, null, '');
    default:
      return { type: 'other' };
  }
}

function toolOf(name: string, item: Fields, input: unknown, output: string): Item {
  const status = snake(string(item['status']));
  const exitCode = number(item['exit_code']);
  return {
    type: 'tool',
    id: nameOf(item['id']),
    name,
    input,
    ok: status !== 'failed' && status !== 'declined' && (exitCode ?? 0) === 0,
    output: bounded(output, TOOL_OUTPUT_LIMIT),
    truncated: output.length > TOOL_OUTPUT_LIMIT,
  };
}

function textOf(content: unknown): string {
  return list(content)
    .map((part) => string(fields(part)['text']))
    .join('');
}

const snake = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
