import type { Member } from '../../../machines/protocol.ts';
import type { SignalResult } from '../signal.ts';

export type ContainerKind = 'cgroup' | 'pidns';

/** Who is inside. `unseen`: we cannot tell, and why; `passing`: likely because somebody is just ending, so asking again helps. */
export type Inside =
  { type: 'empty' } | { type: 'occupied'; members: Member[] } | { type: 'unseen'; reason: string; passing?: boolean };

/**
 * Something a process cannot leave by detaching itself: what is started in it stays in it. One for each attempt.
 */
export interface Container {
  readonly kind: ContainerKind;
  /** The control group's folder; null for a namespace. Goes on record, so that a later process can look again. */
  readonly path: string | null;
  /**
   * A process inside that sets out to leave, with the rights it has, can: it may write to control groups around this one.
   * Then "empty" says that nobody is inside, and a search is made as well.
   */
  readonly leavable: boolean;
  /**
   * The command that enters and then becomes (`cgroup`) or starts (`pidns`) the program. Once inside it writes `in` to
   * descriptor 3, waits there for a line, and closes it: the program has not begun before that, and never sees that descriptor.
   * The arguments are passed on as they are: no shell reads them.
   */
  enter(argv: readonly string[], env: Readonly<Record<string, string>>): string[];
  /** Told once, when the process is inside and the program has not begun. */
  entered(pid: number): void;
  /** Blocks for one file read when nobody is inside. */
  look(): Inside;
  /** SIGKILL to everybody inside at once, forks under way included. */
  kill(): SignalResult;
  /** Takes it down. False: somebody is still inside, or it could not be removed; asking again is allowed. */
  remove(): boolean;
}
