import type { AgentSession, LaunchRequest } from './adapter.ts';
import type { ChildExit } from './exit.ts';
import type { Fields } from './json.ts';
import { Outbox } from './outbox.ts';
import { stdoutOfRecords } from './stdout.ts';
import { type UnendedChild, type Verdict, verdictOfExit } from './verdict.ts';

/** What one client's records mean. Everything it tells goes into the outbox it is made with. */
export interface Reader {
  record(record: Fields): void;
  /** The child is gone: the verdict of its records, or what is known of it without one. */
  ended(exit: ChildExit): Verdict | Omit<UnendedChild, 'silent'>;
  /** The end has been told. */
  readonly told: boolean;
}

/**
 * A client that gets its task on stdin, prints records, and exits by itself. While it works nothing can be said to it:
 * a message is refused at once.
 */
export function createOneWaySession(request: LaunchRequest, makeReader: (out: Outbox) => Reader): AgentSession {
  const out = new Outbox(request.task);
  const reader = makeReader(out);
  const stdout = stdoutOfRecords(out, (record) => reader.record(record));

  function judge(exit: ChildExit): void {
    if (reader.told) {
      out.noteExitAfterEnd(exit);
      return;
    }
    const ended = reader.ended(exit);
    out.put('t' in ended ? ended : verdictOfExit(exit, { ...ended, silent: stdout.silent }, request.task));
  }

  return {
    start() {
      if (request.resume !== null) out.put({ t: 'session', session: request.resume.session });
      return out.take();
    },
    push: (chunk) => stdout.push(chunk),
    finish: () => out.take(),
    abort: () => ({ ...out.take(), supported: false }),
    wrapUp: () => ({ ...out.take(), supported: false }),
    steer: () => ({ ...out.take(), verdict: stdout.over || reader.told ? 'too-late' : 'unsupported' }),
    exited: (exit) => stdout.exited(() => judge(exit)),
  };
}
