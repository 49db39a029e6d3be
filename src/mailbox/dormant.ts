import { readdirSync } from 'node:fs';
import type { MailboxPaths } from './paths.ts';
import type { Mailbox, MailboxOptions } from './types.ts';

/** Until the first message: between two looks whether the child has written anything. */
const LOOK_MS = 250;

/**
 * A mailbox that most children never use: it watches nothing and holds nothing until there is something in its folders,
 * which it looks for four times a second, or somebody has a message for the child. `wake` makes the real one.
 */
export function dormant(paths: MailboxPaths, wake: () => Mailbox, { pollMs = LOOK_MS }: MailboxOptions): Mailbox {
  let awake: Mailbox | null = null;
  let closed = false;
  const used = (): boolean => [paths.ask, paths.steer].some(holdsSomething);
  const rise = (): Mailbox => {
    clearTimeout(timer);
    awake ??= wake();
    return awake;
  };
  const look = (): NodeJS.Timeout =>
    setTimeout(() => {
      if (used()) rise();
      else timer = look();
    }, pollMs).unref();
  let timer = look();

  return {
    steer: (message) => (closed ? 'failed' : rise().steer(message)),
    look() {
      if (!closed && (awake !== null || used())) rise().look();
    },
    answer: (ask, answer) => (closed ? 'gone' : (awake?.answer(ask, answer) ?? 'gone')),
    close() {
      if (closed) return;
      closed = true;
      clearTimeout(timer);
      if (awake !== null || used()) rise().close();
    },
  };
}

/** One that is gone, or is no folder any more, is for the real one to judge, once it is there. */
function holdsSomething(path: string): boolean {
  try {
    return readdirSync(path).length > 0;
  } catch {
    return false;
  }
}
