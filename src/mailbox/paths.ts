import { join } from 'node:path';
import { type Written, makeDir, troubleOf } from '../record/index.ts';

/** The folders through which one child is spoken to. They belong to one attempt. */
export interface MailboxPaths {
  /** Steering requests for the child, and its acknowledgements. */
  readonly steer: string;
  /** The child's questions, and the answers. */
  readonly ask: string;
}

const STEER_ENV = 'COXSWAIN_STEER_DIR';
const ASK_ENV = 'COXSWAIN_ASK_DIR';

/** Where the mailbox of the attempt in that folder lies. Nothing is looked at or made. */
export function mailboxPaths(attemptDir: string): MailboxPaths {
  return { steer: join(attemptDir, 'steer'), ask: join(attemptDir, 'ask') };
}

/** Everything below the two folders, by who writes there. */
export interface MailboxFolders {
  /** Ours: `<id>.json`. */
  readonly requests: string;
  /** The child's. */
  readonly acks: string;
  readonly capability: string;
  /** The child's: `<id>.json`. */
  readonly asks: string;
  /** Ours. */
  readonly answers: string;
  /** The child's. */
  readonly review: string;
}

export function foldersOf({ steer, ask }: MailboxPaths): MailboxFolders {
  return {
    requests: join(steer, 'requests'),
    acks: join(steer, 'acks'),
    capability: join(steer, 'capability.json'),
    asks: join(ask, 'requests'),
    answers: join(ask, 'answers'),
    review: join(ask, 'review.json'),
  };
}

/**
 * Makes the folders (0700), before the child is started. Most programs never look at theirs, and each folder costs as
 * much as a file: so for those that only may listen, the inner ones are made when there is something to put in.
 */
export function createMailbox(paths: MailboxPaths, listens: 'expected' | 'declared' = 'expected'): Written {
  const { requests, acks, asks, answers } = foldersOf(paths);
  try {
    const folders = listens === 'expected' ? [requests, acks, asks, answers] : [paths.steer, paths.ask];
    for (const folder of folders) makeDir(folder);
    return { type: 'ok' };
  } catch (error) {
    return troubleOf(error);
  }
}

/**
 * The environment of a child with these folders. One it has none of is taken away: the runner may be the child of
 * another one, and its mailbox is not its children's.
 */
export function mailboxEnvironment(
  env: Readonly<Record<string, string>>,
  { steer, ask }: Partial<MailboxPaths>,
): Record<string, string> {
  const { [STEER_ENV]: _steer, [ASK_ENV]: _ask, ...rest } = env;
  return {
    ...rest,
    ...(steer === undefined ? {} : { [STEER_ENV]: steer }),
    ...(ask === undefined ? {} : { [ASK_ENV]: ask }),
  };
}
