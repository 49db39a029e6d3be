import { type Context, Script, createContext } from 'node:vm';

const CALL = new Script('work()');
let room: Context | null = null;

export type Bounded<T> = { type: 'done'; result: T } | { type: 'too-long' };

/**
 * Does something that waits for nothing, and breaks it off when it takes longer, in the middle of a loop or of a regular
 * expression. Meanwhile this thread does nothing else.
 */
export function within<T>(limitMs: number, work: () => T): Bounded<T> {
  room ??= createContext({});
  room['work'] = work;
  try {
    return { type: 'done', result: CALL.runInContext(room, { timeout: limitMs }) as T };
  } catch (error) {
    // It is of that room, and no `Error` of ours.
    if ((error as { code?: unknown } | null)?.code === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return { type: 'too-long' };
    throw error;
  } finally {
    room['work'] = null;
  }
}
