/** The inbox: files become commands, and every command gets a receipt. */
export * from './light.ts';
export {
  openInbox,
  type Closed,
  type Inbox,
  type InboxOptions,
  type InboxWarning,
  type Origin,
  type ResolvedSteps,
} from './inbox.ts';
export type { StartWatch, Watch } from './watch.ts';
