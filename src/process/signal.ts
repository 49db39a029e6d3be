/** `targets`: groups or processes that got the signal. `error`: why one that is there did not, a code. */
export interface SignalResult {
  targets: number;
  error?: string;
}

/** Sends to a process or (negative) a group, without any check; a target that has gone is no error. */
export function send(pid: number, signal: NodeJS.Signals | 0): SignalResult {
  try {
    process.kill(pid, signal);
    return { targets: 1 };
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    return code === 'ESRCH' ? { targets: 0 } : { targets: 0, error: code };
  }
}
