/** A write that did not work. `code` is the system's (`ENOSPC`, `EACCES`, ...) or one of ours. */
export interface Trouble {
  type: 'trouble';
  code: string;
  message: string;
}

export type Written = { type: 'ok' } | Trouble;

export const written: Written = { type: 'ok' };

export function troubleOf(error: unknown): Trouble {
  return { type: 'trouble', code: codeOf(error), message: error instanceof Error ? error.message : String(error) };
}

/** The system's error code, or `unknown`. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error ? (error as NodeJS.ErrnoException).code : undefined;
  return typeof code === 'string' ? code : 'unknown';
}
