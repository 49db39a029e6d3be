/** The inbox: files become commands, and every command gets a receipt. */
export * from './light.ts';
export { answerLeftovers, openInbox, type Closed, type Inbox, type InboxOptions } from './inbox.ts';
export type { StartWatch, Watch } from './watch.ts';
export type { InboxWarning } from './watching.ts';
