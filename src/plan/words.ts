/** What is wrong, for programs. Stable; the message beside it is for people. */
export type PlanErrorCode =
  | 'file-missing'
  | 'file-unreadable'
  | 'file-too-large'
  | 'not-utf8'
  | 'syntax'
  | 'duplicate-key'
  | 'empty-plan'
  | 'too-many-steps'
  | 'missing-field'
  | 'wrong-type'
  | 'bad-value'
  | 'unknown-field'
  | 'unsupported-field'
  | 'bad-id'
  | 'duplicate-id'
  | 'unknown-agent'
  | 'unknown-adapter'
  | 'broken-agent'
  | 'not-honoured'
  | 'unknown-step'
  | 'self-need'
  | 'cycle'
  | 'not-an-ancestor'
  | 'bad-template'
  | 'shell-template'
  | 'task-and-run'
  | 'no-task'
  | 'cwd-missing'
  | 'cwd-not-a-directory';

/** Keys and indexes from the top of the plan to a value. */
export type Path = readonly (string | number)[];
