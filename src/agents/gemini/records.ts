import { type Fields, count, fields, name, number, string } from '../json.ts';
import { bounded } from '../text.ts';

/** Longest tool output that is passed on, in UTF-16 units. */
const TOOL_OUTPUT_LIMIT = 32 * 1024;

/** What a record of Gemini CLI says, as far as anybody here asks. */
export type GeminiRecord =
  | { type: 'begun'; session: string; model: string }
  | { type: 'user'; text: string }
  /** A piece of an answer. */
  | { type: 'piece'; text: string }
  | { type: 'tool-started'; id: string; name: string; input: unknown }
  | { type: 'tool-ended'; id: string; ok: boolean; output: string; truncated: boolean }
  /** `fatal`: more than a warning. */
  | { type: 'trouble'; fatal: boolean; text: string }
  /** `error` is null when all went well. */
  | { type: 'ended'; error: string | null; tokens: Tokens }
  | { type: 'unknown'; name: string; error: string | null };

export interface Tokens {
  input: number;
  output: number;
  cacheRead: number;
}

export function readRecord(record: Fields): GeminiRecord {
  const kind = string(record['type']);
  switch (kind) {
    case 'init':
      return { type: 'begun', session: name(record['session_id']), model: name(record['model']) };
    case 'message':
      return { type: record['role'] === 'assistant' ? 'piece' : 'user', text: string(record['content']) };
    case 'tool_use':
      return {
        type: 'tool-started',
        id: name(record['tool_id']),
        name: name(record['tool_name']),
        input: record['parameters'] ?? null,
      };
    case 'tool_result':
      return readToolEnd(record);
    case 'error':
      return { type: 'trouble', fatal: record['severity'] !== 'warning', text: errorIn(record) };
    case 'result':
      return {
        type: 'ended',
        error: record['status'] === 'success' ? null : errorIn(fields(record['error'])),
        tokens: readTokens(fields(record['stats'])),
      };
    default: {
      const error = record['error'];
      const message = typeof error === 'string' ? error : fields(error)['message'];
      return { type: 'unknown', name: kind, error: typeof message === 'string' ? message : null };
    }
  }
}

function readToolEnd(record: Fields): GeminiRecord {
  const output = string(record['output']) || errorIn(fields(record['error']));
  return {
    type: 'tool-ended',
    id: name(record['tool_id']),
    // A shell command that failed is a success here.
    ok: record['status'] === 'success',
    output: bounded(output, TOOL_OUTPUT_LIMIT),
    truncated: output.length > TOOL_OUTPUT_LIMIT,
  };
}

const errorIn = (error: Fields): string => string(error['message']);

/** `input_tokens` are with what came from the cache; what `total_tokens` has beyond input and output was thought. */
function readTokens(stats: Fields): Tokens {
  const all = count(stats['input_tokens']);
  const cacheRead = count(stats['cached']);
  const total = count(stats['total_tokens']);
  return {
    input: number(stats['input']) ?? Math.max(0, all - cacheRead),
    output: Math.max(count(stats['output_tokens']), total - all),
    cacheRead,
  };
}
