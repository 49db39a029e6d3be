import type { Status } from '../../machines/protocol.ts';
import { type Journal, type StatusFile, type Written, createStatusSchedule } from '../record/index.ts';

export interface Projector {
  /** The status as it is now. */
  current(): Status;
  /** Something changed; `urgent` does not wait for the quiet time. */
  touch(urgent?: boolean): void;
  /** Writes now, and settles when it is in the file. */
  writeNow(): Promise<Written>;
  /**
   * Until `release`, the status stays as it is now, but for what is not in the journal: what that gets from here on is not
   * to be seen yet.
   */
  hold(): void;
  release(): void;
  /** No more writes by itself; the file stays open for another projector. Settles when none is under way. */
  pause(): Promise<Written>;
  /** The last write, then no more. */
  close(): Promise<Written>;
}

/** Writes the status file from the machine snapshots, whenever something changed and not too often. */
export function createProjector(options: {
  journal: Journal;
  file: StatusFile;
  project: (seq: number) => Status;
  onWrite?: (status: Status) => void;
}): Projector {
  const { journal, file, project, onWrite } = options;
  /** The last status that everybody may see, while a record is being made durable. */
  let held: Status | null = null;
  const current = (): Status => (held === null ? project(journal.seq) : { ...held, ...freshOf(project(held.seq)) });
  const write = (): void => {
    const status = current();
    file.write(status);
    onWrite?.(status);
  };
  const schedule = createStatusSchedule({ write });
  return {
    current,
    touch: (urgent = false) => schedule.changed({ urgent }),
    writeNow() {
      schedule.flush();
      write();
      return file.flush();
    },
    hold: () => {
      held ??= stillOf(project(journal.seq));
    },
    release: () => {
      held = null;
    },
    pause() {
      schedule.close();
      return file.flush();
    },
    close() {
      schedule.close();
      return file.close();
    },
  };
}

/** Without what says how fresh it is, or how its record does. */
function stillOf({ persistence: _persistence, ...still }: Status): Status {
  return still;
}

const freshOf = ({ updatedAt, persistence }: Status): Partial<Status> =>
  persistence === undefined ? { updatedAt } : { updatedAt, persistence };
