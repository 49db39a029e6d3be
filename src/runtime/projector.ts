import type { Status } from '../../machines/protocol.ts';
import { type Journal, type StatusFile, type Written, createStatusSchedule } from '../record/index.ts';

export interface Projector {
  /** The status as it is now. */
  current(): Status;
  /** Something changed; `urgent` does not wait for the quiet time. */
  touch(urgent?: boolean): void;
  /** Writes now, and settles when it is in the file. */
  writeNow(): Promise<Written>;
  /** Until `release`, what the journal gets is not reflected: it is not durable yet, and nobody may see it. */
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
  /** The last event reflected while a record is being made durable. */
  let held: number | null = null;
  const current = (): Status => project(held ?? journal.seq);
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
      held = journal.seq;
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
