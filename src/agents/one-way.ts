import type { AgentSession, LaunchRequest, Reply } from './adapter.ts';
import { type ChildExit, exitName } from './exit.ts';
import type { Fields } from './json.ts';
import { type Outbox, readRecords } from './outbox.ts';
import { type UnendedChild, type Verdict, verdictOfExit } from './verdict.ts';
import { goOnWith } from './words.ts';

/** What one client's records mean. Everything it tells goes into the outbox it was made with. */
export interface Reader {
  record(record: Fields): void;
  /** The child is gone: the verdict of its records, or what is known of it without one. */
  ended(exit: ChildExit): Verdict | Omit<UnendedChild, 'silent'>;
  /** The end has been told. */
  readonly told: boolean;
}

/**
 * A client that gets its task on stdin, prints records, and exits by itself. While it works nothing can be said to it:
 * a message waits for the end, and then goes on in its session.
 */
export function createOneWaySession(request: LaunchRequest, out: Outbox, reader: Reader): AgentSession {
  const records = readRecords(out, (record) => reader.record(record));
  let silent = true;
  let over = false;

  function end(exit: ChildExit): Verdict | null {
    records.end();
    if (!reader.told) {
      const ended = reader.ended(exit);
      return 't' in ended ? ended : verdictOfExit(exit, { ...ended, silent }, request.task);
    }
    if (exit.signal !== null || exit.code !== 0) out.note('text', `${exitName(exit)} after the end of the work`);
    return null;
  }

  return {
    start() {
      if (request.resume !== null) out.put({ t: 'session', session: request.resume.session });
      return out.take();
    },
    push(chunk) {
      if (over || chunk.length === 0) return out.take();
      silent = false;
      records.push(chunk);
      return out.takeActive();
    },
    finish: () => out.take(),
    abort: () => ({ ...out.take(), supported: false }),
    wrapUp: () => ({ ...out.take(), supported: false }),
    steer: () => ({ ...out.take(), verdict: over || reader.told ? 'too-late' : 'unsupported' }),
    exited(exit): Reply {
      if (over) return out.take();
      const verdict = end(exit);
      over = true;
      if (verdict !== null) out.put(verdict);
      return out.take();
    },
  };
}

/** What stdin brings to such a client. */
export function wholeTask({ task, resume }: LaunchRequest): string {
  return resume === null ? (task ?? '') : goOnWith(task ?? '');
}
