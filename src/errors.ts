/** What can go wrong before a run exists, or when something is asked of one. Stable. */
export type ErrorCode =
  | 'plan-invalid'
  | 'config-invalid'
  | 'root-refused'
  | 'run-exists'
  | 'bad-id'
  | 'nest-refused'
  | 'record-failed'
  | 'runner-start'
  | 'run-missing'
  | 'run-ambiguous';

/**
 * An expected failure of the library, with a `code` for programs and a `message` for people: what happened, where,
 * and what to do. Anything else that is thrown is a bug.
 */
export class CoxswainError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CoxswainError';
    this.code = code;
  }
}

/** Works across copies of the package, where `instanceof` does not. */
export function isCoxswainError(error: unknown): error is CoxswainError {
  return error instanceof Error && error.name === 'CoxswainError' && 'code' in error;
}
