import { type Fields, fields, isFields, number, string } from '../json.ts';

/** What a line of an agent is in JSON-RPC. */
export type Incoming =
  /** To something we asked. */
  | { type: 'result'; id: number; result: Fields }
  | { type: 'error'; id: number | null; error: RpcError }
  | { type: 'request'; id: string | number; method: string; params: Fields }
  | { type: 'notification'; method: string; params: Fields }
  | { type: 'unknown'; name: string; error: string | null };

export interface RpcError {
  code: number | null;
  message: string;
  /** With everything that came along. */
  whole: string;
}

export function readIncoming(record: Fields): Incoming {
  const id = record['id'];
  const method = record['method'];
  const params = fields(record['params']);
  if (typeof method === 'string') {
    return typeof id === 'string' || typeof id === 'number'
      ? { type: 'request', id, method, params }
      : { type: 'notification', method, params };
  }
  const error = record['error'];
  if (record['jsonrpc'] === '2.0' && isFields(error)) return { type: 'error', id: number(id), error: readError(error) };
  if (typeof id === 'number' && 'result' in record) return { type: 'result', id, result: fields(record['result']) };
  const message = isFields(error) ? error['message'] : error;
  return { type: 'unknown', name: string(record['type']), error: typeof message === 'string' ? message : null };
}

function readError(error: Fields): RpcError {
  const data = error['data'];
  const details = isFields(data) ? string(data['details']) || string(data['message']) : string(data);
  const message = string(error['message']);
  return {
    code: number(error['code']),
    // The message is often no more than "Internal error".
    message: [message, details].filter((part) => part !== '').join(': '),
    whole: `${message} ${typeof data === 'string' ? data : (JSON.stringify(data) ?? '')}`,
  };
}
