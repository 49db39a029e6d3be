/** The documented inbox of one child (docs/mailbox.md): steering requests in, acknowledgements and asks out. */
export type { Answer } from './asks.ts';
export { openMailbox } from './mailbox.ts';
export { type MailboxPaths, createMailbox, mailboxEnvironment, mailboxPaths } from './paths.ts';
export type { MailboxProblem } from './problem.ts';
export { type Ack, type Capability, mailboxJsonSchemas } from './schemas.ts';
export type { Mailbox, MailboxOptions, SteerResult } from './types.ts';
