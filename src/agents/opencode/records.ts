import { type Fields, count, fields, name, number, string } from '../json.ts';
import { bounded } from '../text.ts';

/** Longest tool output that is passed on, in UTF-16 units. */
const TOOL_OUTPUT_LIMIT = 32 * 1024;

/** What a record of OpenCode says, as far as anybody here asks. */
export type OpencodeRecord =
  | { type: 'step-started' }
  | { type: 'text'; message: string; text: string }
  | { type: 'thinking' }
  | {
      type: 'tool';
      id: string;
      name: string;
      input: unknown;
      /** Null while it runs. 1.18 tells of a tool only when it has ended. */
      end: { ok: boolean; output: string; truncated: boolean } | null;
    }
  | { type: 'step-ended'; reason: string; use: StepUse }
  /** `whole`: with the status and the provider's own body. */
  | { type: 'error'; message: string; whole: string }
  | { type: 'unknown'; name: string; error: string | null };

export interface StepUse {
  input: number;
  /** With what was thought: OpenCode counts it beside the output. */
  output: number;
  cacheRead: number;
  cacheWrite: number;
  cost: number | null;
}

export function readRecord(record: Fields): OpencodeRecord {
  const part = fields(record['part']);
  const kind = string(record['type']);
  switch (kind) {
    case 'step_start':
      return { type: 'step-started' };
    case 'text':
      return { type: 'text', message: name(part['messageID']), text: string(part['text']) };
    case 'reasoning':
      return { type: 'thinking' };
    case 'tool_use':
      return readTool(part);
    case 'step_finish':
      return { type: 'step-ended', reason: string(part['reason']), use: readUse(part) };
    case 'error':
      return readError(fields(record['error']));
    default: {
      const error = record['error'];
      const message = typeof error === 'string' ? error : fields(error)['message'];
      return { type: 'unknown', name: kind, error: typeof message === 'string' ? message : null };
    }
  }
}

function readTool(part: Fields): OpencodeRecord {
  const state = fields(part['state']);
  const tool = name(part['tool']);
  const status = string(state['status']);
  const ended = status === 'completed' || status === 'error';
  const output = string(status === 'error' ? state['error'] : state['output']);
  // A command that failed and a tool that does not exist are "completed" as well.
  const failed = status === 'error' || tool === 'invalid' || count(fields(state['metadata'])['exit']) > 0;
  return {
    type: 'tool',
    id: name(part['callID']),
    name: tool,
    input: state['input'] ?? null,
    end: ended
      ? {
          ok: !failed,
          output: bounded(output, TOOL_OUTPUT_LIMIT),
          truncated: output.length > TOOL_OUTPUT_LIMIT,
        }
      : null,
  };
}

function readUse(part: Fields): StepUse {
  const tokens = fields(part['tokens']);
  const cache = fields(tokens['cache']);
  return {
    input: count(tokens['input']),
    output: count(tokens['output']) + count(tokens['reasoning']),
    cacheRead: count(cache['read']),
    cacheWrite: count(cache['write']),
    cost: number(part['cost']),
  };
}

function readError(error: Fields): OpencodeRecord {
  const data = fields(error['data']);
  const status = number(data['statusCode']);
  const message = string(data['message']) || string(error['message']) || string(error['name']);
  const whole = [status === null ? '' : String(status), message, string(data['responseBody'])];
  return { type: 'error', message, whole: whole.filter((part) => part !== '').join(' ') };
}
